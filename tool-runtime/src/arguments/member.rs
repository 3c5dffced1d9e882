//! What came for one parameter, in whatever form it came, as a serde `Deserializer`: the only one that types are read
//! from.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Error, Visitor};

use super::conformed::Conformed;
use super::feed::{RAW, fits_single};
use super::node::Node;
use super::refusal::Refusal;

/// A value, borrowed from the arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Member<'a> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(&'a str),
    /// JSON text that conforms to the letter.
    Json(&'a str),
    /// A part of a coerced tree.
    Tree(&'a Node<'a>),
}

/// Reads from JSON text. Nobody hears what a type says of it: the tree is asked then.
macro_rules! from_json {
    ($json:ident.$method:ident($($argument:expr),*)) => {
        Conformed::new($json).$method($($argument),*).map_err(|_| unheard())
    };
}

/// Where the value has parts, or the type wants something special, what it came in is asked.
macro_rules! hand_on {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, Refusal> {
            match *self {
                Member::Json(json) => from_json!(json.$method($($argument,)* visitor)),
                Member::Tree(node) => node.$method($($argument,)* visitor),
                scalar => scalar.give(visitor),
            }
        })*
    };
}

impl<'de> Member<'de> {
    /// A scalar as it is, as `serde_json` gives it.
    fn give<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Refusal> {
        match *self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Signed(value) => visitor.visit_i64(value),
            Self::Float(value) => visitor.visit_f64(value),
            Self::Text(text) => visitor.visit_borrowed_str(text),
            Self::Json(_) | Self::Tree(_) => Err(unheard()),
        }
    }
}

/// By reference: a copy would be written and read again for each parameter.
impl<'de> Deserializer<'de> for &Member<'de> {
    type Error = Refusal;

    hand_on! {
        deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_f64() deserialize_char()
        deserialize_str() deserialize_string() deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_seq() deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize) deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_identifier()
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match *self {
            Member::Unsigned(value) => visitor.visit_i128(value.into()),
            Member::Signed(value) => visitor.visit_i128(value.into()),
            Member::Json(json) => from_json!(json.deserialize_i128(visitor)),
            Member::Tree(node) => node.deserialize_i128(visitor),
            scalar => scalar.give(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match *self {
            Member::Unsigned(value) => visitor.visit_u128(value.into()),
            Member::Json(json) => from_json!(json.deserialize_u128(visitor)),
            Member::Tree(node) => node.deserialize_u128(visitor),
            scalar => scalar.give(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match *self {
            Member::Float(value) if !fits_single(value) => Err(unheard()),
            Member::Json(json) => from_json!(json.deserialize_f32(visitor)),
            Member::Tree(node) => node.deserialize_f32(visitor),
            scalar => scalar.give(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match *self {
            Member::Null | Member::Tree(Node::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match *self {
            Member::Json(json) if name == RAW => from_json!(json.deserialize_newtype_struct(name, visitor)),
            Member::Tree(node) if name == RAW => node.deserialize_newtype_struct(name, visitor),
            _ if name == RAW => Err(unheard()),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match *self {
            Member::Text(text) => visitor.visit_enum(BorrowedStrDeserializer::<Refusal>::new(text)),
            Member::Json(json) => from_json!(json.deserialize_enum(name, variants, visitor)),
            Member::Tree(node) => node.deserialize_enum(name, variants, visitor),
            _ => Err(unheard()),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match *self {
            Member::Text(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Member::Json(json) => from_json!(json.deserialize_bytes(visitor)),
            Member::Tree(node) => node.deserialize_bytes(visitor),
            scalar => scalar.give(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_unit()
    }
}

fn unheard() -> Refusal {
    Refusal::custom("")
}
