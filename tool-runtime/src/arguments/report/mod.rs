//! The issues that coercion collects, with their paths. A message is formatted only when its issue is kept.

pub(super) mod path;
pub(super) mod schema_hint;
pub(super) mod expected;
pub(super) mod messages;
pub(super) mod advice;

use std::collections::HashSet;
use std::ops::AddAssign;

use self::path::Path;
use crate::wire::issue::{Code, Issue};

/// The findings of a walk; of a trial only how many there are.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) issues: Vec<Issue>,
    pub(crate) counts: IssueCounts,
    /// Whether findings are only counted.
    pub(crate) is_trial: bool,
    pub(crate) coerced_keys: CoercedKeys,
    allowance: Allowance,
}

/// The keys of maps that were coerced, as they were sent, by the path of what they became.
#[derive(Debug, Default)]
pub(crate) struct CoercedKeys(Vec<(String, Box<str>)>);

impl CoercedKeys {
    /// Returns the key that was sent for the one that a path ends with; `None` if that was.
    pub(crate) fn sent(&self, path: &str) -> Option<&str> {
        let mut coerced = self.0.iter().rev();
        coerced.find(|(known, _)| known == path).map(|(_, sent)| &**sent)
    }
}

/// Number of bytes of findings that are still kept, of either severity.
///
/// A path has all the keys on its way and may come as often as the text has values: without a limit, a text of
/// 100 kB has findings of a gigabyte.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    errors: usize,
    warnings: usize,
}

/// Maximum size of issues; a host and a model read less.
const MAX_BYTES: usize = 16 << 20;

impl Default for Report {
    fn default() -> Self {
        Self {
            issues: Vec::new(),
            counts: IssueCounts::default(),
            is_trial: false,
            coerced_keys: CoercedKeys::default(),
            allowance: Allowance {
                errors: MAX_BYTES,
                warnings: MAX_BYTES,
            },
        }
    }
}

/// A moment of a walk, to come back to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    kept: usize,
    pub(crate) counts: IssueCounts,
    allowance: Allowance,
}

/// Number of findings: the fewer, the better something fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IssueCounts {
    pub(crate) errors: usize,
    /// The warnings that are errors under `Lossless`. A value without them is read in the same way under both policies.
    pub(crate) losses: usize,
    pub(crate) warnings: usize,
    /// The warnings about unknown keys.
    pub(crate) overlooked: usize,
    /// Number of unknown keys, by their depth.
    pub(crate) overlooked_at: CountsByDepth,
    /// The warnings about duplicate keys.
    pub(crate) repeated: usize,
    /// Unknown keys that are reported and kept.
    pub(crate) left: usize,
    /// The errors about numbers beyond a limit of the schema.
    pub(crate) limits: usize,
}

impl IssueCounts {
    pub(crate) const ONE_ERROR: Self = Self {
        errors: 1,
        losses: 0,
        warnings: 0,
        overlooked: 0,
        overlooked_at: CountsByDepth::NONE,
        repeated: 0,
        left: 0,
        limits: 0,
    };

    /// Returns whether there is nothing to tell.
    pub(crate) fn is_silent(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether nothing was refused or changed: keys that are not taken are not.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.errors == 0 && self.warnings == self.overlooked + self.repeated
    }
}

impl AddAssign for IssueCounts {
    fn add_assign(&mut self, more: Self) {
        self.errors += more.errors;
        self.losses += more.losses;
        self.warnings += more.warnings;
        self.overlooked += more.overlooked;
        self.overlooked_at += more.overlooked_at;
        self.repeated += more.repeated;
        self.left += more.left;
        self.limits += more.limits;
    }
}

/// Number of keys in no object, in one, in two …: in comparisons, the first difference counts. Who loses an
/// object with all that is in it loses more than who loses some of that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountsByDepth([u16; DEPTHS]);

/// Deeper keys are counted with the deepest.
const DEPTHS: usize = 16;

impl CountsByDepth {
    const NONE: Self = Self([0; DEPTHS]);

    /// Adds the key that a path ends with.
    fn add(&mut self, at: &Path<'_>) {
        let depth = at.keys().saturating_sub(1).min(DEPTHS - 1);
        if let Some(count) = self.0.get_mut(depth) {
            *count = count.saturating_add(1);
        }
    }
}

impl AddAssign for CountsByDepth {
    fn add_assign(&mut self, more: Self) {
        for (count, more) in self.0.iter_mut().zip(more.0) {
            *count = count.saturating_add(more);
        }
    }
}

/// Returns whether an issue is about an unknown key.
fn is_of_unknown_key(issue: &Issue) -> bool {
    matches!(issue.code, Code::UnknownParameter | Code::UnknownProperty)
}

impl Report {
    /// Of a trial: findings are only counted.
    pub(crate) fn for_trial() -> Self {
        Self {
            is_trial: true,
            ..Self::default()
        }
    }

    /// Now.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            kept: self.issues.len(),
            counts: self.counts,
            allowance: self.allowance,
        }
    }

    /// Forgets what was found since.
    pub(crate) fn roll_back(&mut self, mark: Mark) {
        self.issues.truncate(mark.kept);
        self.counts = mark.counts;
        self.allowance = mark.allowance;
    }

    /// Forgets the warnings that were found since.
    pub(crate) fn forget_warnings(&mut self, mark: Mark) {
        self.retain(mark, Issue::is_error);
        self.allowance.warnings = mark.allowance.warnings;
        self.counts = IssueCounts {
            errors: self.counts.errors,
            limits: self.counts.limits,
            ..mark.counts
        };
    }

    /// Forgets which keys were found since that are not taken.
    pub(crate) fn forget_overlooked(&mut self, mark: Mark) {
        self.retain(mark, |issue| issue.is_error() || !is_of_unknown_key(issue));
        let overlooked = self.counts.overlooked - mark.counts.overlooked;
        self.counts = IssueCounts {
            warnings: self.counts.warnings - overlooked,
            overlooked: mark.counts.overlooked,
            overlooked_at: mark.counts.overlooked_at,
            left: mark.counts.left,
            ..self.counts
        };
    }

    /// Forgets all that was found since but for keys that are not taken.
    pub(crate) fn keep_overlooked(&mut self, mark: Mark) {
        self.retain(mark, |issue| !issue.is_error() && is_of_unknown_key(issue));
        let overlooked = self.counts.overlooked - mark.counts.overlooked;
        self.counts = IssueCounts {
            warnings: mark.counts.warnings + overlooked,
            overlooked: self.counts.overlooked,
            overlooked_at: self.counts.overlooked_at,
            left: self.counts.left,
            ..mark.counts
        };
    }

    /// Returns the findings since then.
    pub(crate) fn since(&mut self, mark: Mark) -> &mut [Issue] {
        self.issues.get_mut(mark.kept..).unwrap_or_default()
    }

    /// Forgets some of what was found since. Earlier findings are not looked at: they may be many.
    pub(crate) fn retain(&mut self, mark: Mark, keeps: impl FnMut(&Issue) -> bool) {
        if mark.kept < self.issues.len() {
            let mut found = self.issues.split_off(mark.kept);
            found.retain(keeps);
            self.issues.append(&mut found);
        }
    }

    /// Removes the issues since `mark` that two parts of a conjunction have in common, and warnings about what is an error, too.
    pub(crate) fn add_once(&mut self, mark: Mark) {
        let mut refused = HashSet::new();
        for issue in self.since(mark).iter().filter(|issue| issue.is_error()) {
            refused.insert((issue.path.clone(), issue.code));
        }
        let mut said = HashSet::new();
        self.retain(mark, |issue| {
            let finding = (issue.path.clone(), issue.code);
            (issue.is_error() || !refused.contains(&finding)) && said.insert(finding)
        });
    }

    /// Adds a warning; `make` is called only if it is kept.
    #[inline(never)] // formatting a message must not enlarge the stack of the walk
    pub(crate) fn warn(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        self.counts.warnings += 1;
        if !self.is_trial && self.allowance.warnings > 0 {
            let size = self.keep(at, make);
            self.allowance.warnings = self.allowance.warnings.saturating_sub(size);
        }
    }

    /// Adds a warning about a key of a map that was read as the one that the path ends with.
    #[inline(never)]
    pub(crate) fn warn_coerced_key(&mut self, at: &Path<'_>, sent: &str, name: &str) {
        let is_kept = !self.is_trial && self.allowance.warnings > 0;
        self.warn(at, || messages::coerced_key(sent, name));
        if is_kept {
            self.coerced_keys.0.push((at.pointer(), sent.into()));
        }
    }

    /// Counts the next warning as a loss.
    pub(crate) fn lose(&mut self) {
        self.counts.losses += 1;
    }

    /// Counts the next error as one about the limit of a number.
    pub(crate) fn limit(&mut self) {
        self.counts.limits += 1;
    }

    /// Adds a warning about an unknown key.
    #[inline(never)]
    pub(crate) fn warn_unknown(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        self.counts.overlooked += 1;
        self.counts.overlooked_at.add(at);
        self.warn(at, make);
    }

    /// Notes that the key of the last finding is left where it is.
    pub(crate) fn leave(&mut self) {
        self.counts.left += 1;
    }

    /// Adds a warning about a duplicate key.
    #[inline(never)]
    pub(crate) fn repeat(&mut self, at: &Path<'_>, key: &str) {
        self.counts.repeated += 1;
        self.warn(at, || messages::repeated(key));
    }

    /// Adds a finding that stops the call.
    #[inline(never)]
    pub(crate) fn refuse(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        self.counts.errors += 1;
        if !self.is_trial && self.allowance.errors > 0 {
            let size = self.keep(at, make);
            self.allowance.errors = self.allowance.errors.saturating_sub(size);
        }
    }

    fn keep(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) -> usize {
        let issue = at.issue(make());
        let size = issue.path.len() + issue.message.len();
        self.issues.push(issue);
        size
    }
}
