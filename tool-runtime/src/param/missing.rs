//! The value of a missing argument. A type with such a value is optional, independent of its name: an `Option`, an
//! alias, or a [`Patch`](crate::Patch).

use std::fmt;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::param::patch;

/// Returns the value of a missing argument: `Some(None)` for every kind of `Option`, `Some(Keep)` for a `Patch`, and
/// `None` for required types.
pub(crate) fn value<T: DeserializeOwned>() -> Option<T> {
    T::deserialize(MissingDeserializer).ok()
}

/// Visits `None` in `deserialize_option`, gives a `Patch` the text `MISSING`, and fails otherwise.
struct MissingDeserializer;

impl<'de> Deserializer<'de> for MissingDeserializer {
    type Error = MissingError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, MissingError> {
        Err(MissingError)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MissingError> {
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, MissingError> {
        if name == patch::NEWTYPE {
            return visitor.visit_str(patch::MISSING);
        }
        Err(MissingError)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[derive(Debug)]
struct MissingError;

impl fmt::Display for MissingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("required")
    }
}

impl std::error::Error for MissingError {}

impl Error for MissingError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use super::value;
    use crate::param::patch::Patch;

    type Maybe<T> = Option<T>;

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(transparent)]
    struct Wrapped(Option<u8>);

    #[test]
    fn only_options_and_patches_deserialize_from_a_missing_value() {
        assert_eq!(value::<Option<u8>>(), Some(None));
        assert_eq!(value::<Maybe<String>>(), Some(None));
        assert_eq!(value::<Wrapped>(), Some(Wrapped(None)));
        assert_eq!(value::<Patch<u8>>(), Some(Patch::Keep));
        assert_eq!(value::<u8>(), None);
        assert_eq!(value::<()>(), None);
        assert_eq!(value::<Vec<u8>>(), None);
        assert_eq!(value::<serde_json::Value>(), None);
    }
}
