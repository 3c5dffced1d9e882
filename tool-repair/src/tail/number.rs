//! Reads one number, as JSON or as Python writes it, and says it in JSON.

use std::borrow::Cow;

/// A number, and how long it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Number<'t> {
    /// How many bytes of the text it takes.
    pub(super) len: usize,
    /// The number in JSON: what was read, borrowed, if that is JSON.
    pub(super) json: Cow<'t, str>,
    /// Whether `json` differs from what was read.
    pub(super) python: bool,
}

/// Why there is no number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadNumber {
    /// The text ends inside it.
    Ends,
    Refused(&'static str),
}

/// Reads the number that `text` begins with, at its sign, its first digit or its point.
///
/// What JSON can spell is kept as it is spelt. What is infinite in Python is none of the numbers it was written for:
/// only a text that is JSON without a repair may have it.
pub(super) fn read(text: &str) -> Result<Number<'_>, BadNumber> {
    let (sign, unsigned) = match text.split_at_checked(1) {
        Some((sign @ ("-" | "+"), unsigned)) => (sign, unsigned),
        _ => ("", text),
    };
    let (len, json) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => whole(unsigned, 16, sign)?,
        [b'0', b'o' | b'O', ..] => whole(unsigned, 8, sign)?,
        [b'0', b'b' | b'B', ..] => whole(unsigned, 2, sign)?,
        _ => decimal(unsigned, sign)?,
    };
    let (source, behind) = text.split_at(sign.len() + len);
    ends_before(behind)?;
    if sign == "+" && len > 6 && unsigned.bytes().take(len).all(|byte| byte.is_ascii_digit()) {
        let message = "a long number with a plus sign, which may be a telephone number without its quotes";
        return Err(if behind.is_empty() {
            BadNumber::Ends // a point may follow
        } else {
            BadNumber::Refused(message)
        });
    }
    Ok(Number {
        len: source.len(),
        python: json.is_some(),
        json: json.map_or(Cow::Borrowed(source), Cow::Owned),
    })
}

/// How long a number without its sign is, and how JSON spells the whole of it where that is another way.
type Read = Result<(usize, Option<String>), BadNumber>;

/// `0x1F`, `0o17`, `0b1`; an underscore may stand before each digit, the first one too.
fn whole(text: &str, base: u32, sign: &str) -> Read {
    let (mut len, mut value, mut underscore) = (2, 0_u128, false);
    for byte in text.bytes().skip(len) {
        match char::from(byte).to_digit(base) {
            Some(digit) => {
                value = value
                    .checked_mul(base.into())
                    .and_then(|value| value.checked_add(digit.into()))
                    .ok_or(BadNumber::Refused("an integer of more than 128 bits"))?;
                underscore = false;
            }
            None if byte == b'_' && !underscore => underscore = true,
            None => break,
        }
        len += 1;
    }
    if underscore || len == 2 {
        return Err(incomplete(
            text,
            len,
            "a number without a digit where one belongs",
        ));
    }
    // Python's integers have no negative zero.
    let sign = if sign == "-" && value > 0 { "-" } else { "" };
    Ok((len, Some(format!("{sign}{value}"))))
}

/// Everything else: `17`, `1_000`, `-0.5e+3`, `.5`, `5.`.
fn decimal(text: &str, sign: &str) -> Read {
    let bytes = text.as_bytes();
    let integer = digits(text, 0)?;
    if integer > 1 && bytes.first() == Some(&b'0') {
        return Err(BadNumber::Refused("a number with leading zeros"));
    }
    let mut len = integer;
    let mut fraction = None;
    if bytes.get(len) == Some(&b'.') {
        let end = digits(text, len + 1)?;
        if end == text.len() && end == len + 1 {
            return Err(BadNumber::Ends);
        }
        fraction = text.get(len + 1..end);
        len = end;
    }
    if integer == 0 && fraction.is_none_or(str::is_empty) {
        return Err(incomplete(text, len, "a sign or a point without a number"));
    }
    let mantissa = len;
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        let from = len + 1 + signed;
        len = digits(text, from)?;
        if len == from {
            return Err(incomplete(
                text,
                len,
                "a number with an exponent that has no digits",
            ));
        }
    }

    let source = text.get(..len).unwrap_or_default();
    let is_float = len > integer;
    let no_digits = integer == 0 || fraction.is_some_and(str::is_empty);
    if sign != "+" && !no_digits && !source.contains('_') {
        return if is_float { finite(source) } else { Ok(()) }.map(|()| (len, None));
    }
    let mut json = String::from(if sign == "-" { "-" } else { "" });
    json.push_str(or_zero(text.get(..integer)));
    if fraction.is_some() {
        json.push('.');
        json.push_str(or_zero(fraction));
    }
    json.push_str(text.get(mantissa..len).unwrap_or_default());
    json.retain(|character| character != '_');
    if is_float {
        finite(&json)?;
    }
    Ok((len, Some(json)))
}

/// Makes sure that a number with a point or an exponent is one that a float can hold.
fn finite(json: &str) -> Result<(), BadNumber> {
    if json.parse().is_ok_and(f64::is_finite) {
        Ok(())
    } else {
        Err(BadNumber::Refused("a number that is infinite in Python"))
    }
}

fn or_zero(digits: Option<&str>) -> &str {
    digits.filter(|digits| !digits.is_empty()).unwrap_or("0")
}

/// Where the digits that begin at `from` end; single underscores may stand between them.
fn digits(text: &str, from: usize) -> Result<usize, BadNumber> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at) {
            Some(b'0'..=b'9') => at += 1,
            Some(b'_') if at > from => match bytes.get(at + 1) {
                Some(b'0'..=b'9') => at += 2,
                _ => {
                    return Err(incomplete(
                        text,
                        at + 1,
                        "a number with an underscore that is not between two digits",
                    ));
                }
            },
            _ => return Ok(at),
        }
    }
}

/// A digit is missing at `at`: more may come, unless something else did.
fn incomplete(text: &str, at: usize, message: &'static str) -> BadNumber {
    if at >= text.len() {
        BadNumber::Ends
    } else {
        BadNumber::Refused(message)
    }
}

/// Makes sure that what follows a number is no part of the same word.
fn ends_before(behind: &str) -> Result<(), BadNumber> {
    match behind.chars().next() {
        Some('j' | 'J') => Err(BadNumber::Refused("a complex number, which JSON does not have")),
        Some('.') => Err(BadNumber::Refused("a number with two points")),
        Some(next) if next == '_' || next.is_alphanumeric() => Err(BadNumber::Refused(
            "a number with letters or digits directly behind it",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_can_spell_is_kept_and_borrowed() {
        let long = "9".repeat(5_000);
        for text in [
            "0", "-0", "17", "-0.0", "1e300", "1e-400", "1E+05", "0.10e-7", "0e0", &long,
        ] {
            for behind in ["", ",", " ", "]", "-1", "\"", "\u{3002}"] {
                let whole = format!("{text}{behind}");
                let number = read(&whole).unwrap();
                assert_eq!((number.len, &*number.json), (text.len(), text));
                assert!(
                    matches!(number.json, Cow::Borrowed(_)) && !number.python,
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn what_python_can_spell_becomes_json() {
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
            ("1_7976931348623157e292", "17976931348623157e292"),
        ] {
            let number = read(text).unwrap();
            assert_eq!(
                (&*number.json, number.len),
                (json, text.trim_end_matches([',', ']']).len()),
                "{text}"
            );
            assert!(number.python, "{text}");
            assert!(
                serde_json::from_str::<serde::de::IgnoredAny>(&number.json).is_ok(),
                "{text}"
            );
        }
    }

    #[test]
    fn what_ends_too_early_is_told_apart() {
        for text in [
            "-", "+", ".", "-.", "5.", "-0.", "+5.", "1_", "1.5_", "1e", "1e+", "1e+1_", "0x", "0x_", "0b1_",
        ] {
            assert_eq!(read(text), Err(BadNumber::Ends), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_of_json_is_refused() {
        for text in [
            "01",
            "00",
            "-00",
            "0_0",
            "01.5",
            "00.5",
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
            "- 1",
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
            assert!(
                matches!(read(text), Err(BadNumber::Refused(_))),
                "{text}: {:?}",
                read(text)
            );
        }
    }
}
