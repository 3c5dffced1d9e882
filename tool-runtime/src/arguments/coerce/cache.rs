//! Caches the outcomes of trials, so that no value is read twice for the same alternative.

use std::collections::HashMap;
use std::ops::{Add, Sub};
use std::rc::Rc;

use super::context::CoercionContext;
use super::{Budget, MOST_COMPOSITES};
use crate::arguments::input::tree::node::Node;
use crate::arguments::input::tree::parse::Read;
use crate::arguments::report::IssueCounts;
use crate::arguments::report::path::Path;
use crate::arguments::validate::evaluate::Verdicts;
use crate::schema::compiled::SchemaId;
use crate::schema::compiled::types::Types;
use crate::wire::depth;

/// One of the things a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::arguments) enum Trial {
    Schema(SchemaId),
    /// One type of a schema that allows several.
    Type(SchemaId, Types),
}

/// The alternatives of a choice.
#[derive(Debug, Clone, Copy)]
pub(in crate::arguments) struct Among<'t> {
    /// The schema whose alternatives they are.
    pub(in crate::arguments) owner: SchemaId,
    pub(in crate::arguments) trials: &'t [Trial],
    /// `oneOf`: only one may fit.
    pub(in crate::arguments) exclusive: bool,
}

/// The result of a trial.
#[derive(Debug, Clone)]
pub(in crate::arguments) struct Outcome<'a> {
    pub(in crate::arguments) counts: IssueCounts,
    /// `None` when it stays as it was sent.
    pub(in crate::arguments) value: Option<Node<'a>>,
}

/// Which alternative a value is read as.
#[derive(Debug, Clone, Copy)]
pub(in crate::arguments) enum Choice {
    Match(Trial),
    Several,
    /// None does; this one comes closest.
    None(Trial),
}

/// A result that may be a failure. A failure at some depth is one at greater depths, too: there, fewer alternatives fit.
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

/// The results of a trial. One value may stand at several depths: by itself, and in lists that are made for it.
#[derive(Debug)]
pub(in crate::arguments) struct Cached<T> {
    /// The result where nothing is too deep, and the depth that it needs below its own.
    unlimited: Option<(Depth, T)>,
    /// The results where something is too deep, for each depth: at a smaller one more fits, at a greater one less. So failures are
    /// those of all greater depths.
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
    /// The result there, if it is known.
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

    /// Adds the result of the trial that ends there. `outer` is the depth that the trial around it had reached.
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

/// In how many lists and objects a value is, and in how many unions and conjunctions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::arguments) struct Depth {
    pub(in crate::arguments) levels: usize,
    pub(in crate::arguments) composites: usize,
}

impl Depth {
    pub(in crate::arguments) const TOO_DEEP: Self = Self {
        levels: depth::MAX_DEPTH + 1,
        composites: MOST_COMPOSITES + 1,
    };

    fn new(at: &Path<'_>, budget: &Budget) -> Self {
        Self {
            levels: at.depth(),
            composites: budget.composites,
        }
    }

    fn is_allowed(self) -> bool {
        self.levels <= depth::MAX_DEPTH && self.composites <= MOST_COMPOSITES
    }

    fn is_at_most(self, other: Self) -> bool {
        self.levels <= other.levels && self.composites <= other.composites
    }

    /// The deeper one in each respect.
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

    /// The additional depth.
    fn sub(self, less: Self) -> Self {
        Self {
            levels: self.levels.saturating_sub(less.levels),
            composites: self.composites.saturating_sub(less.composites),
        }
    }
}

/// The value that a text holds, and its depth. Whether that is too deep depends on where it stands.
pub(in crate::arguments) type Decoded<'a> = (usize, Rc<Read<'a>>);

/// The known facts about the nodes of one tree. The keys are addresses, so the tree must outlive it; the trees that it
/// decoded it owns.
#[derive(Debug, Default)]
pub(in crate::arguments) struct Cache<'a> {
    pub(in crate::arguments) outcomes: HashMap<(usize, Trial, CoercionContext), Cached<Outcome<'a>>>,
    pub(in crate::arguments) choices: HashMap<(usize, SchemaId, CoercionContext), Cached<Choice>>,
    /// The lists and objects that texts hold, and of how many levels these are; `None` for a text that holds neither, an
    /// error for one of more than so many levels.
    pub(in crate::arguments) decoded: HashMap<usize, Result<Option<Decoded<'a>>, usize>>,
    /// Of subschemas with keywords that coercion does not enforce.
    pub(in crate::arguments) verdicts: Verdicts,
}

impl Cache<'_> {
    /// Forgets what was worked out. Decoded values stay: nodes inside of it are keys, as long as this lives.
    pub(in crate::arguments) fn forget(&mut self) {
        self.outcomes = HashMap::new();
        self.choices = HashMap::new();
        self.verdicts = HashMap::new();
    }
}

/// The key of a node.
pub(in crate::arguments) fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}
