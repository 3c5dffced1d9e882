//! The fast path: arguments that are exactly as the schema says go to their types without a tree.
//!
//! They are looked at once, against the [`Shape`], by code that knows no type; then each type reads its own part. Nothing is coerced and nothing is reported: at the first
//! surprise the whole reading is given up, and the tree tells what is the matter. So a yes of these files must be one
//! that the tree would give too, with the same value and without an issue (`tests/coercion` holds the two together).
//! A no may be given freely.

mod conform;
mod keys;
mod text;
mod walk;
mod value;

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::conformed::Conformed;
use super::member::Member;
use crate::call::Input;
use crate::schema::Shape;

/// How arguments that conform to the letter are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conforming {
    /// By their members: what came for each parameter is ready for its type.
    ByMembers,
    /// As a tree, as they are: a part of a value is no value of its own.
    AsTree,
}

/// Looks at the arguments; `None` when somebody has to look closer.
pub(super) fn look<'a>(shape: &Shape, input: Input<'a>, members: &mut Members<'a>) -> Option<Conforming> {
    match input {
        Input::Text(text) => {
            walk::arguments(shape, text, members)?;
            Some(Conforming::ByMembers)
        }
        Input::Value(value) => value::arguments(shape, value, members),
        Input::Bytes(_) => None,
    }
}

/// The arguments as a map, if they conform to the letter.
pub(super) fn map(shape: &Shape, input: Input<'_>) -> Option<Map<String, Value>> {
    look(shape, input, &mut Members::default())?;
    match input {
        Input::Text(text) => Map::deserialize(&mut Conformed::new(text)).ok(),
        Input::Value(value) => value.as_object().cloned(),
        Input::Bytes(_) => None,
    }
}

/// What came for the properties of the arguments as a whole, as far as there are parameters for them.
#[derive(Debug, Default)]
pub(super) struct Members<'a>([Option<Member<'a>>; MOST]);

/// As many parameters as a function can have.
const MOST: usize = 16;

impl<'a> Members<'a> {
    #[inline]
    fn set(&mut self, place: usize, member: Member<'a>) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = Some(member);
        }
    }

    /// What came for the property in that place.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<Member<'a>> {
        *self.0.get(place)?
    }
}
