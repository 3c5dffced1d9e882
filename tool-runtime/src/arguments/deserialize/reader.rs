//! The serde `Deserializer`: strict, with the path of the rejected value in its errors.

use std::borrow::Cow;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use super::cursor::{Cursor, Json, NumberToken};
use super::error::DeserializeError;
use super::map_key::MapKeyDeserializer;
use crate::schema::compiled::types::Types;

/// Reads the value at a cursor.
pub(in crate::arguments) struct ValueReader<'c, C>(pub(in crate::arguments) &'c mut C);

impl<'de, C: Cursor<'de>> ValueReader<'_, C> {
    #[inline]
    fn visit<V: Visitor<'de>>(self, json: Json<'de, C>, visitor: V) -> Result<V::Value, DeserializeError> {
        match json {
            Json::Null => visitor.visit_unit(),
            Json::Bool(is) => visitor.visit_bool(is),
            Json::Number(number) => number.visit(visitor),
            Json::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Json::Text(Cow::Owned(text)) => visitor.visit_string(text),
            Json::List(items, count) => {
                let mut list = ItemAccess {
                    cursor: self.0,
                    items,
                    place: 0,
                    count,
                };
                let value = visitor.visit_seq(&mut list)?;
                if list.cursor.next_item(&mut list.items)? {
                    return Err(too_long(count, &"fewer items"));
                }
                Ok(value)
            }
            Json::Object(entries, count) => {
                let mut object = EntryAccess {
                    cursor: self.0,
                    entries,
                    key: None,
                    left: count,
                };
                let value = visitor.visit_map(&mut object)?;
                if object.cursor.next_entry(&mut object.entries)? {
                    return Err(too_long(count, &"fewer entries"));
                }
                Ok(value)
            }
        }
    }
}

impl<'de, C: Cursor<'de>> ValueReader<'_, C> {
    /// [`visit`](Self::visit) of a value of another type than most: inlined, it would make reading the others longer.
    #[cold]
    #[inline(never)]
    fn visit_other<V: Visitor<'de>>(
        self,
        json: Json<'de, C>,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.visit(json, visitor)
    }
}

#[cold]
fn too_long(count: Option<usize>, wanted: &&str) -> DeserializeError {
    Error::invalid_length(count.unwrap_or_default(), wanted)
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty,)*) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            match self.0.read()? {
                Json::Number(number) => match number.integer::<$type>() {
                    Some(value) => visitor.$visit(value),
                    None => number.visit(visitor),
                },
                other => self.visit(other, visitor),
            }
        })*
    };
}

impl<'de, C: Cursor<'de>> Deserializer<'de> for ValueReader<'_, C> {
    type Error = DeserializeError;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        let json = self.0.read()?;
        self.visit(json, visitor)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0.read()? {
            Json::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            other => self.visit_other(other, visitor),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_str(visitor)
    }

    integers! {
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64, deserialize_i128 visit_i128 i128,
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64, deserialize_u128 visit_u128 u128,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0.read()? {
            // Conversion through a 64-bit float would round twice.
            Json::Number(number @ (NumberToken::Unsigned(_) | NumberToken::Signed(_)))
                if number.float().abs() >= EXACT_BELOW =>
            {
                number.visit(visitor)
            }
            Json::Number(number) if is_single(number.float()) => visitor.visit_f64(number.float()),
            Json::Number(_) => Err(Error::custom("too large for a 32-bit number")),
            other => self.visit(other, visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0.read()? {
            Json::Number(number) => visitor.visit_f64(number.float()),
            other => self.visit(other, visitor),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        if self.0.types()? != Types::NULL {
            return visitor.visit_some(self);
        }
        self.0.read()?;
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        if name != RAW {
            return visitor.visit_newtype_struct(self);
        }
        visitor.visit_map(MapDeserializer::new(std::iter::once((RAW, self.0.raw()?))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        let expected = "a string or an object with one key";
        let several = || Error::invalid_value(Unexpected::Map, &"an object with one key");
        match self.0.read()? {
            Json::Text(name) => visitor.visit_enum(Variant::<C> {
                name: &name,
                content: None,
            }),
            Json::Object(mut entries, count) => {
                if count.is_some_and(|count| count != 1) || !self.0.next_entry(&mut entries)? {
                    return Err(several());
                }
                let value = visitor.visit_enum(Variant {
                    name: self.0.key(&entries)?,
                    content: Some(&mut *self.0),
                })?;
                if self.0.next_entry(&mut entries)? {
                    return Err(several());
                }
                Ok(value)
            }
            other => Err(Error::invalid_type(other.unexpected(), &expected)),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0.read()? {
            Json::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Json::Text(text) => visitor.visit_byte_buf(text.into_owned().into_bytes()),
            other => self.visit(other, visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.0.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool char unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// Prefix of keys that `serde_json` reads as raw text, or as an exact number.
pub(in crate::arguments) const PRIVATE: &str = "$serde_json::private::";

/// Name of the newtype with which `serde_json::value::RawValue` requests JSON text. The name is private, but stable for
/// years.
const RAW: &str = "$serde_json::private::RawValue";

/// Limit above which the difference between neighbouring floats is greater than one.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// Returns whether a 32-bit float can hold the value after rounding. A comparison with the largest 32-bit float would
/// reject the decimal text of that float, which is slightly larger.
#[allow(clippy::cast_possible_truncation, reason = "the result of the cast is tested")]
fn is_single(float: f64) -> bool {
    (float as f32).is_finite()
}

struct ItemAccess<'c, 'de, C: Cursor<'de>> {
    cursor: &'c mut C,
    items: C::Items,
    place: usize,
    count: Option<usize>,
}

impl<'de, C: Cursor<'de>> SeqAccess<'de> for ItemAccess<'_, 'de, C> {
    type Error = DeserializeError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeserializeError> {
        if !self.cursor.next_item(&mut self.items)? {
            return Ok(None);
        }
        let place = self.place;
        self.place += 1;
        seed.deserialize(ValueReader(&mut *self.cursor))
            .map(Some)
            .map_err(|error| error.within(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.count?.saturating_sub(self.place))
    }
}

struct EntryAccess<'c, 'de, C: Cursor<'de>> {
    cursor: &'c mut C,
    entries: C::Entries,
    /// Key of the next value.
    key: Option<&'de str>,
    left: Option<usize>,
}

impl<'de, C: Cursor<'de>> MapAccess<'de> for EntryAccess<'_, 'de, C> {
    type Error = DeserializeError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeserializeError> {
        if !self.cursor.next_entry(&mut self.entries)? {
            return Ok(None);
        }
        let key = self.cursor.key(&self.entries)?;
        if !C::EXPLAINS && key.starts_with(PRIVATE) {
            return Err(Error::custom(""));
        }
        self.key = Some(key);
        self.left = self.left.map(|left| left.saturating_sub(1));
        let key_read = seed.deserialize(MapKeyDeserializer {
            text: key,
            explains: C::EXPLAINS,
        });
        key_read.map(Some).map_err(|error| error.at_key(key))
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, DeserializeError> {
        let Some(key) = self.key.take() else {
            return Err(Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(ValueReader(&mut *self.cursor))
            .map_err(|error| error.within(key))
    }

    fn size_hint(&self) -> Option<usize> {
        self.left
    }
}

/// An externally tagged variant, with its content if it is an object.
struct Variant<'n, 'c, C> {
    name: &'n str,
    content: Option<&'c mut C>,
}

impl<'c, C> Variant<'_, 'c, C> {
    fn read<'de, T>(
        self,
        read: impl FnOnce(ValueReader<'c, C>) -> Result<T, DeserializeError>,
    ) -> Result<T, DeserializeError>
    where
        C: Cursor<'de>,
    {
        match self.content {
            Some(content) => read(ValueReader(content)).map_err(|error| error.within(self.name)),
            None => Err(Error::custom(format_args!(
                "`{}` has content; send an object with it as the key",
                self.name
            ))),
        }
    }
}

impl<'de, C: Cursor<'de>> EnumAccess<'de> for Variant<'_, '_, C> {
    type Error = DeserializeError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), DeserializeError> {
        let variant = seed.deserialize(StrDeserializer::<DeserializeError>::new(self.name))?;
        Ok((variant, self))
    }
}

impl<'de, C: Cursor<'de>> VariantAccess<'de> for Variant<'_, '_, C> {
    type Error = DeserializeError;

    fn unit_variant(self) -> Result<(), DeserializeError> {
        match self.content {
            None => Ok(()),
            Some(_) => self.read(|content| match content.0.read()? {
                Json::Null => Ok(()),
                other => Err(Error::invalid_type(other.unexpected(), &"no content")),
            }),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DeserializeError> {
        self.read(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DeserializeError> {
        self.read(|content| content.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.read(|content| content.deserialize_struct("", fields, visitor))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};
    use std::fmt;
    use std::num::NonZeroU8;

    use serde::Deserialize;
    use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
    use serde_json::value::RawValue;

    use super::ValueReader;
    use crate::arguments::input::tree::json::parse;
    use crate::wire::depth;

    #[derive(Debug, PartialEq, Deserialize)]
    enum External {
        Unit,
        New(i64),
        Pair(u8, String),
        Named { a: Option<bool> },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "t", rename_all = "lowercase")]
    enum Internal {
        One { a: i8 },
        Two { b: f64 },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "t", content = "c")]
    enum Adjacent {
        Unit,
        List(Vec<char>),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Whole(u64),
        Float(f64),
        Text(String),
        Many(Vec<Untagged>),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Flat {
        id: u8,
        #[serde(flatten)]
        rest: BTreeMap<String, serde_json::Value>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wrapper(Option<i32>);

    /// A map with one entry, whose key is a number.
    #[derive(Debug, PartialEq)]
    struct FloatKey(f64, u8);

    impl<'de> Deserialize<'de> for FloatKey {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct One;
            impl<'de> Visitor<'de> for One {
                type Value = FloatKey;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a map")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FloatKey, A::Error> {
                    let (key, value) = map.next_entry()?.unwrap_or_default();
                    Ok(FloatKey(key, value))
                }
            }
            deserializer.deserialize_map(One)
        }
    }

    /// Asserts that every text is read to the same value as by `serde_json`.
    fn agree<T: DeserializeOwned + PartialEq + fmt::Debug>(texts: &[&str]) {
        for text in texts {
            let node = parse(text, depth::MAX_DEPTH).unwrap();
            let ours = T::deserialize(ValueReader(&mut &node)).map_err(|error| error.to_string());
            match serde_json::from_str::<T>(text) {
                Ok(theirs) => assert_eq!(ours.as_ref(), Ok(&theirs), "{text}"),
                Err(_) => assert!(ours.is_err(), "{text}: {ours:?}"),
            }
        }
    }

    #[test]
    fn agrees_with_serde_json() {
        agree::<External>(&[
            "\"Unit\"",
            "{\"New\":-3}",
            "{\"Pair\":[1,\"x\"]}",
            "{\"Named\":{\"a\":null}}",
            "{\"Unit\":null}",
            "{}",
            "\"New\"",
            "3",
        ]);
        agree::<Internal>(&[
            "{\"t\":\"one\",\"a\":5}",
            "{\"b\":2,\"t\":\"two\"}",
            "{\"t\":\"three\"}",
            "{\"a\":5}",
            "[\"one\"]",
        ]);
        agree::<Adjacent>(&[
            "{\"t\":\"Unit\"}",
            "{\"c\":[\"a\",\"é\"],\"t\":\"List\"}",
            "{\"t\":\"List\",\"c\":[\"ab\"]}",
        ]);
        agree::<Untagged>(&[
            "1",
            "18446744073709551615",
            "-1",
            "1.5",
            "\"x\"",
            "[1,[\"y\",2.5]]",
            "true",
        ]);
        agree::<Flat>(&["{\"id\":1,\"x\":[{}],\"y\":1e3}", "{\"x\":1}"]);
        agree::<Wrapper>(&["null", "3", "\"3\""]);
        agree::<(u8, String)>(&["[1,\"a\"]", "[1]", "[1,\"a\",2]"]);
        agree::<[i16; 2]>(&["[1,2]", "[1,40000]"]);
        agree::<u128>(&["340282366920938463463374607431768211455", "-1", "\"1\""]);
        agree::<i128>(&["-170141183460469231731687303715884105728", "1"]);
        agree::<(f32, f64, ())>(&["[1,2.5,null]", "[1e3,-0,null]"]);
        agree::<std::time::Duration>(&["{\"secs\":1,\"nanos\":2}"]);
        agree::<Result<u8, String>>(&["{\"Ok\":1}", "{\"Err\":\"x\"}"]);
        agree::<serde_json::Value>(&["{\"a\":[1,-2,3.5,null,true,\"x\",18446744073709551615]}"]);
        agree::<serde_json::Number>(&["1", "-1", "1.5"]);
    }

    #[test]
    fn keys_agree_with_serde_json() {
        agree::<HashMap<i64, bool>>(&[
            "{\"-4\":true}",
            "{\"x\":true}",
            "{\"07\":true}",
            "{\"-0\":true}",
            "{\"+7\":true}",
            "{\"1.0\":true}",
        ]);
        agree::<HashMap<bool, u8>>(&["{\"true\":1}", "{\"1\":1}"]);
        agree::<FloatKey>(&[
            "{\"1.5\":1}",
            "{\"-2\":1}",
            "{\"inf\":1}",
            "{\"NaN\":1}",
            "{\".5\":1}",
            "{\"05\":1}",
            "{\"1e400\":1}",
            "{\"1 \":1}",
            "{\"1\":1,\"2\":2}",
        ]);
    }

    #[test]
    fn integral_floats_are_integers() {
        let read = |text| u8::deserialize(ValueReader(&mut &parse(text, 1).unwrap()));
        assert_eq!(read("3.0"), Ok(3));
        assert_eq!(read("1e2"), Ok(100));
        assert!(read("3.5").is_err());
        assert!(read("256").is_err());
    }

    #[test]
    fn raw_values_keep_their_text() {
        let node = parse(r#"{"a": [1.50, 12345678901234567890123, "\u00e9"]}"#, 4).unwrap();
        let raw = HashMap::<String, Box<RawValue>>::deserialize(ValueReader(&mut &node)).unwrap();
        assert_eq!(raw["a"].get(), r#"[1.50,12345678901234567890123,"é"]"#);
    }

    #[test]
    fn errors_have_the_path() {
        let node = parse(r#"{"a/b":[{"x":1},{"x":0}]}"#, 4).unwrap();
        let error = HashMap::<String, Vec<HashMap<String, NonZeroU8>>>::deserialize(ValueReader(&mut &node))
            .unwrap_err();
        assert_eq!(error.path("/p"), "/p/a~1b/1/x");
        assert!(error.message().contains("nonzero"), "{error}");
    }
}
