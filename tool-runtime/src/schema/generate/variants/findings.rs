//! [`Findings`]: results of the traces of a type. All tracers of the type share them.

use std::cell::RefCell;
use std::collections::HashSet;

use super::enums::{Enums, Names, Unreachable};
use super::trace_error::TraceError;
use crate::schema::generate::location::TaggedVariant;

#[derive(Default)]
pub(super) struct Findings {
    pub(super) enums: Enums,
    /// Visited types, so that recursive types terminate.
    visited: HashSet<Visited>,
    /// Number of branches at the end of the last trace.
    branches: usize,
    /// Tagged variant at the end of the last trace.
    pub(super) entered: Option<TaggedVariant>,
}

/// A type with fields, items or variants, at a location of the schema.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Visited {
    /// Type name of its visitor.
    pub(super) visitor: &'static str,
    /// Name of the type or of the variant.
    pub(super) name: String,
    pub(super) names: Names,
    pub(super) pointer: Option<String>,
}

/// Methods of findings that tracers share.
pub(super) trait RecordFindings {
    /// Records the type at the end of a trace and its number of branches. A type that was already visited is not entered
    /// again.
    fn record_end(&self, visited: Visited, branches: usize);
    /// Returns and resets the number of branches.
    fn take_branches(&self) -> usize;
    /// Records a tagged variant whose content is not an object.
    fn record_result(&self, error: Option<TraceError>);
}

impl RecordFindings for RefCell<Findings> {
    fn record_end(&self, visited: Visited, branches: usize) {
        let mut findings = self.borrow_mut();
        if findings.visited.insert(visited) {
            findings.branches = branches;
        }
    }

    fn take_branches(&self) -> usize {
        std::mem::take(&mut self.borrow_mut().branches)
    }

    fn record_result(&self, error: Option<TraceError>) {
        let mut findings = self.borrow_mut();
        if let Some(TaggedVariant { pointer, tag, name }) = findings.entered.take()
            && let Some(expected) = error.and_then(|error| error.instead_of_map)
        {
            findings.enums.unreachable.push(Unreachable {
                pointer,
                tag,
                name,
                expected,
            });
        }
    }
}
