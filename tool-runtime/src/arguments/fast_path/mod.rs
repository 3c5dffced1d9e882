//! The fast path: arguments that are exactly as the schema says go to their types without a tree.
//!
//! They are looked at once, against the [`CompiledSchema`], by code that knows no type; then each type reads its own part.
//! Nothing is coerced and nothing is reported: at the first surprise the whole reading is given up, and the tree tells
//! what is the matter. So a yes of these files must be one that the tree would give too, with the same value and
//! without an issue (`tests/coercion` holds the two together). A no may be given freely.

mod conform;
mod keys;
mod walk_text;
mod walk_value;

use std::borrow::Cow;

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::deserialize::members::Members;
use super::deserialize::text::ConformingText;
use crate::schema::CompiledSchema;
use crate::wire::raw_arguments::RawArguments;

/// Looks at the arguments; `None` when somebody has to look closer.
pub(super) fn look<'a>(
    compiled: &CompiledSchema,
    input: &'a mut RawArguments<'_>,
    members: &mut Members<'a>,
) -> Option<()> {
    match input {
        RawArguments::Text(text) => walk_text::arguments(compiled, text, members),
        RawArguments::Value(Cow::Borrowed(value)) => {
            walk_value::arguments(compiled, value.as_object()?.iter(), members)
        }
        RawArguments::Value(Cow::Owned(value)) => {
            walk_value::arguments(compiled, value.as_object_mut()?.iter_mut(), members)
        }
        RawArguments::Bytes(_) => None,
    }
}

/// The arguments as a map, if they conform to the letter.
pub(super) fn map(compiled: &CompiledSchema, input: &mut RawArguments<'_>) -> Option<Map<String, Value>> {
    look(compiled, input, &mut Members::default())?;
    match input {
        RawArguments::Text(text) => Map::deserialize(&mut ConformingText::new(text)).ok(),
        RawArguments::Value(Cow::Borrowed(value)) => value.as_object().cloned(),
        RawArguments::Value(Cow::Owned(value)) => value.as_object_mut().map(std::mem::take),
        RawArguments::Bytes(_) => None,
    }
}

#[cfg(test)]
mod tests;
