//! Parses numbers as JSON, JSON5 or Python write them, and writes them as JSON.

use std::borrow::Cow;

/// A number, and its length.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Number<'t> {
    /// Length in the text, in bytes.
    pub(super) len: usize,
    /// The number in JSON; borrowed if the text is already JSON.
    pub(super) json: Cow<'t, str>,
}

/// Parses the number at the start of `text`.
///
/// A float outside the range of `f64` is an error, since it is infinite in Python. Decimal integers are not limited.
/// A document that is valid JSON never reaches this parser, so such a float in it is not an error.
///
/// # Errors
///
/// Returns the reason why there is no number, or `None` if the text ends inside the number.
pub(super) fn read(text: &str) -> Result<Number<'_>, Option<&'static str>> {
    let (token, after) = text.split_at(length(text));
    let ends = after.is_empty();
    match to_json(token) {
        // `5.` is complete in Python, but the text may have been cut before more digits.
        Some(Ok(_)) if ends && token.ends_with('.') => Err(None),
        Some(Ok(json)) => {
            let json = if json == token {
                Cow::Borrowed(token)
            } else {
                Cow::Owned(json)
            };
            Ok(Number {
                len: token.len(),
                json,
            })
        }
        Some(Err(message)) => Err(Some(message)),
        // A digit would complete the number, so the text ends inside it.
        None if ends && matches!(to_json(&format!("{token}1")), Some(Ok(_))) => Err(None),
        None => Err(Some("invalid number")),
    }
}

/// Returns the length of the longest prefix that may be a number: an optional sign, then letters, digits, `_` and `.`.
/// A sign may also follow `e` or `E`.
fn length(text: &str) -> usize {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let unsigned = unsigned.trim_start_matches(' ');
    let hexadecimal = unsigned.get(1..2).is_some_and(|x| "xX".contains(x));
    let mut last = '0';
    let ends = |next: char| {
        let sign = matches!(next, '+' | '-') && !hexadecimal && matches!(last, 'e' | 'E');
        last = next;
        !sign && !next.is_alphanumeric() && !matches!(next, '_' | '.')
    };
    text.len() - unsigned.len() + unsigned.find(ends).unwrap_or(unsigned.len())
}

/// Converts a token to a JSON number; `None` if the token is not a number. A number that is too large, or probably a string, is an error.
fn to_json(token: &str) -> Option<Result<String, &'static str>> {
    let (sign, unsigned) = match token.split_at_checked(1) {
        Some((sign @ ("-" | "+"), unsigned)) => (sign, unsigned.trim_start_matches(' ')),
        _ => ("", token),
    };
    let digits = unsigned.bytes().all(|digit| digit.is_ascii_digit());
    if sign == "+" && digits && matches!(unsigned.len(), 7..=15) {
        let message = "a long number with a plus sign, which may be a telephone number without its quotes";
        return Some(Err(message));
    }
    let minus = if sign == "-" { "-" } else { "" };
    let base = match unsigned.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => return decimal(unsigned).map(|json| json.map(|json| [minus, &json].concat())),
    };
    let digits = unsigned.get(2..).unwrap_or_default();
    let digits = without_underscores(digits.strip_prefix('_').unwrap_or(digits), base)?;
    let Ok(value) = u128::from_str_radix(&digits, base) else {
        return Some(Err("an integer of more than 128 bits"));
    };
    // Python's integers have no negative zero.
    let minus = if value == 0 { "" } else { minus };
    Some(Ok(format!("{minus}{value}")))
}

/// Parses decimal numbers: `17`, `1_000`, `0.5e+3`, `.5`, `5.`.
fn decimal(text: &str) -> Option<Result<String, &'static str>> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (integer, fraction) = match mantissa.split_once('.') {
        Some((integer, fraction)) => (integer, Some(fraction)),
        None => (mantissa, None),
    };
    let or_zero = |digits: &str| match digits {
        "" => Some("0".to_owned()),
        digits => without_underscores(digits, 10),
    };
    if integer.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    let digits = or_zero(integer)?;
    let mut json = match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        significant => significant.to_owned(),
    };
    // Python accepts `00`, but in `[1,000]` the zeros may belong to the number before the comma.
    if json.len() < digits.len() && fraction.is_none() && exponent.is_none() {
        return Some(Err("an integer with leading zeros"));
    }
    if let Some(fraction) = fraction {
        json.push('.');
        json.push_str(&or_zero(fraction)?);
    }
    if let Some(exponent) = exponent {
        let digits = exponent.trim_start_matches(['+', '-']);
        json.push_str(text.get(mantissa.len()..text.len() - digits.len())?);
        json.push_str(&without_underscores(digits, 10)?);
    }
    let is_float = fraction.is_some() || exponent.is_some();
    if is_float && !json.parse().is_ok_and(f64::is_finite) {
        return Some(Err("a number that is infinite in Python"));
    }
    Some(Ok(json))
}

/// Returns the digits of a base without the underscores between them; `None` for any other character.
fn without_underscores(digits: &str, base: u32) -> Option<String> {
    let parts = digits.split('_');
    let valid = |part: &str| !part.is_empty() && part.chars().all(|digit| digit.is_digit(base));
    parts.clone().all(valid).then(|| parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrows_valid_json() {
        let long = "9".repeat(5_000);
        for text in [
            "0", "-0", "17", "-0.0", "1e300", "1e-400", "1E+05", "0.10e-7", "0e0", &long,
        ] {
            for after in ["", ",", " ", "]", "-1", "\"", "\u{3002}"] {
                let whole = format!("{text}{after}");
                let number = read(&whole).unwrap();
                assert_eq!((number.len, &*number.json), (text.len(), text));
                assert!(matches!(number.json, Cow::Borrowed(_)), "{text}");
            }
        }
    }

    #[test]
    fn converts_numbers_of_python() {
        for (text, json) in [
            ("1_000", "1000"),
            ("-1_0.2_5e+1_0", "-10.25e+10"),
            ("1_0.5E1_0", "10.5E10"),
            ("0x1F", "31"),
            ("0X_1f", "31"),
            ("-0x1", "-1"),
            ("-0x0", "0"),
            ("+0b1_0", "2"),
            ("0o17", "15"),
            ("0O0017", "15"),
            (
                "0xffffffffffffffffffffffffffffffff",
                "340282366920938463463374607431768211455",
            ),
            (".5", "0.5"),
            ("-.5e3", "-0.5e3"),
            ("+.5e-4_00", "0.5e-400"),
            ("5.,", "5.0"),
            ("5.e3", "5.0e3"),
            ("0.]", "0.0"),
            ("+1", "1"),
            ("+0", "0"),
            ("+1.5", "1.5"),
            ("01.5", "1.5"),
            ("0_0.5", "0.5"),
            ("07e1", "7e1"),
            ("- 1", "-1"),
            ("+  .5", "0.5"),
            ("1_7976931348623157e292", "17976931348623157e292"),
        ] {
            let number = read(text).unwrap();
            assert_eq!(
                (&*number.json, number.len),
                (json, text.trim_end_matches([',', ']']).len()),
                "{text}"
            );
            assert!(matches!(number.json, Cow::Owned(_)), "{text}");
            assert!(
                serde_json::from_str::<serde::de::IgnoredAny>(&number.json).is_ok(),
                "{text}"
            );
        }
    }

    #[test]
    fn distinguishes_truncated_texts() {
        for text in [
            "-", "+", ".", "-.", "5.", "-0.", "+5.", "1_", "1.5_", "1e", "1e+", "1e+1_", "0x", "0x_", "0b1_",
        ] {
            assert_eq!(read(text), Err(None), "{text}");
        }
    }

    #[test]
    fn rejects_numbers_that_json_cannot_represent() {
        for text in [
            "01",
            "00",
            "-00",
            "0_0",
            "007,",
            "1__0",
            "1_,",
            "1_.5",
            "1._5",
            "1e_5",
            "1_e5",
            "0x__1",
            "0x1_,",
            "0x,",
            "0xg",
            "0b12",
            "0o8",
            "1j",
            "1.5J",
            "5px",
            "5_px",
            "1.2.3",
            "5..",
            "..",
            ".e5",
            ".,",
            "-,",
            "--1",
            "+-1",
            "1e,",
            "1e+,",
            "1e5e5",
            "1.e,",
            "1e400",
            "-1.5E999",
            "+1e400",
            "1_0e400",
            "1.e999",
            "+1.8e308",
            "0x1.8",
            "0x1ffffffffffffffffffffffffffffffff",
            "5\u{e9}",
            "5\u{4e2a}",
            "5\u{665}",
            "-a",
        ] {
            assert!(matches!(read(text), Err(Some(_))), "{text}: {:?}", read(text));
        }
    }
}
