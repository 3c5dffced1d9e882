//! Which floats `serde_json` reads exactly.
//!
//! Unless the user's build turns on its `float_roundtrip`, it is off by a bit in about one of ten long numbers. The
//! tree never is, so the fast path may only take numbers that are safe.

/// Whether a JSON number is read as the float that is closest to it, and is one that 32 bits can hold. A no may be
/// wrong. What is safe in one step is an integer of 53 bits by a power of ten that a float holds exactly.
pub(super) fn is_exact(number: &str) -> bool {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()),
        None => (number, Some(0_i64)),
    };
    let Some(exponent) = exponent else { return false };
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let behind = mantissa.find('.').map_or(0, |point| mantissa.len() - point - 1);
    let shift = exponent.saturating_sub(i64::try_from(behind).unwrap_or(i64::MAX));
    digits <= MOST_DIGITS && shift.unsigned_abs() <= MOST_ZEROS
}

/// 53 bits hold every integer of so many digits.
const MOST_DIGITS: usize = 15;

/// A float holds 10^22, and no larger power of ten. So nothing beyond 10^37 is taken, which 32 bits hold, too.
const MOST_ZEROS: u64 = 22;

#[cfg(test)]
mod tests {
    use super::is_exact;

    #[test]
    fn short_numbers_are_exact() {
        for text in [
            "0.1",
            "-0",
            "1.5",
            "2e10",
            "-123456.789012345",
            "1e22",
            "1.5E-21",
            "1e+3",
        ] {
            assert!(is_exact(text), "{text}");
        }
    }

    #[test]
    fn long_numbers_may_not_be() {
        for text in [
            "0.30000000000000004",
            "22927013312786394.24",
            "1e23",
            "1.5e-22",
            "18446744073709551616",
            "1e99999999999999999999",
        ] {
            assert!(!is_exact(text), "{text}");
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
                    if is_exact(&text) {
                        let read: f64 = serde_json::from_str(&text).unwrap();
                        assert_eq!(read.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
                        #[allow(clippy::cast_possible_truncation, reason = "that is what is tested")]
                        let single = read as f32;
                        assert!(single.is_finite(), "{text}");
                    }
                }
            }
        }
    }
}
