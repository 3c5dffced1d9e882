//! A coerced tree as a serde `Deserializer`: plain and strict, with the path to whatever a type refuses.

use std::borrow::Cow;
use std::str::FromStr;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::DeserializeError;
use super::map_key::Key;
use crate::arguments::tree::node::{Members, Node, Number};
use crate::schema::decimal::Decimal;

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            match self {
                Node::Number(number) => match integer::<$type>(&number.text) {
                    Some(value) => visitor.$visit(value),
                    None => self.deserialize_any(visitor),
                },
                _ => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for &'de Node<'_> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Node::Null => visitor.visit_unit(),
            Node::Bool(is) => visitor.visit_bool(*is),
            Node::Number(number) => number.visit(visitor),
            Node::Text(text) => visitor.visit_borrowed_str(text),
            Node::List(items) => {
                let mut left = Items {
                    items: items.iter(),
                    place: 0,
                };
                let value = visitor.visit_seq(&mut left)?;
                match left.items.len() {
                    0 => Ok(value),
                    _ => Err(DeserializeError::invalid_length(items.len(), &"fewer items")),
                }
            }
            Node::Object(members) => {
                let mut left = Entries {
                    entries: members.entries.iter(),
                    current: None,
                };
                let value = visitor.visit_map(&mut left)?;
                match left.entries.len() {
                    0 => Ok(value),
                    _ => Err(DeserializeError::invalid_length(
                        members.entries.len(),
                        &"fewer entries",
                    )),
                }
            }
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64, deserialize_i128 visit_i128 i128,
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64, deserialize_u128 visit_u128 u128,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            // By way of a float of 64 bits it would be rounded twice.
            Node::Number(number) if number.is_plain_integer() && number.text.len() > 15 => {
                number.visit(visitor)
            }
            Node::Number(number) => {
                let float = number.float();
                if fits_single(float) {
                    visitor.visit_f64(float)
                } else {
                    Err(DeserializeError::custom("too large for a 32-bit number"))
                }
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Node::Number(number) => visitor.visit_f64(number.float()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match name {
            RAW => visit_raw(self, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match self {
            Node::Text(text) => visitor.visit_enum(Variant {
                name: text,
                value: None,
            }),
            Node::Object(Members { entries, .. }) => match entries.as_slice() {
                [(name, value)] => visitor.visit_enum(Variant {
                    name,
                    value: Some(value),
                }),
                _ => Err(DeserializeError::invalid_value(
                    Unexpected::Map,
                    &"an object with one key",
                )),
            },
            other => Err(DeserializeError::invalid_type(
                other.unexpected(),
                &"a string or an object with one key",
            )),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self {
            Node::Text(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool char str string unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// The name by which `serde_json::value::RawValue` asks for JSON text; private to it and stable for years.
pub(in crate::arguments) const RAW: &str = "$serde_json::private::RawValue";

/// Gives a value as JSON text, as it asks for it.
pub(in crate::arguments) fn visit_raw<'de, V: Visitor<'de>, E: Error>(
    node: &Node<'_>,
    visitor: V,
) -> Result<V::Value, E> {
    let mut text = String::new();
    node.write(&mut text).map_err(E::custom)?;
    visitor.visit_map(MapDeserializer::new(std::iter::once((RAW, text))))
}

/// The integer that a number is, however it is written.
pub(in crate::arguments) fn integer<T: FromStr>(text: &str) -> Option<T> {
    // Most are written as one.
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let value = Decimal::parse(text).filter(Decimal::is_integer)?;
    value.integer_text()?.parse().ok()
}

/// Whether a float of 32 bits can hold it, rounded: the text of the largest is above the largest.
#[allow(clippy::cast_possible_truncation, reason = "that is what is looked for")]
pub(in crate::arguments) fn fits_single(float: f64) -> bool {
    (float as f32).is_finite()
}

impl<'de> IntoDeserializer<'de, DeserializeError> for &'de Node<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Node<'_> {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(is) => Unexpected::Bool(*is),
            Self::Number(number) => Unexpected::Float(number.float()),
            Self::Text(text) => Unexpected::Str(text),
            Self::List(_) => Unexpected::Seq,
            Self::Object(_) => Unexpected::Map,
        }
    }
}

impl Number<'_> {
    fn float(&self) -> f64 {
        self.text.parse().unwrap_or(f64::NAN)
    }

    /// As `serde_json` does it: an integer if 64 bits hold it (and there is no `-0`), otherwise a float.
    fn visit<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, DeserializeError> {
        if self.as_integer || self.is_plain_integer() && self.text != "-0" {
            if let Some(value) = integer(&self.text) {
                return visitor.visit_u64(value);
            }
            if let Some(value) = integer(&self.text) {
                return visitor.visit_i64(value);
            }
        }
        visitor.visit_f64(self.float())
    }
}

struct Items<'de, 'a> {
    items: std::slice::Iter<'de, Node<'a>>,
    place: usize,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = DeserializeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeserializeError> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        let place = self.place;
        self.place += 1;
        seed.deserialize(item)
            .map(Some)
            .map_err(|refusal| refusal.within(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'de, 'a> {
    entries: std::slice::Iter<'de, (Cow<'a, str>, Node<'a>)>,
    current: Option<&'de (Cow<'a, str>, Node<'a>)>,
}

impl<'de> MapAccess<'de> for &mut Entries<'de, '_> {
    type Error = DeserializeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeserializeError> {
        self.current = self.entries.next();
        let Some((key, _)) = self.current else {
            return Ok(None);
        };
        seed.deserialize(Key::told(key))
            .map(Some)
            .map_err(|refusal: DeserializeError| refusal.of_key(key))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, DeserializeError> {
        let Some((key, value)) = self.current.take() else {
            return Err(DeserializeError::custom("a value was asked for before its key"));
        };
        seed.deserialize(value).map_err(|refusal| refusal.within(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// An externally tagged variant, with its content if it came as an object.
struct Variant<'de, 'a> {
    name: &'de str,
    value: Option<&'de Node<'a>>,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'de, 'a> {
    type Error = DeserializeError;
    type Variant = Content<'de, 'a>;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Content<'de, 'a>), DeserializeError> {
        let variant = seed.deserialize(StrDeserializer::<DeserializeError>::new(self.name))?;
        Ok((
            variant,
            Content {
                name: self.name,
                value: self.value,
            },
        ))
    }
}

struct Content<'de, 'a> {
    name: &'de str,
    value: Option<&'de Node<'a>>,
}

impl<'de, 'a> Content<'de, 'a> {
    fn read<T>(
        self,
        read: impl FnOnce(&'de Node<'a>) -> Result<T, DeserializeError>,
    ) -> Result<T, DeserializeError> {
        match self.value {
            Some(value) => read(value).map_err(|refusal| refusal.within(self.name)),
            None => Err(DeserializeError::custom(format_args!(
                "`{}` has content; send an object with it as the key",
                self.name
            ))),
        }
    }
}

impl<'de> VariantAccess<'de> for Content<'de, '_> {
    type Error = DeserializeError;

    fn unit_variant(self) -> Result<(), DeserializeError> {
        match self.value {
            None | Some(Node::Null) => Ok(()),
            Some(other) => {
                Err(DeserializeError::invalid_type(other.unexpected(), &"no content").within(self.name))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DeserializeError> {
        self.read(|value| seed.deserialize(value))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DeserializeError> {
        self.read(|value| value.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.read(|value| value.deserialize_struct("", fields, visitor))
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

    use crate::arguments::tree::json::parse;
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

    /// A map of one entry whose key is a number.
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

    /// Everything that `serde_json` reads, it reads to the same value.
    fn agree<T: DeserializeOwned + PartialEq + fmt::Debug>(texts: &[&str]) {
        for text in texts {
            let node = parse(text, depth::MAX_DEPTH).unwrap();
            let ours = T::deserialize(&node).map_err(|refusal| refusal.to_string());
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
        let read = |text| u8::deserialize(&parse(text, 1).unwrap());
        assert_eq!(read("3.0"), Ok(3));
        assert_eq!(read("1e2"), Ok(100));
        assert!(read("3.5").is_err());
        assert!(read("256").is_err());
    }

    #[test]
    fn raw_values_keep_their_text() {
        let node = parse(r#"{"a": [1.50, 12345678901234567890123, "\u00e9"]}"#, 4).unwrap();
        let raw = HashMap::<String, Box<RawValue>>::deserialize(&node).unwrap();
        assert_eq!(raw["a"].get(), r#"[1.50,12345678901234567890123,"é"]"#);
    }

    #[test]
    fn refusals_know_where() {
        let node = parse(r#"{"a/b":[{"x":1},{"x":0}]}"#, 4).unwrap();
        let refusal = HashMap::<String, Vec<HashMap<String, NonZeroU8>>>::deserialize(&node).unwrap_err();
        assert_eq!(refusal.path("/p"), "/p/a~1b/1/x");
        assert!(refusal.message().contains("nonzero"), "{refusal}");
    }
}
