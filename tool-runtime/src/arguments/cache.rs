//! What was found out about the values of a union, so that nothing is worked out twice.

use std::collections::HashMap;
use std::rc::Rc;

use super::context::Context;
use super::node::Node;
use super::report::Tally;
use super::syntax::{Read, TooDeep};
use crate::schema::shape::FormId;
use crate::schema::types::Types;

/// One of the things a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Trial {
    Form(FormId),
    /// One type of a form that allows several.
    Type(FormId, Types),
}

/// What is chosen from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Among<'t> {
    /// The form whose alternatives they are.
    pub(super) owner: FormId,
    pub(super) trials: &'t [Trial],
    /// `oneOf`: only one may fit.
    pub(super) exclusive: bool,
}

/// What a trial made of a value.
#[derive(Debug, Clone)]
pub(super) struct Outcome<'a> {
    pub(super) tally: Tally,
    /// `None` when it stays as it was sent.
    pub(super) value: Option<Node<'a>>,
}

/// Which alternative a value is read as.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    Fits(Trial),
    Several,
    /// None does; this one comes closest.
    None(Trial),
}

/// What is known about the nodes of one tree. The keys are addresses, so the tree must outlive it; the trees that it
/// decoded it owns.
#[derive(Debug, Default)]
pub(super) struct Cache<'a> {
    pub(super) outcomes: HashMap<(usize, Trial, Context), Outcome<'a>>,
    pub(super) choices: HashMap<(usize, FormId, Context), Choice>,
    /// The lists and objects that texts hold; `None` for a text that holds neither.
    pub(super) decoded: HashMap<usize, Result<Option<Rc<Read<'a>>>, TooDeep>>,
}

impl Cache<'_> {
    /// Forgets what was worked out. What was decoded stays: nodes inside of it are keys, as long as this lives.
    pub(super) fn forget(&mut self) {
        self.outcomes = HashMap::new();
        self.choices = HashMap::new();
    }
}

/// What a node is known by.
pub(super) fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}
