//! The fast path: arguments that are exactly as the schema says go to their types without a tree.
//!
//! They are looked at once, against the [`Shape`], by code that knows no type; then each type reads its own part.
//! Nothing is coerced and nothing is reported: at the first surprise the whole reading is given up, and the tree tells
//! what is the matter. So a yes of these files must be one that the tree would give too, with the same value and
//! without an issue (`tests/coercion` holds the two together). A no may be given freely.

mod members;
mod conform;
mod keys;
mod text;
mod walk;
mod value;

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::conformed::Conformed;
use crate::call::{Handed, Input};
use crate::schema::Shape;
pub(super) use members::Members;

/// Looks at the arguments; `None` when somebody has to look closer.
pub(super) fn look<'a>(shape: &Shape, input: &'a mut Handed<'_>, members: &mut Members<'a>) -> Option<()> {
    match input {
        Handed::Lent(Input::Text(text)) => walk::arguments(shape, text, members),
        Handed::Lent(Input::Value(value)) => value::arguments(shape, value.as_object()?.iter(), members),
        Handed::Lent(Input::Bytes(_)) => None,
        Handed::Given(value) => value::arguments(shape, value.as_object_mut()?.iter_mut(), members),
    }
}

/// The arguments as a map, if they conform to the letter.
pub(super) fn map(shape: &Shape, input: &mut Handed<'_>) -> Option<Map<String, Value>> {
    look(shape, input, &mut Members::default())?;
    match input {
        Handed::Lent(Input::Text(text)) => Map::deserialize(&mut Conformed::new(text)).ok(),
        Handed::Lent(Input::Value(value)) => value.as_object().cloned(),
        Handed::Lent(Input::Bytes(_)) => None,
        Handed::Given(value) => value.as_object_mut().map(std::mem::take),
    }
}

#[cfg(test)]
mod tests;
