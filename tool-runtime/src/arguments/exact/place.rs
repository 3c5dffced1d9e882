//! Where in a schema the fast path stands.

use std::cell::Cell;

use serde::de::Error;

use super::conform;
use crate::schema::shape::{Form, FormId, List, Shape};
use crate::schema::types::Types;

/// Where in the schema a value stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'s> {
    shape: &'s Shape,
    pub(super) form: &'s Form,
    /// The arguments as a whole: there, a key that is not declared is always worth a word.
    pub(super) is_root: bool,
    /// Whether a float came, anywhere.
    floats: &'s Cell<bool>,
}

impl<'s> Place<'s> {
    /// The arguments as a whole.
    pub(super) fn root(shape: &'s Shape, floats: &'s Cell<bool>) -> Self {
        Self {
            shape,
            form: shape.form(FormId::ROOT),
            is_root: true,
            floats,
        }
    }

    /// A value in this one, with its form.
    pub(super) fn at(self, form: FormId) -> Self {
        Self {
            form: self.shape.form(form),
            is_root: false,
            ..self
        }
    }

    /// A value in this one that nothing is said about.
    pub(super) fn anything(self) -> Self {
        Self {
            form: &Form::ANY,
            is_root: false,
            ..self
        }
    }

    /// Notes that a float came.
    pub(super) fn note_float(self) {
        self.floats.set(true);
    }

    /// The limits for arrays; `None` when telling takes more than a look.
    pub(super) fn list(self) -> Option<&'s List> {
        let plain = conform::plain(self.form).filter(|_| self.form.types.has(Types::ARRAY))?;
        let list = plain.list.as_ref().unwrap_or(List::unlimited());
        (plain.values.is_none() && !list.unique).then_some(list)
    }
}

/// Gives up; the reason is found again by the tree.
pub(super) fn inexact<E: Error>() -> E {
    E::custom("not exactly as the schema says")
}
