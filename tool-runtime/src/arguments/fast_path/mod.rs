//! The fast path: arguments that conform exactly are deserialized without a tree.
//!
//! A single walk checks the arguments against the [`CompiledSchema`], without knowledge of types; then each type
//! deserializes its own part. The fast path coerces nothing and reports nothing. The fast path has no false positives:
//! the tree reads every accepted value without an issue (`tests/properties` compares the two). A negative, for any
//! reason, falls back to the tree. The rest of the crate works without this folder.

mod conform;
mod keys;
mod walk;

use std::borrow::Cow;

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::deserialize::argument::Arguments;
use super::deserialize::reader::ValueReader;
use super::input::tokens::Tokens;
use crate::host::Host;
use crate::param::params::Params;
use crate::schema::CompiledSchema;
use crate::schema::compiled::name::is_same;
use crate::wire::raw_arguments::RawArguments;

/// Reads the arguments of a typed tool; `None` if the tree has to decide.
#[inline]
pub(super) fn read<P: Params>(
    compiled: &CompiledSchema,
    params: &P,
    input: &mut RawArguments<'_>,
    host: &Host<'_>,
) -> Option<P::Values> {
    let mut arguments = Arguments::new(compiled);
    check(compiled, input, &mut arguments)?;
    arguments.moves_texts = matches!(input, RawArguments::Value(Cow::Owned(_)));
    // Errors of types are dropped here; reading the tree produces them again, with paths.
    let mut values = params.read_values(&&arguments, host, &mut |_, _| ())?;
    if let RawArguments::Value(Cow::Owned(Value::Object(given))) = input {
        P::move_strings(&mut values, &mut |parameter, text| {
            let place = compiled.property_index(parameter);
            let property = place.and_then(|place| compiled.properties().get(place));
            let is_its = |key: &String| property.is_some_and(|property| is_same(key, &property.name));
            if let Some((_, Value::String(given))) = given.iter_mut().find(|(key, _)| is_its(key)) {
                debug_assert!(text.is_empty(), "the string was not moved before");
                std::mem::swap(text, given);
            }
        });
    }
    Some(values)
}

/// Checks the arguments, and returns the argument of each parameter.
fn check<'a>(
    compiled: &CompiledSchema,
    input: &'a RawArguments<'_>,
    arguments: &mut Arguments<'a>,
) -> Option<()> {
    match input {
        RawArguments::Text(text) => walk::text(compiled, text, arguments),
        RawArguments::Value(value) => walk::value(compiled, value, arguments),
        RawArguments::Bytes(_) => None,
    }
}

/// Returns the arguments as a map, if they conform exactly.
pub(super) fn map(compiled: &CompiledSchema, input: &mut RawArguments<'_>) -> Option<Map<String, Value>> {
    check(compiled, input, &mut Arguments::new(compiled))?;
    match input {
        RawArguments::Text(text) => Map::deserialize(ValueReader(&mut Tokens::new(text))).ok(),
        RawArguments::Value(Cow::Borrowed(value)) => value.as_object().cloned(),
        RawArguments::Value(Cow::Owned(value)) => value.as_object_mut().map(std::mem::take),
        RawArguments::Bytes(_) => None,
    }
}

#[cfg(test)]
mod tests;
