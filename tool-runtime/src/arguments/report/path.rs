//! Path of a value in the arguments.

use std::borrow::Cow;

use crate::schema::compiled::CompiledSchema;
use crate::schema::compiled::spelling;
use crate::schema::keywords::pointer;
use crate::wire::issue::Issue;

/// Position in the arguments, kept on the stack of the walk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    /// Returns the number of steps.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Root => 0,
            Self::Key(parent, _) | Self::Index(parent, _) => parent.depth() + 1,
        }
    }

    /// Returns the number of keys, which a list that wraps a single value does not change.
    pub(crate) fn keys(&self) -> usize {
        match self {
            Self::Root => 0,
            Self::Key(parent, _) => parent.keys() + 1,
            Self::Index(parent, _) => parent.keys(),
        }
    }

    /// Returns the path of the innermost key's value; the path itself if it ends with a key.
    pub(crate) fn entry(&self) -> &Self {
        match self {
            Self::Index(parent, _) => parent.entry(),
            entry => entry,
        }
    }

    /// Returns whether the name or the description of the entry mentions JSON: its strings may have to contain JSON.
    pub(crate) fn mentions_json(&self, compiled: &CompiledSchema) -> bool {
        let entry = self.entry();
        let is_named = matches!(entry, Self::Key(_, name) if spelling::mentions_json(name));
        is_named || {
            let steps = entry.steps();
            compiled.mentions_json_at(steps.iter().map(|step| &**step))
        }
    }

    /// Sets the path of an issue.
    pub(crate) fn issue(&self, mut issue: Issue) -> Issue {
        issue.path = self.pointer();
        issue
    }

    /// Returns the keys and the indices of the path.
    pub(crate) fn steps(&self) -> Vec<Cow<'_, str>> {
        let (mut steps, step) = match self {
            Self::Root => return Vec::new(),
            Self::Key(parent, key) => (parent.steps(), Cow::Borrowed(*key)),
            Self::Index(parent, index) => (parent.steps(), Cow::Owned(index.to_string())),
        };
        steps.push(step);
        steps
    }

    /// Returns the path as an RFC 6901 JSON Pointer.
    pub(crate) fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Key(parent, key) => pointer::join(&parent.pointer(), key),
            Self::Index(parent, index) => pointer::join(&parent.pointer(), &index.to_string()),
        }
    }
}
