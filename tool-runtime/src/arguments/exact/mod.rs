//! The fast path: text straight into typed values, by way of `serde_json`, as long as everything is exactly as the
//! schema says.
//!
//! Nothing is coerced and nothing is reported: at the first surprise the whole reading is given up, and the tree
//! tells what is the matter. So a yes of this file must be one that the tree would give too, with the same value
//! and without an issue (`tests/coercion` holds the two together). A no may be given freely.

mod conform;
mod place;
mod keys;
mod scalar;
mod floats;

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::host::Host;
use crate::params::Params;
use crate::schema::shape::{List, Rest, Shape};
use keys::{Keys, Next};
use place::{Place, inexact};
use scalar::{Single, Variant, VariantKey};

/// Reads the values from `text` if it conforms to the letter.
pub(super) fn read<P: Params>(params: &P, shape: &Shape, text: &str, host: &Host<'_>) -> Option<P::Values> {
    let mut json = serde_json::Deserializer::from_str(text);
    let has_floats = Cell::new(false);
    let place = Place::root(shape, &has_floats);
    let values = params
        .stream(
            Exact {
                json: &mut json,
                place,
            },
            host,
        )
        .ok()?;
    json.end().ok()?;
    (!has_floats.get() || floats::are_exact(text)).then_some(values)
}

fn require<E: Error>(conforms: bool) -> Result<(), E> {
    if conforms { Ok(()) } else { Err(inexact()) }
}

/// A deserializer whose values are checked on their way to the visitor.
struct Exact<'s, D> {
    json: D,
    place: Place<'s>,
}

macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.json.$method($($argument,)* Check { visitor, place: self.place })
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Exact<'_, D> {
    type Error = D::Error;

    // The type hints go through: they are what makes `serde_json` fast, and keys of maps need them.
    forward! {
        deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f64() deserialize_char() deserialize_str() deserialize_string()
        deserialize_bytes() deserialize_byte_buf() deserialize_option() deserialize_unit()
        deserialize_unit_struct(name: &'static str) deserialize_newtype_struct(name: &'static str)
        deserialize_seq() deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize) deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) deserialize_identifier()
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let Self { json, place } = self;
        json.deserialize_f32(Check {
            visitor: Single(visitor),
            place,
        })
    }

    /// Unit variants only, and those only as strings: `serde_json` would take `{"Variant": null}` as well.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.json.deserialize_str(Variant {
            visitor,
            place: self.place,
        })
    }

    /// What the type ignores is still checked.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.deserialize_any(visitor)
    }
}

/// A visitor that sees a value only if it conforms.
struct Check<'s, V> {
    visitor: V,
    place: Place<'s>,
}

macro_rules! scalars {
    ($($method:ident($type:ty) $check:ident)*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            require(conform::$check(self.place.form, value))?;
            self.visitor.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Check<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    scalars! {
        visit_i64(i64) integer
        visit_i128(i128) integer
        visit_u64(u64) integer
        visit_u128(u128) integer
        visit_str(&str) text
        visit_borrowed_str(&'de str) text
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.place.note_float();
        require(conform::float(self.place.form, value))?;
        self.visitor.visit_f64(value)
    }

    fn visit_string<E: Error>(self, value: String) -> Result<V::Value, E> {
        require(conform::text(self.place.form, &value))?;
        self.visitor.visit_string(value)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        require(conform::boolean(self.place.form))?;
        self.visitor.visit_bool(value)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        require(conform::null(self.place.form))?;
        self.visitor.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        require(conform::null(self.place.form))?;
        self.visitor.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, json: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Exact {
            json,
            place: self.place,
        })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, json: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Exact {
            json,
            place: self.place,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, json: A) -> Result<V::Value, A::Error> {
        let list = self.place.list().ok_or_else(inexact)?;
        let mut items = Items {
            json,
            list,
            place: self.place,
            count: 0,
        };
        let value = self.visitor.visit_seq(&mut items)?;
        if items.is_complete() {
            Ok(value)
        } else {
            Err(inexact())
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, json: A) -> Result<V::Value, A::Error> {
        let keys = Keys::new(self.place).ok_or_else(inexact)?;
        let mut entries = Entries {
            json,
            keys,
            value: None,
        };
        let value = self.visitor.visit_map(&mut entries)?;
        if entries.keys.are_complete() {
            Ok(value)
        } else {
            Err(inexact())
        }
    }
}

/// The items of an array, each with its own form.
struct Items<'s, A> {
    json: A,
    list: &'s List,
    place: Place<'s>,
    count: usize,
}

impl<A> Items<'_, A> {
    fn is_complete(&self) -> bool {
        let count = self.count as u64;
        self.list.min.is_none_or(|min| min <= count) && self.list.max.is_none_or(|max| count <= max)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for &mut Items<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        let place = match (self.list.item(self.count), self.list.rest) {
            (Some(form), _) => Some(self.place.at(form)),
            (None, Rest::Unsaid | Rest::Any) => Some(self.place.anything()),
            (None, _) => None,
        };
        let item = self.json.next_element_seed(Value { seed, place })?;
        self.count += usize::from(item.is_some());
        Ok(item)
    }

    fn size_hint(&self) -> Option<usize> {
        self.json.size_hint()
    }
}

/// The entries of an object, each with its own form.
struct Entries<'s, 'de, A> {
    json: A,
    keys: Keys<'s, 'de>,
    /// Where the value of the key that was just read stands.
    value: Option<Place<'s>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for &mut Entries<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Entries { json, keys, value } = &mut **self;
        json.next_key_seed(Key { seed, keys, value })
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        let place = self.value.take();
        self.json.next_value_seed(Value { seed, place })
    }

    fn size_hint(&self) -> Option<usize> {
        self.json.size_hint()
    }
}

/// A value inside another; without a place it should not be there.
struct Value<'s, T> {
    seed: T,
    place: Option<Place<'s>>,
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Value<'_, T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<T::Value, D::Error> {
        let place = self.place.ok_or_else(inexact)?;
        self.seed.deserialize(Exact { json, place })
    }
}

/// A key on its way to the type, by way of [`Keys`]. Also the deserializer and the visitor of that way.
struct Key<'k, 's, 'de, T> {
    seed: T,
    keys: &'k mut Keys<'s, 'de>,
    value: &'k mut Option<Place<'s>>,
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<'_, '_, 'de, T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<T::Value, D::Error> {
        let Self { seed, keys, value } = self;
        seed.deserialize(Key {
            seed: json,
            keys,
            value,
        })
    }
}

/// Keys are strings. A map with keys of another type is left to the tree.
impl<'de, D: Deserializer<'de>> Deserializer<'de> for Key<'_, '_, 'de, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let Self { seed, keys, value } = self;
        seed.deserialize_str(Key {
            seed: visitor,
            keys,
            value,
        })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let Self { seed, keys, value } = self;
        seed.deserialize_str(Key {
            seed: VariantKey(visitor),
            keys,
            value,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Key<'_, '_, 'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.seed.expecting(f)
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<V::Value, E> {
        *self.value = Some(self.keys.next(Next::Lasting(key)).ok_or_else(inexact)?);
        self.seed.visit_borrowed_str(key)
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<V::Value, E> {
        *self.value = Some(self.keys.next(Next::Passing(key)).ok_or_else(inexact)?);
        self.seed.visit_str(key)
    }
}
