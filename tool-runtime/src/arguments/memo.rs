//! What trials of alternatives found, so that none is made twice.

use std::collections::HashMap;

use super::around::Around;
use super::report::Tally;
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
    /// Whether only one may fit.
    pub(super) exclusive: bool,
}

/// What trials found. Keys are the addresses of nodes, so it is only for trees that outlive it.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    pub(super) tallies: HashMap<(usize, Trial, Around), Tally>,
    pub(super) choices: HashMap<(usize, FormId, Around), Choice>,
    /// How many choices are being made.
    pub(super) depth: usize,
    /// How many trials were made.
    pub(super) work: usize,
}

impl Memo {
    /// Takes over what counts for the whole call.
    pub(super) fn inherit(&mut self, outer: &Self) {
        self.depth = outer.depth;
        self.work = outer.work;
    }

    /// Takes back what counts for the whole call.
    pub(super) fn resume(&mut self, inner: &Self) {
        self.work = inner.work;
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    Fits(Trial),
    Several,
    /// None does; this one comes closest.
    None(Trial),
}
