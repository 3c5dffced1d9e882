//! Numbers of the configuration, in the units of their keys.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

/// Inclusive range of an integer setting.
struct IntegerRange(RangeInclusive<u64>);

impl Visitor<'_> for IntegerRange {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.0.end() {
            u64::MAX => write!(f, "an integer of at least {}", self.0.start()),
            end => write!(f, "an integer from {} to {end}", self.0.start()),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        if self.0.contains(&number) {
            return Ok(number);
        }
        Err(E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

/// Reads seconds, at least one.
pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    deserializer
        .deserialize_u64(IntegerRange(1..=u64::MAX))
        .map(Duration::from_secs)
}

/// Reads seconds, at least zero.
pub(super) fn seconds_from_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    deserializer
        .deserialize_u64(IntegerRange(0..=u64::MAX))
        .map(Duration::from_secs)
}

/// Reads hours, at least one.
pub(super) fn hours<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let hours = deserializer.deserialize_u64(IntegerRange(1..=u64::MAX))?;
    Ok(Duration::from_secs(hours.saturating_mul(3600)))
}

/// Reads a number of MiB, and returns bytes.
pub(super) fn mebibytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let mebibytes = deserializer.deserialize_u64(IntegerRange(1..=u64::MAX))?;
    Ok(saturated(mebibytes.saturating_mul(1 << 20)))
}

/// Reads a number of MiB, and returns bytes.
pub(super) fn mebibytes_u64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let mebibytes = deserializer.deserialize_u64(IntegerRange(1..=u64::MAX))?;
    Ok(mebibytes.saturating_mul(1 << 20))
}

/// Reads an optional number of MiB, and returns bytes.
pub(super) fn some_mebibytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    mebibytes_u64(deserializer).map(Some)
}

/// Reads a count, at least one.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    deserializer
        .deserialize_u64(IntegerRange(1..=u64::MAX))
        .map(saturated)
}

/// Reads a count, at least one.
pub(super) fn count_u64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_u64(IntegerRange(1..=u64::MAX))
}

/// Reads a count, at least zero.
pub(super) fn count_from_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    deserializer
        .deserialize_u64(IntegerRange(0..=u64::MAX))
        .map(saturated)
}

/// Reads an optional limit, at least one.
pub(super) fn some_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    count(deserializer).map(Some)
}

/// Reads an optional limit, at least one.
pub(super) fn some_count_u64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    count_u64(deserializer).map(Some)
}

/// Reads an optional limit of 32 bits, at least one.
pub(super) fn some_count_u32<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let count = deserializer.deserialize_u64(IntegerRange(1..=u64::from(u32::MAX)))?;
    Ok(u32::try_from(count).ok())
}

/// Reads a count of 32 bits, at least zero.
pub(super) fn count_u32_from_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let count = deserializer.deserialize_u64(IntegerRange(0..=u64::from(u32::MAX)))?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
