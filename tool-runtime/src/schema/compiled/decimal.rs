//! Decimal numbers as text: exact comparison, division and truncation, without floats.

use std::borrow::Cow;
use std::cmp::Ordering;

/// Decimal value of a number's text: `± 0.d1 d2 d3 … × 10^point`, without zeros at either end of the digits.
///
/// Operations are linear in the length of the text, for any exponent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Decimal<'a> {
    negative: bool,
    digits: Cow<'a, str>,
    /// Position of the decimal point, counted from the first digit.
    point: i64,
}

/// Maximum exponent. Larger exponents are clamped, so the sum of two exponents does not overflow.
const MAX_POINT: i64 = i64::MAX / 4;

impl<'a> Decimal<'a> {
    /// Parses `[+-] digits [. digits] [e [+-] digits]`, where one part of the mantissa may be missing. JSON allows
    /// fewer texts. Returns `None` for any other text.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        Some(Self::from_parts(negative, whole, fraction, exponent))
    }

    fn from_parts(negative: bool, whole: &'a str, fraction: &'a str, exponent: i64) -> Self {
        let significant = whole.trim_start_matches('0');
        let (digits, point) = if fraction.is_empty() {
            (Cow::Borrowed(significant), length(significant))
        } else if significant.is_empty() {
            let digits = fraction.trim_start_matches('0');
            (Cow::Borrowed(digits), length(digits) - length(fraction))
        } else {
            (Cow::Owned([significant, fraction].concat()), length(significant))
        };
        let digits = match digits {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim_end_matches('0')),
            Cow::Owned(mut text) => {
                text.truncate(text.trim_end_matches('0').len());
                Cow::Owned(text)
            }
        };
        if digits.is_empty() {
            return Self::ZERO;
        }
        Self {
            negative,
            digits,
            point: point.saturating_add(exponent).clamp(-MAX_POINT, MAX_POINT),
        }
    }

    pub(crate) const ZERO: Self = Self {
        negative: false,
        digits: Cow::Borrowed(""),
        point: 0,
    };

    /// Returns whether there are no digits after the decimal point.
    pub(crate) fn is_integer(&self) -> bool {
        length(&self.digits) <= self.point
    }

    /// Removes the digits after the decimal point.
    pub(crate) fn truncated(&self) -> Decimal<'static> {
        match usize::try_from(self.point) {
            Err(_) | Ok(0) => Decimal::ZERO,
            Ok(point) => match self.digits.get(..point) {
                Some(kept) => Decimal::from_parts(self.negative, kept, "", 0).into_owned(),
                None => self.clone().into_owned(),
            },
        }
    }

    pub(crate) fn into_owned<'b>(self) -> Decimal<'b> {
        Decimal {
            negative: self.negative,
            digits: Cow::Owned(self.digits.into_owned()),
            point: self.point,
        }
    }

    /// Returns the text of an integer of at most 40 digits, which is more than any integer type has.
    pub(crate) fn integer_text(&self) -> Option<String> {
        let zeros = usize::try_from(self.point).ok()?.checked_sub(self.digits.len())?;
        if self.point > 40 {
            return None;
        }
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        let sign = if self.negative { "-" } else { "" };
        Some([sign, &self.digits, &"0".repeat(zeros)].concat())
    }

    /// Returns whether this is an integer multiple of `step`. `step` has at most 19 digits, like every number in a schema.
    pub(crate) fn is_multiple_of(&self, step: &Decimal<'_>) -> bool {
        if self.digits.is_empty() {
            return true;
        }
        let Ok(divisor) = step.digits.parse::<u64>() else {
            return step.digits.is_empty();
        };
        // Dividend and divisor are integers times a power of ten: digits × 10^(point - length).
        let shift = (self.point - length(&self.digits)) - (step.point - length(&step.digits));
        if shift < 0 {
            // The operands have no trailing zeros, so the dividend has no further factor of ten.
            return false;
        }
        let divisor = u128::from(divisor);
        let rest = self
            .digits
            .bytes()
            .fold(0, |rest, digit| (rest * 10 + u128::from(digit - b'0')) % divisor);
        (rest * power_of_ten(shift, divisor)).is_multiple_of(divisor)
    }

    fn magnitude(&self, other: &Decimal<'_>) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self
                .point
                .cmp(&other.point)
                .then_with(|| self.digits.as_bytes().cmp(other.digits.as_bytes())),
        }
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn length(digits: &str) -> i64 {
    i64::try_from(digits.len()).unwrap_or(MAX_POINT)
}

fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.trim_start_matches('0');
    let size = if size.is_empty() {
        0
    } else {
        size.parse().unwrap_or(MAX_POINT).min(MAX_POINT)
    };
    Some(if negative { -size } else { size })
}

/// Computes `10^exponent mod divisor`; the divisor is below 2^64, so products do not overflow.
fn power_of_ten(mut exponent: i64, divisor: u128) -> u128 {
    let (mut result, mut base) = (1 % divisor, 10 % divisor);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % divisor;
        }
        base = base * base % divisor;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::Decimal;

    fn decimal(text: &str) -> Decimal<'_> {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn matches_floats_where_floats_are_exact() {
        let samples = [
            "0", "-0", "1", "-1", "10", "0.5", "0.25", "-2.5", "100.125", "1e3", "25e-2", "-3e2", "0.001e3",
        ];
        for left in samples {
            for right in samples {
                let expected = left
                    .parse::<f64>()
                    .unwrap()
                    .partial_cmp(&right.parse::<f64>().unwrap())
                    .unwrap();
                assert_eq!(decimal(left).cmp(&decimal(right)), expected, "{left} {right}");
                assert_eq!(
                    decimal(left) == decimal(right),
                    expected == Ordering::Equal,
                    "{left} {right}"
                );
            }
            let number = left.parse::<f64>().unwrap();
            assert_eq!(
                decimal(left).is_integer(),
                number.fract().abs() < f64::EPSILON,
                "{left}"
            );
            let cut = decimal(left)
                .truncated()
                .integer_text()
                .unwrap()
                .parse::<f64>()
                .unwrap();
            assert_eq!(cut.partial_cmp(&number.trunc()), Some(Ordering::Equal), "{left}");
        }
    }

    #[test]
    fn computes_exact_multiples() {
        assert!(decimal("0.3").is_multiple_of(&decimal("0.1")));
        assert!(decimal("75").is_multiple_of(&decimal("25")));
        assert!(decimal("1e999999999").is_multiple_of(&decimal("2.5")));
        assert!(!decimal("1e999999999").is_multiple_of(&decimal("3")));
        assert!(!decimal("0.35").is_multiple_of(&decimal("0.1")));
        assert!(decimal("-4").is_multiple_of(&decimal("2")));
        assert!(decimal("0").is_multiple_of(&decimal("7")));
        assert!(!decimal("5").is_multiple_of(&decimal("10")));
    }

    #[test]
    fn handles_huge_exponents() {
        assert_eq!(decimal("1e999999999").integer_text(), None);
        assert_eq!(
            decimal("1e-999999999999999999999")
                .truncated()
                .integer_text()
                .unwrap(),
            "0"
        );
        assert!(decimal("1e99999999999999999999999") > decimal(&"9".repeat(400)));
        assert_eq!(
            decimal("340282366920938463463374607431768211455")
                .integer_text()
                .unwrap()
                .len(),
            39
        );
    }

    #[test]
    fn rejects_invalid_numbers() {
        for text in [
            "", "+", ".", "e5", "1e", "1e+", "0x1F", "1_000", "1,000", "NaN", "Infinity", "1.2.3", "--1",
            "1 2", "١",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
