//! [`KeyTracer`]: traces the keys of maps.

use std::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{IntoDeserializer, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::enums::{KeyType, Names};
use super::findings::Findings;
use super::trace_error::TraceError;

/// Deserializer of an entry's key: the name of a field, or any key that a map accepts.
pub(super) struct KeyTracer<'a> {
    pub(super) name: &'a str,
    /// Location of the map's schema.
    pub(super) map: Option<&'a str>,
    pub(super) findings: &'a RefCell<Findings>,
}

impl KeyTracer<'_> {
    fn record(&self, key_type: KeyType) {
        if let Some(pointer) = self.map {
            let mut findings = self.findings.borrow_mut();
            findings.enums.maps.push((pointer.to_owned(), key_type));
        }
    }
}

/// Visits a fixed key, so that the values are traced.
macro_rules! fixed_keys {
    ($visit:ident $value:literal $($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
            visitor.$visit($value)
        })*
    };
}

impl<'de> Deserializer<'de> for KeyTracer<'_> {
    type Error = TraceError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        visitor.visit_str(self.name)
    }

    fixed_keys! {
        visit_u64 1 deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fixed_keys! { visit_f64 1.0 deserialize_f32 deserialize_f64 }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.record(KeyType::Boolean);
        visitor.visit_bool(true)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.record(KeyType::Character);
        visitor.visit_char('a')
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.findings.borrow_mut().enums.add_keys(variants);
        let first: StrDeserializer<'_, TraceError> = variants
            .first()
            .ok_or_else(TraceError::default)?
            .into_deserializer();
        visitor.visit_enum(first)
    }

    forward_to_deserialize_any! {
        str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
