//! Arguments of the scripts.

use std::time::Duration;

pub(super) fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

pub(super) fn decimal(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

pub(super) fn flag(is_set: bool) -> Vec<u8> {
    decimal(u64::from(is_set))
}

pub(super) fn milliseconds(time: Duration) -> Vec<u8> {
    // Redis has times of 63 bits, and the scripts multiply.
    let most = 1 << 48;
    decimal(u64::try_from(time.as_millis()).unwrap_or(most).clamp(1, most))
}
