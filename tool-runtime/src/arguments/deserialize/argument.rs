//! [`Arguments`]: the argument of each parameter, as text, as a value, or as a part of the tree.

use serde::de::{Deserializer, Visitor};
use serde_json::Value;

use super::cursor::Scalar;
use super::error::DeserializeError;
use super::reader::ValueReader;
use crate::arguments::input::tokens::Tokens;
use crate::arguments::input::tree::node::{self, Node};
use crate::param::params::ArgumentSource;
use crate::schema::CompiledSchema;

/// Argument of a parameter, by reference.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Argument<'a> {
    /// A conforming scalar in JSON text.
    Scalar(Scalar<'a>),
    /// Other conforming JSON text, and its end.
    Json(Tokens<'a>, usize),
    /// A conforming JSON value.
    Value(&'a Value),
    /// A part of a coerced tree.
    Tree(&'a Node<'a>),
}

/// Deserializes text, which must be read to its end: a type that ignores an inner error may have stopped early.
#[inline]
fn text<'a, T>(
    mut text: Tokens<'a>,
    end: usize,
    read: impl FnOnce(ValueReader<'_, Tokens<'a>>) -> Result<T, DeserializeError>,
) -> Result<T, DeserializeError> {
    match read(ValueReader(&mut text)) {
        Ok(value) if text.at == end => Ok(value),
        _ => Err(DeserializeError::fall_back()),
    }
}

#[inline]
fn value<C, T>(
    mut cursor: C,
    read: impl FnOnce(ValueReader<'_, C>) -> Result<T, DeserializeError>,
) -> Result<T, DeserializeError> {
    read(ValueReader(&mut cursor))
}

#[cold]
fn tree<'a, T>(
    mut node: &'a Node<'a>,
    read: impl FnOnce(ValueReader<'_, &'a Node<'a>>) -> Result<T, DeserializeError>,
) -> Result<T, DeserializeError> {
    read(ValueReader(&mut node))
}

macro_rules! forward_to_reader {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, DeserializeError> {
            match *self {
                Argument::Scalar(scalar) => value(scalar, |reader| reader.$method($($argument,)* visitor)),
                Argument::Json(json, end) => text(json, end, |reader| reader.$method($($argument,)* visitor)),
                Argument::Value(json) => value(json, |reader| reader.$method($($argument,)* visitor)),
                Argument::Tree(node) => tree(node, |reader| reader.$method($($argument,)* visitor)),
            }
        })*
    };
}

/// Implemented for a reference, so that parameters move nothing.
impl<'de> Deserializer<'de> for &Argument<'de> {
    type Error = DeserializeError;

    forward_to_reader! {
        deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_char() deserialize_str() deserialize_string()
        deserialize_bytes() deserialize_byte_buf() deserialize_option() deserialize_unit()
        deserialize_unit_struct(name: &'static str) deserialize_newtype_struct(name: &'static str)
        deserialize_seq() deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize) deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_identifier() deserialize_ignored_any()
    }
}

/// Arguments by the index of their parameter.
#[derive(Debug)]
pub(in crate::arguments) struct Arguments<'a> {
    compiled: &'a CompiledSchema,
    slots: [Option<Argument<'a>>; MAX_PARAMETERS],
    /// Whether strings stay in place, to be moved last.
    pub(in crate::arguments) moves_texts: bool,
}

/// Maximum number of parameters of a function.
const MAX_PARAMETERS: usize = 16;

impl<'a> Arguments<'a> {
    /// Creates a list without arguments.
    pub(in crate::arguments) fn new(compiled: &'a CompiledSchema) -> Self {
        Self {
            compiled,
            slots: [None; MAX_PARAMETERS],
            moves_texts: false,
        }
    }

    /// Creates the list of all arguments in a tree.
    pub(in crate::arguments) fn from_tree(compiled: &'a CompiledSchema, tree: &'a node::Members<'a>) -> Self {
        let mut arguments = Self::new(compiled);
        for (place, property) in compiled.properties().iter().enumerate() {
            if let Some(node) = tree.get(&property.name) {
                arguments.set(place, Argument::Tree(node));
            }
        }
        arguments
    }

    #[inline]
    pub(in crate::arguments) fn set(&mut self, place: usize, argument: Argument<'a>) {
        if let Some(slot) = self.slots.get_mut(place) {
            *slot = Some(argument);
        }
    }
}

impl<'m, 'a> ArgumentSource<'a> for &'m Arguments<'a> {
    type Value = &'m Argument<'a>;

    #[inline]
    fn value(&self, parameter: usize) -> Option<&'m Argument<'a>> {
        self.slots.get(self.compiled.property_index(parameter)?)?.as_ref()
    }

    #[inline]
    fn is_owned_string(&self, value: &Self::Value) -> bool {
        self.moves_texts && matches!(value, Argument::Value(Value::String(_)))
    }
}
