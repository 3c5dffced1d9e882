//! Scalar rows of the table in `coercion.md`: a function for each expected type, an arm for each row.

use crate::arguments::input::tree::node::{Node, Number};
use crate::arguments::policy::Policy;
use crate::schema::compiled::bounds::Width;
use crate::schema::compiled::decimal::Decimal;
use crate::wire::issue::Code;

/// Leniency of a coercion: the policies, and modes for comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    Lenient,
    Lossless,
    Strict,
    /// The rules of JSON Schema, for values that must conform unchanged.
    Schema,
    /// Only values that need no warning, for distinguishing alternatives.
    Exact,
}

impl Mode {
    /// Returns whether values of other types are coerced.
    pub(crate) fn coerces(self) -> bool {
        matches!(self, Self::Lenient | Self::Lossless)
    }
}

impl From<Policy> for Mode {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Lenient => Self::Lenient,
            Policy::Lossless => Self::Lossless,
            Policy::Strict => Self::Strict,
        }
    }
}

/// Outcome of a row for a value.
#[derive(Debug, PartialEq)]
pub(crate) enum Coercion<'a> {
    AsSent,
    /// The value in a spelling that every reader accepts.
    Rewritten(Node<'a>),
    Changed(Node<'a>, Code),
    Refused(Code),
}

/// Returns whether a change loses information, so that `Lossless` rejects it.
pub(crate) fn loses(sent: &Node<'_>, code: Code) -> bool {
    match sent {
        Node::Number(number) => {
            code == Code::FractionalNumberTruncatedToInteger
                || (code == Code::NumberCoercedToString && number.approximate)
        }
        _ => false,
    }
}

/// Coerces a value to an integer.
pub(crate) fn integer<'a>(sent: &Node<'a>, width: Option<Width>, mode: Mode) -> Coercion<'a> {
    match sent {
        Node::Number(number) => number_as_integer(number, width, mode),
        Node::Text(text) if mode.coerces() => match Decimal::parse(text.trim()) {
            Some(value) if value.is_integer() => {
                coerced_integer(&value, width, Code::StringLiteralConvertedToInteger)
            }
            _ => Coercion::Refused(Code::UnsupportedIntegerLiteral),
        },
        _ => Coercion::Refused(Code::UnsupportedIntegerLiteral),
    }
}

fn number_as_integer<'a>(number: &Number<'a>, width: Option<Width>, mode: Mode) -> Coercion<'a> {
    if number.is_plain_integer() && number.text.len() < 19 && width.is_none() && number.text != "-0" {
        return Coercion::AsSent;
    }
    let Some(value) = Decimal::parse(&number.text) else {
        return Coercion::Refused(Code::UnsupportedIntegerLiteral);
    };
    if number.is_plain_integer() {
        return match coerced_integer(&value, width, Code::NumberCoercedToInteger) {
            Coercion::Changed(node, _) if number.text == "-0" => Coercion::Rewritten(node),
            Coercion::Changed(..) => Coercion::AsSent,
            refused => refused,
        };
    }
    match (mode, value.is_integer()) {
        (Mode::Strict | Mode::Schema, true) => {
            match coerced_integer(&value, width, Code::NumberCoercedToInteger) {
                // An integer that a float could not hold is kept as an integer.
                Coercion::Changed(node, _) if number.text.len() > 15 => Coercion::Rewritten(node),
                Coercion::Changed(..) => Coercion::AsSent,
                refused => refused,
            }
        }
        (Mode::Lenient | Mode::Lossless, true) => {
            coerced_integer(&value, width, Code::NumberCoercedToInteger)
        }
        (Mode::Lenient, false) => coerced_integer(
            &value.truncated(),
            width,
            Code::FractionalNumberTruncatedToInteger,
        ),
        (Mode::Lossless | Mode::Strict | Mode::Schema, false) | (Mode::Exact, _) => {
            Coercion::Refused(Code::UnsupportedIntegerLiteral)
        }
    }
}

/// Returns the coerced integer, if the type can hold it.
fn coerced_integer<'a>(value: &Decimal<'_>, width: Option<Width>, code: Code) -> Coercion<'a> {
    let width = width.unwrap_or(SIXTY_FOUR_BITS);
    let fits = |text: &String| {
        if let Ok(value) = text.parse() {
            return width.contains(value);
        }
        let [least, most] = [width.min_text, width.max_text].map(Decimal::parse);
        least.is_some_and(|least| *value >= least) && most.is_some_and(|most| *value <= most)
    };
    match value.integer_text().filter(fits) {
        Some(text) => Coercion::Changed(Node::number(text), code),
        None => Coercion::Refused(Code::IntegerOutOfRange),
    }
}

/// Range of an integer of unknown type: 64 bits, of either sign.
pub(crate) const SIXTY_FOUR_BITS: Width = Width {
    min_text: "-9223372036854775808",
    max_text: "18446744073709551615",
    range: (i64::MIN as i128, u64::MAX as i128),
};

/// Coerces a value to a number.
pub(crate) fn number<'a>(sent: &Node<'a>, mode: Mode) -> Coercion<'a> {
    match sent {
        Node::Number(number) if number.is_finite() => Coercion::AsSent,
        Node::Text(text) if mode.coerces() => match number_text(text.trim()).map(Node::number) {
            Some(Node::Number(number)) if number.is_finite() => {
                Coercion::Changed(Node::Number(number), Code::StringLiteralConvertedToNumber)
            }
            _ => Coercion::Refused(Code::UnsupportedNumberLiteral),
        },
        _ => Coercion::Refused(Code::UnsupportedNumberLiteral),
    }
}

/// Rewrites a number in JSON syntax: no `+`, no leading zeros, digits on both sides of the point.
fn number_text(text: &str) -> Option<String> {
    Decimal::parse(text)?;
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let end = unsigned.find(['e', 'E']).unwrap_or(unsigned.len());
    let (mantissa, exponent) = unsigned.split_at_checked(end)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    Some([sign, whole, point, fraction, exponent].concat())
}

/// Coerces a value to a boolean.
pub(crate) fn boolean<'a>(sent: &Node<'a>, mode: Mode) -> Coercion<'a> {
    let read = match sent {
        Node::Bool(_) => return Coercion::AsSent,
        Node::Text(text) if mode.coerces() => match text.trim() {
            text if text.eq_ignore_ascii_case("true") => Some((true, Code::StringLiteralConvertedToBoolean)),
            text if text.eq_ignore_ascii_case("false") => {
                Some((false, Code::StringLiteralConvertedToBoolean))
            }
            _ => None,
        },
        Node::Number(number) if mode.coerces() => match &*number.text {
            "0" => Some((false, Code::NumberCoercedToBoolean)),
            "1" => Some((true, Code::NumberCoercedToBoolean)),
            _ => None,
        },
        _ => None,
    };
    match read {
        Some((is, code)) => Coercion::Changed(Node::Bool(is), code),
        None => Coercion::Refused(Code::UnsupportedBooleanLiteral),
    }
}

/// Coerces a value to a string.
pub(crate) fn string<'a>(sent: &Node<'a>, mode: Mode) -> Coercion<'a> {
    match sent {
        Node::Text(_) => Coercion::AsSent,
        Node::Number(number) if mode == Mode::Lenient || (mode == Mode::Lossless && !number.approximate) => {
            Coercion::Changed(Node::Text(number.text.clone()), Code::NumberCoercedToString)
        }
        Node::Bool(is) if mode.coerces() => Coercion::Changed(
            Node::Text(if *is { "true" } else { "false" }.into()),
            Code::BooleanCoercedToString,
        ),
        _ => Coercion::Refused(Code::UnsupportedStringLiteral),
    }
}

/// Returns whether a text is a null word: a word that models write in place of a missing value.
pub(crate) fn is_null_word(text: &str) -> bool {
    // Most texts begin with another letter.
    if text.starts_with(|first: char| first.is_ascii_graphic() && !matches!(first, 'n' | 'N' | 'u' | 'U')) {
        return false;
    }
    let text = text.trim();
    text.is_empty()
        || ["null", "none", "undefined", "nil"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::input::tree::json::parse;

    const MODES: [Mode; 3] = [Mode::Lenient, Mode::Lossless, Mode::Strict];

    type Row = fn(&Node<'static>, Mode) -> Coercion<'static>;

    /// Returns the results of a row for JSON text under the three policies: the new text or the code, and the code of
    /// a change.
    fn under(row: Row, sent: &'static str) -> [String; 3] {
        let sent = parse(sent, 4).unwrap();
        MODES.map(|mode| match row(&sent, mode) {
            Coercion::AsSent => "as sent".to_owned(),
            Coercion::Rewritten(node) => node.preview(),
            Coercion::Changed(node, code) => format!("{} {code}", node.preview()),
            Coercion::Refused(code) => code.to_string(),
        })
    }

    fn whole(sent: &Node<'static>, mode: Mode) -> Coercion<'static> {
        integer(sent, None, mode)
    }

    fn refused(row: Row, code: Code, sent: &[&'static str]) {
        for sent in sent {
            assert_eq!(under(row, sent), [code.as_str(); 3], "{sent}");
        }
    }

    #[test]
    fn integers_from_strings() {
        for (sent, value) in [
            ("\"42\"", "42"),
            ("\" 42 \"", "42"),
            ("\"+5\"", "5"),
            ("\"-0\"", "0"),
            ("\"42.0\"", "42"),
            ("\"1e3\"", "1000"),
            ("\"007\"", "7"),
        ] {
            let read = format!("{value} string_literal_converted_to_integer");
            assert_eq!(
                under(whole, sent),
                [read.as_str(), &read, "unsupported_integer_literal"],
                "{sent}"
            );
        }
    }

    #[test]
    fn integers_from_numbers() {
        for (sent, value) in [("3.0", "3"), ("1e3", "1000"), ("-2.50e1", "-25")] {
            let read = format!("{value} number_coerced_to_integer");
            assert_eq!(under(whole, sent), [read.as_str(), &read, "as sent"], "{sent}");
        }
        for (sent, value) in [
            ("3.14", "3"),
            ("-3.99", "-3"),
            ("-0.5", "0"),
            ("1e-999999999", "0"),
        ] {
            let cut = format!("{value} fractional_number_truncated_to_integer");
            assert_eq!(
                under(whole, sent),
                [
                    cut.as_str(),
                    "unsupported_integer_literal",
                    "unsupported_integer_literal"
                ],
                "{sent}"
            );
        }
        assert_eq!(under(whole, "9007199254740993"), ["as sent"; 3]);
        assert_eq!(under(whole, "-0"), ["0"; 3]);
    }

    #[test]
    fn rejects_other_values_as_integers() {
        let refusals = [
            "\"3.14\"",
            "\"many\"",
            "\"1_000\"",
            "\"0x1F\"",
            "\"1,000\"",
            "true",
            "\"\"",
            "{}",
            "[]",
        ];
        refused(whole, Code::UnsupportedIntegerLiteral, &refusals);
        let beyond = ["18446744073709551616", "-9223372036854775809", "1e999999999"];
        refused(whole, Code::IntegerOutOfRange, &beyond);
        assert_eq!(under(whole, "\"1e999999999\"")[..2], ["integer_out_of_range"; 2]);
        let byte = |sent: &'static str| {
            integer(
                &parse(sent, 1).unwrap(),
                Width {
                    min_text: "0",
                    max_text: "255",
                    range: (0, 255),
                }
                .into(),
                Mode::Lenient,
            )
        };
        assert_eq!(byte("255"), Coercion::AsSent);
        assert_eq!(byte("256"), Coercion::Refused(Code::IntegerOutOfRange));
        assert_eq!(byte("\"-1\""), Coercion::Refused(Code::IntegerOutOfRange));
    }

    #[test]
    fn numbers() {
        for (sent, value) in [
            ("\"2.5\"", "2.5"),
            ("\"+2\"", "2"),
            ("\".5\"", "0.5"),
            ("\"5.\"", "5"),
            ("\"-007.50E+1\"", "-7.50E+1"),
        ] {
            let read = format!("{value} string_literal_converted_to_number");
            assert_eq!(
                under(number, sent),
                [read.as_str(), &read, "unsupported_number_literal"],
                "{sent}"
            );
        }
        refused(
            number,
            Code::UnsupportedNumberLiteral,
            &[
                "1e400",
                "\"1e400\"",
                "\"NaN\"",
                "\"Infinity\"",
                "\"inf\"",
                "true",
                "{}",
            ],
        );
        assert_eq!(under(number, "1.50"), ["as sent"; 3]);
    }

    #[test]
    fn booleans() {
        for (sent, value) in [("\"true\"", "true"), ("\" False \"", "false")] {
            let read = format!("{value} string_literal_converted_to_boolean");
            assert_eq!(
                under(boolean, sent),
                [read.as_str(), &read, "unsupported_boolean_literal"],
                "{sent}"
            );
        }
        for (sent, value) in [("0", "false"), ("1", "true")] {
            let read = format!("{value} number_coerced_to_boolean");
            assert_eq!(
                under(boolean, sent),
                [read.as_str(), &read, "unsupported_boolean_literal"],
                "{sent}"
            );
        }
        refused(
            boolean,
            Code::UnsupportedBooleanLiteral,
            &["\"yes\"", "\"1\"", "2", "1.0", "[]"],
        );
    }

    #[test]
    fn strings() {
        for sent in ["42", "1.50", "9007199254740993"] {
            let read = format!("\"{sent}\" number_coerced_to_string");
            assert_eq!(
                under(string, sent),
                [read.as_str(), &read, "unsupported_string_literal"],
                "{sent}"
            );
        }
        let read = "\"true\" boolean_coerced_to_string";
        assert_eq!(under(string, "true"), [read, read, "unsupported_string_literal"]);
        refused(string, Code::UnsupportedStringLiteral, &["{}", "[1]"]);
        let lost = serde_json::json!(1e300);
        assert!(matches!(
            string(&Node::from_value(&lost), Mode::Lossless),
            Coercion::Refused(_)
        ));
        assert!(matches!(
            string(&Node::from_value(&lost), Mode::Lenient),
            Coercion::Changed(..)
        ));
    }
}
