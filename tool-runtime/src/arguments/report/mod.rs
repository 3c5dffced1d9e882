//! Issues of a coercion, with their paths. A message is formatted only if its issue is kept.

pub(super) mod path;
pub(super) mod schema_hint;
pub(super) mod expected;
pub(super) mod messages;
pub(super) mod advice;

use std::collections::HashSet;
use std::ops::AddAssign;

use self::path::Path;
use crate::wire::issue::{Code, Issue};

/// Findings of a walk; a trial only counts them.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) issues: Vec<Issue>,
    pub(crate) counts: IssueCounts,
    /// Whether findings are only counted.
    pub(crate) is_trial: bool,
    pub(crate) coerced_keys: CoercedKeys,
    allowance: Allowance,
}

/// Original map keys, by the path of the coerced key.
#[derive(Debug, Default)]
pub(crate) struct CoercedKeys(Vec<(String, Box<str>)>);

impl CoercedKeys {
    /// Returns the original form of the key at the end of a path; `None` if it was not coerced.
    pub(crate) fn sent(&self, path: &str) -> Option<&str> {
        let mut coerced = self.0.iter().rev();
        coerced.find(|(known, _)| known == path).map(|(_, sent)| &**sent)
    }
}

/// Number of bytes of findings that can still be kept, for each severity.
///
/// A path contains all its keys, and there may be as many paths as values: without a limit, the findings of a text of
/// 100 kB could take a gigabyte.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    errors: usize,
    warnings: usize,
}

/// Maximum size of all issues; hosts and models read far less.
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

/// State of a report, for rolling back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    kept: usize,
    pub(crate) counts: IssueCounts,
    allowance: Allowance,
}

/// Number of findings, by kind; the smaller, the better the match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IssueCounts {
    pub(crate) errors: usize,
    /// Warnings that are errors under `Lossless`. Without them, a value is read in the same way under both policies.
    pub(crate) losses: usize,
    pub(crate) warnings: usize,
    /// Warnings about unknown keys.
    pub(crate) unknown_keys: usize,
    /// Number of unknown keys, by their depth.
    pub(crate) unknown_keys_by_depth: CountsByDepth,
    /// Warnings about duplicate keys.
    pub(crate) repeated: usize,
    /// Unknown keys that are reported and kept.
    pub(crate) left: usize,
    /// Errors about numbers beyond a limit of the schema.
    pub(crate) limits: usize,
}

impl IssueCounts {
    pub(crate) const ONE_ERROR: Self = Self {
        errors: 1,
        losses: 0,
        warnings: 0,
        unknown_keys: 0,
        unknown_keys_by_depth: CountsByDepth::NONE,
        repeated: 0,
        left: 0,
        limits: 0,
    };

    /// Returns whether there are no findings.
    pub(crate) fn has_no_findings(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether nothing was rejected or changed, except for unknown and duplicate keys.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.errors == 0 && self.warnings == self.unknown_keys + self.repeated
    }
}

impl AddAssign for IssueCounts {
    fn add_assign(&mut self, more: Self) {
        self.errors += more.errors;
        self.losses += more.losses;
        self.warnings += more.warnings;
        self.unknown_keys += more.unknown_keys;
        self.unknown_keys_by_depth += more.unknown_keys_by_depth;
        self.repeated += more.repeated;
        self.left += more.left;
        self.limits += more.limits;
    }
}

/// Number of keys by the depth of their object; a comparison is decided by the first difference. Losing an object
/// with all its contents is worse than losing some of the contents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountsByDepth([u16; DEPTHS]);

/// Number of distinguished depths; deeper keys are counted with the deepest.
const DEPTHS: usize = 16;

impl CountsByDepth {
    const NONE: Self = Self([0; DEPTHS]);

    /// Counts the key at the end of a path.
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
    /// Creates the report of a trial, which only counts findings.
    pub(crate) fn for_trial() -> Self {
        Self {
            is_trial: true,
            ..Self::default()
        }
    }

    /// Returns the current state, for rolling back.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            kept: self.issues.len(),
            counts: self.counts,
            allowance: self.allowance,
        }
    }

    /// Removes the findings since `mark`.
    pub(crate) fn roll_back(&mut self, mark: Mark) {
        self.issues.truncate(mark.kept);
        self.counts = mark.counts;
        self.allowance = mark.allowance;
    }

    /// Removes the warnings since `mark`.
    pub(crate) fn remove_warnings(&mut self, mark: Mark) {
        self.retain(mark, Issue::is_error);
        self.allowance.warnings = mark.allowance.warnings;
        self.counts = IssueCounts {
            errors: self.counts.errors,
            limits: self.counts.limits,
            ..mark.counts
        };
    }

    /// Removes the warnings about unknown keys since `mark`.
    pub(crate) fn remove_unknown_keys(&mut self, mark: Mark) {
        self.retain(mark, |issue| issue.is_error() || !is_of_unknown_key(issue));
        let unknown_keys = self.counts.unknown_keys - mark.counts.unknown_keys;
        self.counts = IssueCounts {
            warnings: self.counts.warnings - unknown_keys,
            unknown_keys: mark.counts.unknown_keys,
            unknown_keys_by_depth: mark.counts.unknown_keys_by_depth,
            left: mark.counts.left,
            ..self.counts
        };
    }

    /// Removes all findings since `mark` except the warnings about unknown keys.
    pub(crate) fn keep_only_unknown_keys(&mut self, mark: Mark) {
        self.retain(mark, |issue| !issue.is_error() && is_of_unknown_key(issue));
        let unknown_keys = self.counts.unknown_keys - mark.counts.unknown_keys;
        self.counts = IssueCounts {
            warnings: mark.counts.warnings + unknown_keys,
            unknown_keys: self.counts.unknown_keys,
            unknown_keys_by_depth: self.counts.unknown_keys_by_depth,
            left: self.counts.left,
            ..mark.counts
        };
    }

    /// Returns the findings since `mark`.
    pub(crate) fn since(&mut self, mark: Mark) -> &mut [Issue] {
        self.issues.get_mut(mark.kept..).unwrap_or_default()
    }

    /// Keeps only some of the findings since `mark`. Earlier findings may be many and are not visited.
    pub(crate) fn retain(&mut self, mark: Mark, keeps: impl FnMut(&Issue) -> bool) {
        if mark.kept < self.issues.len() {
            let mut found = self.issues.split_off(mark.kept);
            found.retain(keeps);
            self.issues.append(&mut found);
        }
    }

    /// Removes duplicate issues of the parts of a conjunction since `mark`, and warnings about values that also have
    /// errors.
    pub(crate) fn add_once(&mut self, mark: Mark) {
        let mut refused = HashSet::new();
        for issue in self.since(mark).iter().filter(|issue| issue.is_error()) {
            refused.insert((issue.path.clone(), issue.code));
        }
        let mut findings = HashSet::new();
        self.retain(mark, |issue| {
            let finding = (issue.path.clone(), issue.code);
            (issue.is_error() || !refused.contains(&finding)) && findings.insert(finding)
        });
    }

    /// Adds a warning; `make` is called only if the warning is kept.
    #[inline(never)] // formatting a message must not enlarge the stack of the walk
    pub(crate) fn warn(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        self.counts.warnings += 1;
        if !self.is_trial && self.allowance.warnings > 0 {
            let size = self.keep(at, make);
            self.allowance.warnings = self.allowance.warnings.saturating_sub(size);
        }
    }

    /// Adds a warning about a map key that was read as the key at the end of the path.
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

    /// Counts the next error as a violated limit of a number.
    pub(crate) fn limit(&mut self) {
        self.counts.limits += 1;
    }

    /// Adds a warning about an unknown key.
    #[inline(never)]
    pub(crate) fn warn_unknown(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        self.counts.unknown_keys += 1;
        self.counts.unknown_keys_by_depth.add(at);
        self.warn(at, make);
    }

    /// Counts the key of the last finding as kept.
    pub(crate) fn leave(&mut self) {
        self.counts.left += 1;
    }

    /// Adds a warning about a duplicate key.
    #[inline(never)]
    pub(crate) fn repeat(&mut self, at: &Path<'_>, key: &str) {
        self.counts.repeated += 1;
        self.warn(at, || messages::repeated(key));
    }

    /// Adds an error, which rejects the call.
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
