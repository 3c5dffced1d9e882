//! [`PositiveNumber`]: a number of the configuration.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A whole number that is at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct PositiveNumber(pub(super) u64);

impl<'de> Deserialize<'de> for PositiveNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PositiveVisitor;

        impl Visitor<'_> for PositiveVisitor {
            type Value = PositiveNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 1")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<PositiveNumber, E> {
                match number {
                    0 => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
                    number => Ok(PositiveNumber(number)),
                }
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<PositiveNumber, E> {
                match u64::try_from(number) {
                    Ok(number) => self.visit_u64(number),
                    Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }
        }

        deserializer.deserialize_u64(PositiveVisitor)
    }
}
