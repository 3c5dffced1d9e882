//! Scalars that `serde_json` alone would take too easily.

use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{Error, Visitor};

use super::conform;
use super::place::{Place, inexact};

/// A visitor that would make infinity of what 32 bits cannot hold.
pub(super) struct Single<V>(pub(super) V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Single<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        #[allow(clippy::cast_possible_truncation, reason = "that is what is looked for")]
        let fits = (value as f32).is_finite();
        if fits {
            self.0.visit_f64(value)
        } else {
            Err(inexact())
        }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }
}

/// A string on its way to an enum of unit variants.
pub(super) struct Variant<'s, V> {
    pub(super) visitor: V,
    pub(super) place: Place<'s>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Variant<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        if !conform::text(self.place.form, name) {
            return Err(inexact());
        }
        VariantKey(self.visitor).visit_str(name)
    }
}

/// Hands a string to a visitor that wants a variant.
pub(super) struct VariantKey<V>(pub(super) V);

impl<'de, V: Visitor<'de>> Visitor<'de> for VariantKey<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        self.0.visit_enum(StrDeserializer::new(name))
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<V::Value, E> {
        self.0.visit_enum(BorrowedStrDeserializer::new(name))
    }
}
