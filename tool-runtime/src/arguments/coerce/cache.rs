//! Caches the outcomes of trials, so that no value is read twice for the same alternative.

use std::collections::HashMap;
use std::ops::{Add, Sub};
use std::rc::Rc;

use super::context::CoercionContext;
use super::{Budget, MAX_COMPOSITES};
use crate::arguments::input::tree::node::Node;
use crate::arguments::input::tree::parse::Read;
use crate::arguments::report::IssueCounts;
use crate::arguments::report::path::Path;
use crate::arguments::validate::evaluate::Verdicts;
use crate::schema::compiled::SchemaId;
use crate::schema::compiled::types::Types;
use crate::wire::depth;

/// A possible schema of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::arguments) enum Trial {
    Schema(SchemaId),
    /// A single type of a schema with several.
    Type(SchemaId, Types),
}

/// The alternatives of a choice.
#[derive(Debug, Clone, Copy)]
pub(in crate::arguments) struct Among<'t> {
    /// Schema of these alternatives.
    pub(in crate::arguments) owner: SchemaId,
    pub(in crate::arguments) trials: &'t [Trial],
    /// `oneOf`: at most one may match.
    pub(in crate::arguments) exclusive: bool,
}

/// Outcome of a trial.
#[derive(Debug, Clone)]
pub(in crate::arguments) struct Outcome<'a> {
    pub(in crate::arguments) counts: IssueCounts,
    /// `None` if the value is unchanged.
    pub(in crate::arguments) value: Option<Node<'a>>,
}

/// Chosen alternative of a value.
#[derive(Debug, Clone, Copy)]
pub(in crate::arguments) enum Choice {
    Match(Trial),
    Several,
    /// No alternative matches; this one is the closest.
    None(Trial),
}

/// A result that may be a failure. A failure at some depth is also a failure at greater depths, where fewer
/// alternatives match.
pub(in crate::arguments) trait MayFail: Clone {
    fn fails(&self) -> bool;
}

impl MayFail for Outcome<'_> {
    fn fails(&self) -> bool {
        self.counts.errors > 0
    }
}

impl MayFail for Choice {
    fn fails(&self) -> bool {
        matches!(self, Self::None(_))
    }
}

/// Results of a trial. A value may be read at several depths: directly, and in lists that wrap the value.
#[derive(Debug)]
pub(in crate::arguments) struct Cached<T> {
    /// The result below the depth limit, and the depth that it needs below its own.
    unlimited: Option<(Depth, T)>,
    /// Results at the depth limit, by depth. A smaller depth allows more matches than a greater depth, so a failure
    /// holds at all greater depths.
    limited: Vec<(Depth, T)>,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self {
            unlimited: None,
            limited: Vec::new(),
        }
    }
}

impl<T: MayFail> Cached<T> {
    /// Returns the result at a path, if it is known.
    pub(in crate::arguments) fn get(&self, at: &Path<'_>, budget: &mut Budget) -> Option<T> {
        let here = Depth::new(at, budget);
        if let Some((below, result)) = &self.unlimited
            && (here + *below).is_allowed()
        {
            budget.reached = budget.reached.max(here + *below);
            return Some(result.clone());
        }
        let mut known = self.limited.iter();
        let failed = self.unlimited.as_ref().filter(|(_, result)| result.fails());
        let (_, result) = failed.or_else(|| {
            known.find(|(depth, result)| *depth == here || (result.fails() && depth.is_at_most(here)))
        })?;
        budget.reached = Depth::TOO_DEEP;
        Some(result.clone())
    }

    /// Adds the result of the trial that ends at a path. `outer` is the depth that the enclosing trial had reached.
    pub(in crate::arguments) fn add(&mut self, result: T, at: &Path<'_>, outer: Depth, budget: &mut Budget) {
        let here = Depth::new(at, budget);
        if budget.reached.is_allowed() {
            self.unlimited = Some((budget.reached - here, result));
        } else {
            self.limited.push((here, result));
        }
        budget.reached = budget.reached.max(outer);
    }
}

/// Number of lists and objects around a value, and of unions and conjunctions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::arguments) struct Depth {
    pub(in crate::arguments) levels: usize,
    pub(in crate::arguments) composites: usize,
}

impl Depth {
    pub(in crate::arguments) const TOO_DEEP: Self = Self {
        levels: depth::MAX_DEPTH + 1,
        composites: MAX_COMPOSITES + 1,
    };

    fn new(at: &Path<'_>, budget: &Budget) -> Self {
        Self {
            levels: at.depth(),
            composites: budget.composites,
        }
    }

    fn is_allowed(self) -> bool {
        self.levels <= depth::MAX_DEPTH && self.composites <= MAX_COMPOSITES
    }

    fn is_at_most(self, other: Self) -> bool {
        self.levels <= other.levels && self.composites <= other.composites
    }

    /// Returns the maximum of both depths, separately.
    pub(in crate::arguments) fn max(self, other: Self) -> Self {
        Self {
            levels: self.levels.max(other.levels),
            composites: self.composites.max(other.composites),
        }
    }
}

impl Add for Depth {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            levels: self.levels + more.levels,
            composites: self.composites + more.composites,
        }
    }
}

impl Sub for Depth {
    type Output = Self;

    /// Returns the additional depth.
    fn sub(self, less: Self) -> Self {
        Self {
            levels: self.levels.saturating_sub(less.levels),
            composites: self.composites.saturating_sub(less.composites),
        }
    }
}

/// The value that a text contains, and its depth. The position of the text decides whether that is too deep.
pub(in crate::arguments) type Decoded<'a> = (usize, Rc<Read<'a>>);

/// Known facts about the nodes of one tree. The keys are addresses, so the tree must outlive the cache; decoded trees
/// are owned by it.
#[derive(Debug, Default)]
pub(in crate::arguments) struct Cache<'a> {
    pub(in crate::arguments) outcomes: HashMap<(usize, Trial, CoercionContext), Cached<Outcome<'a>>>,
    pub(in crate::arguments) choices: HashMap<(usize, SchemaId, CoercionContext), Cached<Choice>>,
    /// Lists and objects in texts, with their depth; `None` for a text without either, an error with the depth limit
    /// that a text exceeded.
    pub(in crate::arguments) decoded: HashMap<usize, Result<Option<Decoded<'a>>, usize>>,
    /// Verdicts on subschemas with keywords that coercion does not enforce.
    pub(in crate::arguments) verdicts: Verdicts,
}

impl Cache<'_> {
    /// Removes all results except decoded values, whose nodes are keys as long as the cache lives.
    pub(in crate::arguments) fn forget(&mut self) {
        self.outcomes = HashMap::new();
        self.choices = HashMap::new();
        self.verdicts = HashMap::new();
    }
}
