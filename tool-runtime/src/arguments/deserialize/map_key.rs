//! Deserializes the keys of objects.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::value::StrDeserializer;
use serde::de::{Deserializer, Error, Expected, Visitor};
use serde::forward_to_deserialize_any;

use super::error::DeserializeError;
use crate::arguments::input::tree::json::parse;
use crate::arguments::input::tree::node::Node;

/// Key of a map: text that can be parsed as a number or a boolean, as in a map with integer keys.
pub(super) struct MapKeyDeserializer<'de> {
    pub(super) text: &'de str,
    /// Whether errors need a message.
    pub(super) explains: bool,
}

macro_rules! integer_keys {
    ($($method:ident $visit:ident $integer:ident,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            match integer::<$integer>(self.text) {
                Some(value) => visitor.$visit(value),
                None => visitor.visit_borrowed_str(self.text).map_err(|error: DeserializeError| {
                    let hint = self.text.parse().ok();
                    wanted_integer(error, hint, $integer::MIN, $integer::MAX)
                }),
            }
        })*
    };
}

/// Parses an integer in canonical spelling: in a map with `7` and `07`, one would replace the other.
fn integer<T: FromStr + ToString>(key: &str) -> Option<T> {
    key.parse().ok().filter(|value: &T| value.to_string() == key)
}

/// Adds the expected integer to the error of a type, whose text only states that the key is not an integer.
fn wanted_integer<T: Display>(error: DeserializeError, hint: Option<T>, min: T, max: T) -> DeserializeError {
    if !error.message().starts_with("invalid type: string") {
        return error;
    }
    match hint {
        Some(hint) => Error::custom(format_args!("expected an integer, written `{hint}`")),
        None => Error::custom(format_args!("expected an integer from {min} to {max}")),
    }
}

/// Parses a number in JSON syntax; Rust would accept `inf` as well.
fn float(key: &str) -> Option<f64> {
    let Ok(Node::Number(number)) = parse(key, 0) else {
        return None;
    };
    let is_alone = number.text.len() == key.len() && number.is_finite();
    number.text.parse().ok().filter(|_| is_alone)
}

fn single(key: &str) -> Option<f32> {
    let is_finite = float(key).is_some();
    key.parse()
        .ok()
        .filter(|value: &f32| is_finite && value.is_finite())
}

impl<'de> Deserializer<'de> for MapKeyDeserializer<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_borrowed_str(self.text)
    }

    integer_keys! {
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64, deserialize_i128 visit_i128 i128,
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64, deserialize_u128 visit_u128 u128,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match single(self.text) {
            Some(value) => visitor.visit_f32(value),
            None => visitor.visit_borrowed_str(self.text),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match float(self.text) {
            Some(value) => visitor.visit_f64(value),
            None => visitor.visit_borrowed_str(self.text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.text.parse() {
            Ok(value) => visitor.visit_bool(value),
            Err(_) => visitor.visit_borrowed_str(self.text),
        }
    }

    /// Reads the text. A type that parses text usually reports the fault, not the expected text.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        let wanted = self.explains.then(|| (&visitor as &dyn Expected).to_string());
        let read = visitor.visit_borrowed_str(self.text);
        read.map_err(|error: DeserializeError| match wanted {
            Some(wanted) if !error.message().contains(&wanted) => {
                Error::custom(format_args!("{error}; expected {wanted}"))
            }
            _ => error,
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_enum(StrDeserializer::<DeserializeError>::new(self.text))
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_borrowed_bytes(self.text.as_bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_bytes(visitor)
    }

    forward_to_deserialize_any! {
        char string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
