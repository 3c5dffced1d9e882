//! What came for one parameter, in whatever form it came, as a serde `Deserializer`: the only one that types are read
//! from.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::Value;

use super::error::DeserializeError;
use super::node::{RAW, visit_raw};
use super::text::ConformingText;
use super::value::ConformingValue;
use crate::arguments::tree::node::Node;

/// A value among the arguments, which it leaves where they are. (A text that was given is moved in the end, see
/// [`Params::move_strings`](crate::param::params::Params::move_strings).)
#[derive(Debug)]
pub(crate) enum Member<'a> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Text(&'a str),
    /// JSON text that conforms to the letter.
    Json(&'a str),
    /// A JSON value that conforms to the letter.
    Value(&'a Value),
    /// The same, given away.
    Given(&'a mut Value),
    /// A part of a coerced tree.
    Tree(&'a Node<'a>),
}

/// Reads what conforms. Nobody hears what a type says of it: the tree is asked then.
macro_rules! conformed {
    ($from:expr, $method:ident($($argument:expr),*)) => {
        $from.$method($($argument),*).map_err(|_| unheard())
    };
}

/// The same of text, which has to be read to its end.
macro_rules! conformed_text {
    ($json:expr, $method:ident($($argument:expr),*)) => {{
        let mut text = ConformingText::new($json);
        let value = text.$method($($argument),*);
        value.and_then(|value| text.end().map(|()| value)).map_err(|_| unheard())
    }};
}

/// Where the value has parts, or the type wants something special, what it came in is asked.
macro_rules! hand_on {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, DeserializeError> {
            match self {
                Member::Json(json) => conformed_text!(json, $method($($argument,)* visitor)),
                Member::Value(value) => conformed!(ConformingValue(value), $method($($argument,)* visitor)),
                Member::Given(value) => conformed!(ConformingValue(value), $method($($argument,)* visitor)),
                Member::Tree(node) => node.$method($($argument,)* visitor),
                scalar => scalar.give(visitor),
            }
        })*
    };
}

impl<'a> From<&'a Value> for Member<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

impl<'a> From<&'a mut Value> for Member<'a> {
    fn from(value: &'a mut Value) -> Self {
        Self::Given(value)
    }
}

impl Member<'_> {
    /// The JSON value that it is.
    pub(crate) fn as_value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Given(value) => Some(value),
            _ => None,
        }
    }

    /// A scalar as it is, as `serde_json` gives it.
    fn give<'de, V: Visitor<'de>>(&'de self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(*value),
            Self::Unsigned(value) => visitor.visit_u64(*value),
            Self::Signed(value) => visitor.visit_i64(*value),
            Self::Text(text) => visitor.visit_borrowed_str(text),
            Self::Json(_) | Self::Value(_) | Self::Given(_) | Self::Tree(_) => Err(unheard()),
        }
    }

    /// A scalar as the tree has it.
    fn node(&self) -> Node<'_> {
        match self {
            Self::Bool(value) => Node::Bool(*value),
            Self::Unsigned(value) => Node::number(value.to_string()),
            Self::Signed(value) => Node::number(value.to_string()),
            Self::Text(text) => Node::Text((*text).into()),
            Self::Null | Self::Json(_) | Self::Value(_) | Self::Given(_) | Self::Tree(_) => Node::Null,
        }
    }
}

/// By reference, so that nothing is moved for each parameter.
impl<'de> Deserializer<'de> for &'de Member<'_> {
    type Error = DeserializeError;

    hand_on! {
        deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_f64() deserialize_char()
        deserialize_str() deserialize_string() deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_seq() deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize) deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_identifier()
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Member::Unsigned(value) => visitor.visit_i128((*value).into()),
            Member::Signed(value) => visitor.visit_i128((*value).into()),
            Member::Json(json) => conformed_text!(json, deserialize_i128(visitor)),
            Member::Value(value) => conformed!(ConformingValue(value), deserialize_i128(visitor)),
            Member::Given(value) => conformed!(ConformingValue(value), deserialize_i128(visitor)),
            Member::Tree(node) => node.deserialize_i128(visitor),
            scalar => scalar.give(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Member::Unsigned(value) => visitor.visit_u128((*value).into()),
            Member::Json(json) => conformed_text!(json, deserialize_u128(visitor)),
            Member::Value(value) => conformed!(ConformingValue(value), deserialize_u128(visitor)),
            Member::Given(value) => conformed!(ConformingValue(value), deserialize_u128(visitor)),
            Member::Tree(node) => node.deserialize_u128(visitor),
            scalar => scalar.give(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Member::Json(json) => conformed_text!(json, deserialize_f32(visitor)),
            Member::Value(value) => conformed!(ConformingValue(value), deserialize_f32(visitor)),
            Member::Given(value) => conformed!(ConformingValue(value), deserialize_f32(visitor)),
            Member::Tree(node) => node.deserialize_f32(visitor),
            scalar => scalar.give(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Member::Null
            | Member::Value(Value::Null)
            | Member::Given(Value::Null)
            | Member::Tree(Node::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match self {
            Member::Json(json) if name == RAW => {
                conformed_text!(json, deserialize_newtype_struct(name, visitor))
            }
            Member::Value(value) if name == RAW => {
                conformed!(ConformingValue(value), deserialize_newtype_struct(name, visitor))
            }
            Member::Given(value) if name == RAW => {
                conformed!(ConformingValue(value), deserialize_newtype_struct(name, visitor))
            }
            Member::Tree(node) if name == RAW => node.deserialize_newtype_struct(name, visitor),
            scalar if name == RAW => visit_raw(&scalar.node(), visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match self {
            Member::Text(text) => visitor.visit_enum(BorrowedStrDeserializer::<DeserializeError>::new(text)),
            Member::Json(json) => conformed_text!(json, deserialize_enum(name, variants, visitor)),
            Member::Value(value) => {
                conformed!(ConformingValue(value), deserialize_enum(name, variants, visitor))
            }
            Member::Given(value) => {
                conformed!(ConformingValue(value), deserialize_enum(name, variants, visitor))
            }
            Member::Tree(node) => node.deserialize_enum(name, variants, visitor),
            _ => Err(unheard()),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Member::Text(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Member::Json(json) => conformed_text!(json, deserialize_bytes(visitor)),
            Member::Value(value) => conformed!(ConformingValue(value), deserialize_bytes(visitor)),
            Member::Given(value) => conformed!(ConformingValue(value), deserialize_bytes(visitor)),
            Member::Tree(node) => node.deserialize_bytes(visitor),
            scalar => scalar.give(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_unit()
    }
}

fn unheard() -> DeserializeError {
    DeserializeError::custom("")
}
