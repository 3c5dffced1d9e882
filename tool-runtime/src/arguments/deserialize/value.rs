//! A JSON value that is known to conform, part by part, as a serde `Deserializer`.

use std::str::FromStr;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Number, Value, map};

use super::map_key::{Key, NO_KEY};
use super::node::{self, RAW, fits_single};
use super::not_taken::{NotTaken, Taken};
use crate::arguments::tree::node::Node;

/// A value, borrowed from the arguments.
#[derive(Debug, Clone, Copy)]
pub(in crate::arguments) struct ConformingValue<'de>(pub(in crate::arguments) &'de Value);

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Taken<V::Value> {
    if let Some(value) = number.as_u64() {
        return visitor.visit_u64(value);
    }
    // With `arbitrary_precision` it may be the 0 of `-0`, which is a float.
    let signed = number.as_i64().filter(|value| *value != 0);
    match (signed, number.as_f64()) {
        (Some(value), _) => visitor.visit_i64(value),
        (None, Some(value)) => visitor.visit_f64(value),
        (None, None) => Err(NotTaken),
    }
}

impl<'de> ConformingValue<'de> {
    /// Where an integer is wanted, `3.0` is one.
    fn visit_integer<V: Visitor<'de>, T: FromStr>(
        self,
        visitor: V,
        visit: fn(V, T) -> Taken<V::Value>,
    ) -> Taken<V::Value> {
        match self.0 {
            Value::Number(number) if number.is_f64() => match node::integer(&number.to_string()) {
                Some(value) => visit(visitor, value),
                None => self.deserialize_any(visitor),
            },
            _ => self.deserialize_any(visitor),
        }
    }
}

impl<'de> Deserializer<'de> for ConformingValue<'de> {
    type Error = NotTaken;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(is) => visitor.visit_bool(*is),
            Value::Number(number) => visit_number(number, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let mut items = Items(items.iter());
                let value = visitor.visit_seq(&mut items)?;
                items.0.as_slice().is_empty().then_some(value).ok_or(NotTaken)
            }
            Value::Object(map) => {
                let mut entries = Entries {
                    entries: map.iter(),
                    value: None,
                };
                let value = visitor.visit_map(&mut entries)?;
                (entries.entries.len() == 0).then_some(value).ok_or(NotTaken)
            }
        }
    }

    integers! {
        deserialize_i8: visit_i8; deserialize_i16: visit_i16; deserialize_i32: visit_i32; deserialize_i64: visit_i64;
        deserialize_u8: visit_u8; deserialize_u16: visit_u16; deserialize_u32: visit_u32; deserialize_u64: visit_u64;
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        match self.0 {
            Value::Number(number) if !number.as_f64().is_some_and(fits_single) => Err(NotTaken),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        match self.0.as_i64() {
            Some(value) => visitor.visit_i128(value.into()),
            None => self.visit_integer(visitor, V::visit_i128),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        match self.0.as_u64() {
            Some(value) => visitor.visit_u128(value.into()),
            None => self.visit_integer(visitor, V::visit_u128),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Taken<V::Value> {
        match name {
            RAW => node::visit_raw(&Node::from_value(self.0), visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Taken<V::Value> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(BorrowedStrDeserializer::new(name)),
            Value::Object(map) => {
                let mut entries = map.iter();
                match (entries.next(), entries.next()) {
                    (Some((name, content)), None) => visitor.visit_enum(Variant { name, content }),
                    _ => Err(NotTaken),
                }
            }
            _ => Err(NotTaken),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        match self.0 {
            Value::String(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool f64 char str string unit unit_struct seq tuple tuple_struct map struct
        identifier
    }
}

struct Items<'de>(std::slice::Iter<'de, Value>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = NotTaken;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Taken<Option<T::Value>> {
        self.0
            .next()
            .map(|item| seed.deserialize(ConformingValue(item)))
            .transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries<'de> {
    entries: map::Iter<'de>,
    value: Option<&'de Value>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = NotTaken;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Taken<Option<K::Value>> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        if key.starts_with(NO_KEY) {
            return Err(NotTaken);
        }
        self.value = Some(value);
        seed.deserialize(Key::new(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Taken<T::Value> {
        seed.deserialize(ConformingValue(self.value.take().ok_or(NotTaken)?))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// An externally tagged variant.
struct Variant<'de> {
    name: &'de str,
    content: &'de Value,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = NotTaken;
    type Variant = ConformingValue<'de>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Taken<(T::Value, ConformingValue<'de>)> {
        let variant = seed.deserialize(BorrowedStrDeserializer::<NotTaken>::new(self.name))?;
        Ok((variant, ConformingValue(self.content)))
    }
}

/// The content of a variant.
impl<'de> VariantAccess<'de> for ConformingValue<'de> {
    type Error = NotTaken;

    fn unit_variant(self) -> Taken<()> {
        self.0.is_null().then_some(()).ok_or(NotTaken)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Taken<T::Value> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Taken<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Taken<V::Value> {
        self.deserialize_map(visitor)
    }
}
