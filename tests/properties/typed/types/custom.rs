//! Types with a custom `Deserialize`: they borrow, request raw text, or record the calls to their visitor.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{
    Deserialize, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::properties::typed::rewrite::Rules;

/// Raw JSON text, which is the original text or the tree's text without white space.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub struct Raw(Box<RawValue>);

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Rules::NONE.applied(self.0.get()).unwrap_or_default())
    }
}

/// A string that must be borrowed from the input.
#[derive(Debug)]
pub struct Borrowing(String);

impl<'de> Deserialize<'de> for Borrowing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&str>::deserialize(deserializer).map(|text| Self(text.to_owned()))
    }
}

/// A struct that borrows if possible.
#[derive(Debug)]
pub struct BorrowingStruct(String);

impl<'de> Deserialize<'de> for BorrowingStruct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Debug, serde::Deserialize)]
        struct Borrowed<'a> {
            name: &'a str,
            #[serde(borrow)]
            title: Option<Cow<'a, str>>,
            #[serde(borrow)]
            more: BTreeMap<&'a str, Cow<'a, str>>,
        }
        let borrowed = Borrowed::deserialize(deserializer)?;
        let Borrowed { name, title, more } = &borrowed;
        Ok(Self(format!("{name:?} {title:?} {more:?}")))
    }
}

/// Text as bytes.
#[derive(Debug)]
pub struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        deserializer.deserialize_bytes(Whole).map(Self)
    }
}

/// A value that is ignored.
#[derive(Debug)]
pub struct Ignored(IgnoredAny);

impl<'de> Deserialize<'de> for Ignored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(Self)
    }
}

/// Records the calls to a visitor that accepts any value.
#[derive(Debug)]
pub struct Seen(String);

impl<'de> Deserialize<'de> for Seen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look).map(Self)
    }
}

/// Records the calls to a visitor that accepts any value, after a hint that may not match the input.
#[derive(Debug)]
pub struct Hinted(String);

impl<'de> Deserialize<'de> for Hinted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_string(Look).map(Self)
    }
}

/// Records the calls to a visitor that accepts any value, for an option, a newtype and an enum.
#[derive(Debug)]
pub struct Wrapped(String);

impl<'de> Deserialize<'de> for Wrapped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(Look).map(Self)
    }
}

#[derive(Debug)]
pub struct Variants(String);

impl<'de> Deserialize<'de> for Variants {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_enum("Variants", &["a", "b"], Look)
            .map(Self)
    }
}

/// Reads the first item of a list and the first entry of an object, and leaves the rest unread.
#[derive(Debug)]
pub struct First(String);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Begin;
        impl<'de> Visitor<'de> for Begin {
            type Value = String;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list or an object")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
                let first: Option<Seen> = items.next_element()?;
                Ok(format!("{first:?}"))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<String, A::Error> {
                let first: Option<(String, Seen)> = entries.next_entry()?;
                Ok(format!("{first:?}"))
            }
        }
        deserializer.deserialize_any(Begin).map(Self)
    }
}

struct Look;

macro_rules! looks {
    ($($method:ident($type:ty))*) => {
        $(fn $method<E>(self, value: $type) -> Result<String, E> {
            Ok(format!("{} {value:?}", stringify!($method)))
        })*
    };
}

impl<'de> Visitor<'de> for Look {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    looks! { visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_i128(i128) visit_u128(u128) visit_f64(f64) visit_str(&str) }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok("unit".to_owned())
    }

    fn visit_none<E>(self) -> Result<String, E> {
        Ok("none".to_owned())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        Ok(format!("some {}", deserializer.deserialize_any(Look)?))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        Ok(format!("newtype {}", deserializer.deserialize_any(Look)?))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
        let mut seen = Vec::new();
        while let Some(Seen(item)) = items.next_element()? {
            seen.push(item);
        }
        Ok(format!("{seen:?}"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<String, A::Error> {
        let mut seen = Vec::new();
        while let Some((Seen(key), Seen(value))) = entries.next_entry()? {
            seen.push((key, value));
        }
        Ok(format!("{seen:?}"))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<String, A::Error> {
        let (Seen(name), content) = variant.variant()?;
        content.unit_variant()?;
        Ok(format!("variant {name}"))
    }
}

/// Schemas of the types: their own text, or any value.
macro_rules! schemas {
    ($($type:ident $name:literal $schema:tt)*) => {
        $(impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        })*
    };
}

schemas! {
    Raw "Raw" {}
    Borrowing "Borrowing" { "type": "string" }
    BorrowingStruct "BorrowingStruct" {
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "title": { "type": "string" },
            "more": { "type": "object", "additionalProperties": { "type": "string" } }
        },
        "required": ["name", "more"]
    }
    Bytes "Bytes" { "type": "string" }
    Ignored "Ignored" { "type": ["integer", "array", "object"], "items": { "type": "integer" } }
    Seen "Seen" {}
    Hinted "Hinted" { "type": ["number", "string", "array"] }
    Wrapped "Wrapped" { "type": ["integer", "null"] }
    Variants "Variants" { "enum": ["a", "b"] }
    First "First" { "type": ["array", "object"] }
}

probes! {
    borrowing: Borrowing;
    borrowings: Vec<Borrowing>;
    borrowing_struct: BorrowingStruct;
    text_as_bytes: Bytes;
    ignored: Ignored;
    seen: Seen;
    seen_by_name: BTreeMap<String, Seen>;
    hinted: Hinted;
    wrapped: Wrapped;
    variants: Variants;
    first: First;
}
