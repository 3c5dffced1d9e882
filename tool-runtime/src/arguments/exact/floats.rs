//! Which floats `serde_json` reads exactly.
//!
//! Unless the user's build turns on its `float_roundtrip`, it is off by a bit in about one of ten long numbers. The
//! tree never is, so the fast path may only take numbers that are safe.

/// Whether every number in a JSON text is read as the float that is closest to it. A no may be wrong.
pub(super) fn are_exact(text: &str) -> bool {
    let in_numbers = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    text.as_bytes().split(|byte| !in_numbers(byte)).all(is_exact)
}

/// Whether one step is enough for a number: an integer of 53 bits by a power of ten that a float holds exactly.
fn is_exact(number: &[u8]) -> bool {
    let has_exponent = |byte: &u8| matches!(byte, b'e' | b'E');
    let (mantissa, exponent) = match number.iter().position(has_exponent) {
        Some(end) => (number.get(..end), number.get(end + 1..)),
        None => (Some(number), None),
    };
    let mantissa = mantissa.unwrap_or_default();
    let exponent = exponent.map_or(Some(0), |digits| {
        std::str::from_utf8(digits).ok()?.parse::<i64>().ok()
    });
    let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit()).count();
    let point = mantissa.iter().position(|byte| *byte == b'.');
    let behind = point.map_or(0, |point| mantissa.len() - point - 1);
    let (Some(exponent), Ok(behind)) = (exponent, i64::try_from(behind)) else {
        // Part of a text, or too large a number for anything.
        return mantissa.is_empty();
    };
    digits <= MOST_DIGITS && exponent.saturating_sub(behind).unsigned_abs() <= MOST_ZEROS
}

/// 53 bits hold every integer of so many digits.
const MOST_DIGITS: usize = 15;

/// A float holds 10^22, and no larger power of ten.
const MOST_ZEROS: u64 = 22;

#[cfg(test)]
mod tests {
    use super::are_exact;

    #[test]
    fn short_numbers_are_exact() {
        for text in [
            "0.1",
            "-0",
            "[1.5,2e10]",
            "{\"e\":-123456.789012345}",
            "1e22",
            "1.5E-21",
            "\"e\"",
        ] {
            assert!(are_exact(text), "{text}");
        }
    }

    #[test]
    fn long_numbers_may_not_be() {
        for text in [
            "0.30000000000000004",
            "[1,22927013312786394.24]",
            "1e23",
            "1.5e-22",
            "18446744073709551616",
            "1e99999999999999999999",
        ] {
            assert!(!are_exact(text), "{text}");
        }
    }

    #[test]
    fn what_is_exact_is_read_alike() {
        for digits in [
            "1",
            "9",
            "123",
            "999999999999999",
            "100000000000001",
            "314159265358979",
        ] {
            for point in 0..=digits.len() {
                for exponent in -40..40 {
                    let (whole, fraction) = digits.split_at(point);
                    let text = format!("0{whole}.{fraction}0e{exponent}");
                    let text = text.trim_start_matches('0');
                    let text = if text.starts_with('.') {
                        format!("0{text}")
                    } else {
                        text.to_owned()
                    };
                    if are_exact(&text) {
                        let read: f64 = serde_json::from_str(&text).unwrap();
                        assert_eq!(read.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
                    }
                }
            }
        }
    }
}
