//! What coercion finds on its way, and where it is: nothing is rendered before there is something to say.

use crate::issue::Issue;
use crate::schema::pointer;

/// A place in the arguments, kept on the stack of the walk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    /// How many steps it has.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Root => 0,
            Self::Key(parent, _) | Self::Index(parent, _) => parent.depth() + 1,
        }
    }

    /// As an RFC 6901 JSON Pointer.
    pub(crate) fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Key(parent, key) => pointer::join(&parent.pointer(), key),
            Self::Index(parent, index) => pointer::join(&parent.pointer(), &index.to_string()),
        }
    }
}

/// The findings of a walk; of a trial only how many there are.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) issues: Vec<Issue>,
    pub(crate) tally: Tally,
    /// Whether this is a trial.
    pub(crate) quiet: bool,
}

/// How many findings there are: the fewer, the better something fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tally {
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    /// Those of the warnings that tell of something not taken.
    pub(crate) overlooked: usize,
}

impl Report {
    /// Adds a finding; `make` is called when somebody will read it.
    pub(crate) fn warn(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        self.tally.warnings += 1;
        self.keep(at, make);
    }

    /// Adds a finding about a key that is not taken.
    pub(crate) fn overlook(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        self.tally.overlooked += 1;
        self.warn(at, make);
    }

    /// Adds a finding that stops the call.
    pub(crate) fn refuse(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        self.tally.errors += 1;
        self.keep(at, make);
    }

    fn keep(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        if !self.quiet {
            let mut issue = make();
            issue.path = at.pointer();
            self.issues.push(issue);
        }
    }
}
