//! Caches the outcomes of trials, so that no value is read twice for the same alternative.

use std::collections::HashMap;
use std::rc::Rc;

use super::context::Context;
use crate::arguments::report::IssueCounts;
use crate::arguments::tree::node::Node;
use crate::arguments::tree::parse::Read;
use crate::schema::compiled::SchemaId;
use crate::schema::types::Types;

/// One of the things a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::arguments) enum Trial {
    Schema(SchemaId),
    /// One type of a schema that allows several.
    Type(SchemaId, Types),
}

/// What is chosen from.
#[derive(Debug, Clone, Copy)]
pub(in crate::arguments) struct Among<'t> {
    /// The schema whose alternatives they are.
    pub(in crate::arguments) owner: SchemaId,
    pub(in crate::arguments) trials: &'t [Trial],
    /// `oneOf`: only one may fit.
    pub(in crate::arguments) exclusive: bool,
}

/// What a trial made of a value.
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

/// What a text holds, and of how many levels it is. Whether that is too deep depends on where it stands.
pub(in crate::arguments) type Decoded<'a> = (usize, Rc<Read<'a>>);

/// What is known about the nodes of one tree. The keys are addresses, so the tree must outlive it; the trees that it
/// decoded it owns.
#[derive(Debug, Default)]
pub(in crate::arguments) struct Cache<'a> {
    pub(in crate::arguments) outcomes: HashMap<(usize, Trial, Context), Outcome<'a>>,
    pub(in crate::arguments) choices: HashMap<(usize, SchemaId, Context), Choice>,
    /// The lists and objects that texts hold, and of how many levels these are; `None` for a text that holds neither, an
    /// error for one of more than so many levels.
    pub(in crate::arguments) decoded: HashMap<usize, Result<Option<Decoded<'a>>, usize>>,
}

impl Cache<'_> {
    /// Forgets what was worked out. What was decoded stays: nodes inside of it are keys, as long as this lives.
    pub(in crate::arguments) fn forget(&mut self) {
        self.outcomes = HashMap::new();
        self.choices = HashMap::new();
    }
}

/// What a node is known by.
pub(in crate::arguments) fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}
