//! Equality of JSON texts by value: `1.50` equals `1.5`, `"\u0061"` equals `"a"`, and the order of an object's keys is
//! ignored.
//!
//! Values are interned, innermost first: equal values get the same id. The comparison is not recursive, and takes linear
//! time except for the sorting of keys. A hash of each value would be simpler, but different values can have equal hashes.

use std::collections::HashMap;

/// First copy of a JSON value. Later copies are compared with the first by value.
#[derive(Debug)]
pub(crate) struct Original {
    text: String,
    /// The interner of `text`, and the id of the value in the interner. Created when a later copy has a different spelling.
    interned: Option<(Interner, usize)>,
}

impl Original {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.trim().to_owned(),
            interned: None,
        }
    }

    /// Returns the first character.
    pub(crate) fn first(&self) -> Option<char> {
        self.text.chars().next()
    }

    /// Returns whether `copy`, a JSON text, has the same value. Texts of more than `max_len` bytes are compared byte for
    /// byte.
    pub(crate) fn equals(&mut self, copy: &str, max_len: usize) -> bool {
        let copy = copy.trim();
        if self.text == copy || self.text.len().max(copy.len()) > max_len {
            return self.text == copy;
        }
        let (interner, original) = self.interned.get_or_insert_with(|| {
            let mut interner = Interner::default();
            let original = interner.intern(&self.text);
            (interner, original)
        });
        interner.intern(copy) == *original
    }
}

/// Interned values, with their ids.
#[derive(Debug, Default)]
struct Interner(HashMap<Value, usize>);

/// A value whose parts are represented by their ids.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Value {
    /// A literal, or a number in its canonical form.
    Scalar(String),
    /// A string in UTF-16, which can represent a lone surrogate.
    Text(Vec<u16>),
    Array(Vec<usize>),
    /// Ids of keys and values, alternating, sorted by the ids of the keys. Duplicate keys keep their order.
    Object(Vec<usize>),
}

impl Interner {
    /// Interns the value of a JSON text and all its parts, and returns the id of the value.
    fn intern(&mut self, text: &str) -> usize {
        let mut open: Vec<Vec<usize>> = vec![Vec::new()];
        let mut rest = text;
        while let Some(first) = rest.bytes().next() {
            let len = match first {
                b'"' => string_len(rest),
                b'{' | b'[' | b'}' | b']' | b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => 1,
                _ => rest
                    .find([',', '}', ']', ' ', '\n', '\r', '\t'])
                    .unwrap_or(rest.len()),
            };
            let (token, after) = rest.split_at(len);
            rest = after;
            let value = match first {
                b'{' | b'[' => {
                    open.push(Vec::new());
                    continue;
                }
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => continue,
                b']' => Value::Array(open.pop().unwrap_or_default()),
                b'}' => Value::Object(sorted(&open.pop().unwrap_or_default())),
                b'"' => Value::Text(units(token.get(1..len - 1).unwrap_or_default())),
                b't' | b'f' | b'n' => Value::Scalar(token.to_owned()),
                _ => Value::Scalar(canonical_number(token)),
            };
            let next = self.0.len();
            let id = *self.0.entry(value).or_insert(next);
            if let Some(parts) = open.last_mut() {
                parts.push(id);
            }
        }
        open.into_iter().flatten().next().unwrap_or_default()
    }
}

/// Returns the length of the string at the start of `text`.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    let closes = |byte: u8| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    };
    text.bytes()
        .skip(1)
        .position(closes)
        .map_or(text.len(), |at| at + 2)
}

/// Sorts the members of an object by the ids of their keys. `members` has the ids of keys and values in turn.
fn sorted(members: &[usize]) -> Vec<usize> {
    let (members, _) = members.as_chunks::<2>();
    let mut members = members.to_vec();
    members.sort_by_key(|[key, _]| *key);
    members.into_iter().flatten().collect()
}

/// Decodes the escapes in the contents of a JSON string, and returns UTF-16 code units.
fn units(contents: &str) -> Vec<u16> {
    let mut units = Vec::new();
    let mut rest = contents;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        units.extend(plain.encode_utf16());
        let mut len = 2;
        units.push(match escape.as_bytes().get(1) {
            Some(b'b') => 0x8,
            Some(b'f') => 0xC,
            Some(b'n') => 0xA,
            Some(b'r') => 0xD,
            Some(b't') => 0x9,
            Some(b'u') => {
                len = 6;
                let unit = escape.get(2..6).map(|digits| u16::from_str_radix(digits, 16));
                unit.and_then(Result::ok).unwrap_or_default()
            }
            Some(same) => u16::from(*same),
            None => return units,
        });
        rest = escape.get(len..).unwrap_or_default();
    }
    units.extend(rest.encode_utf16());
    units
}

/// Returns the canonical form of a JSON number: its digits without surrounding zeros, and a power of ten. `1.50`
/// becomes `15e-1`.
fn canonical_number(number: &str) -> String {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let mantissa = mantissa.trim_start_matches('-');
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [integer, fraction].concat();
    let significant = digits.trim_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let shift = i64::try_from(zeros).ok().zip(i64::try_from(fraction.len()).ok());
    let power = shift.and_then(|(zeros, places)| exponent.parse::<i64>().ok()?.checked_add(zeros - places));
    power.map_or_else(
        || number.to_owned(),
        |power| format!("{sign}{significant}e{power}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_equal(one: &str, other: &str) -> bool {
        Original::new(one).equals(other, 1000)
    }

    #[test]
    fn compares_values_regardless_of_spelling() {
        for (one, other) in [
            (r#"{"a": 1, "b": [2, {}]}"#, r#"{"b":[2,{ }],"a":1}"#),
            ("[1, 100, 0, 1.5]", "[1.0, 1E+2, -0.0, 15e-1]"),
            (
                r#"["é/\n\"😀\ud800"]"#,
                r#"["\u00e9\/\u000A\u0022\uD83D\uDE00\uD800"]"#,
            ),
            ("[1e999999999999999999999]", "[ 1e999999999999999999999 ]"),
            ("[[], [[]], {}]", " [[],[[]],{}] "),
            (r#"{"a": 1, "b": 2, "a": 3}"#, r#"{"b": 2, "a": 1, "a": 3}"#),
            (r#"{"\u0061": true}"#, r#"{"a":true}"#),
        ] {
            assert!(are_equal(one, other) && are_equal(other, one), "{one} {other}");
        }
    }

    #[test]
    fn distinguishes_different_values() {
        for (one, other) in [
            (r#"{"a": 1}"#, r#"{"a": 2}"#),
            (r#"{"a": 1}"#, r#"{"a": "1"}"#),
            (r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#),
            (r#"{"a": 1}"#, r#"["a", 1]"#),
            (r#"{"a": 1, "a": 2}"#, r#"{"a": 2, "a": 1}"#),
            (r#"{"a": "b", "c": "d"}"#, r#"{"a": "d", "c": "b"}"#),
            ("[1, 2]", "[2, 1]"),
            ("[[1], 2]", "[[1, 2]]"),
            ("[[], []]", "[[[]]]"),
            ("[1]", "[-1]"),
            ("[1]", "[10]"),
            ("[0.1]", "[0.01]"),
            ("[12345678901234567890123]", "[12345678901234567890124]"),
            (r#"["\\n"]"#, r#"["\n"]"#),
            (r#"["\""]"#, r#"[""]"#),
            (r#"["\ud800"]"#, r#"["\\ud800"]"#),
            (r#"["null"]"#, "[null]"),
            ("[{}]", "[[]]"),
        ] {
            assert!(!are_equal(one, other) && !are_equal(other, one), "{one} {other}");
        }
    }

    #[test]
    fn compares_long_texts_byte_for_byte() {
        let mut original = Original::new("[1, 2]");
        assert!(original.equals(" [1, 2] ", 3));
        assert!(!original.equals("[1,2]", 3));
        assert!(original.equals("[1,2]", 6));
    }
}
