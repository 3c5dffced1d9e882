//! Walks over text that is known to be valid JSON, without memory for its parts: [`items`] of a list, [`fields`] of an object.
//!
//! A parser has validated the text, so the walks look only at brackets, quotes and separators. A walk over invalid JSON ends without an
//! error.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::str::Chars;

/// Returns the items of a list; no items for other values.
pub(crate) fn items(json: &str) -> Items<'_> {
    Items {
        rest: json.trim_ascii_start().strip_prefix('[').unwrap_or_default(),
    }
}

/// Returns the items in the text of a list without its brackets.
pub(crate) fn items_of(rest: &str) -> Items<'_> {
    Items { rest }
}

/// Returns the fields of an object, including repeated ones; no fields for other values.
pub(crate) fn fields(json: &str) -> Fields<'_> {
    Fields {
        rest: json.trim_ascii_start().strip_prefix('{').unwrap_or_default(),
    }
}

/// The items of a list.
#[derive(Debug, Clone)]
pub(crate) struct Items<'a> {
    rest: &'a str,
}

/// Size of a text in bytes from which its parts are counted before a list of them is allocated. The parts of a shorter text take little
/// memory.
pub(super) const LARGE: usize = 256 << 10;

impl Items<'_> {
    /// Returns the capacity for a list of the items. The items of a large list are counted first, since a growing list takes up to three
    /// times its size.
    pub(crate) fn capacity(&self) -> usize {
        if self.rest.len() > LARGE {
            self.clone().count()
        } else {
            0
        }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest = next_part(self.rest);
        take_value(&mut self.rest)
    }
}

/// The fields of an object.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        self.rest = next_part(self.rest);
        let name = take_value(&mut self.rest)?;
        self.rest = self.rest.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
        Some(Field {
            name,
            value: take_value(&mut self.rest)?,
        })
    }
}

/// A field of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    /// The name as a JSON string, with its quotes.
    name: &'a str,
    pub(crate) value: &'a str,
}

impl<'a> Field<'a> {
    /// Creates a field from its name, a JSON string, and the text of its value.
    pub(super) fn new(name: &'a str, value: &'a str) -> Self {
        Self { name, value }
    }

    /// Reads the name that begins at an offset of an object's text. The value is not read, which would take time linear in its length.
    pub(super) fn name_at(object: &'a str, offset: usize) -> Option<Self> {
        let mut rest = object.get(offset..)?;
        Some(Self {
            name: take_value(&mut rest)?,
            value: "",
        })
    }

    /// Reads the field whose name begins at an offset of an object's text.
    pub(super) fn at(object: &'a str, offset: usize) -> Option<Self> {
        let rest = object.get(offset..)?;
        Fields { rest }.next()
    }

    /// Returns the decoded name. A name with a lone surrogate keeps its escapes.
    pub(crate) fn name(&self) -> Cow<'a, str> {
        name(self.name)
    }

    /// Compares names by their UTF-16 code units, the order of RFC 8785. A lone surrogate is a code unit.
    pub(super) fn cmp_name(&self, other: &Self) -> Ordering {
        let is_plain = |name: &str| name.is_ascii() && !name.contains('\\');
        if is_plain(self.name) && is_plain(other.name) {
            // The closing quotes are not compared.
            let written = |name: &'a str| name.get(..name.len().saturating_sub(1));
            return written(self.name).cmp(&written(other.name));
        }
        CodeUnits::new(self.name).cmp(CodeUnits::new(other.name))
    }

    /// Returns whether both fields have one name.
    pub(super) fn has_name_of(&self, other: &Self) -> bool {
        // Names without escapes are equal only if their texts are.
        self.name == other.name
            || (self.name.contains('\\') || other.name.contains('\\')) && self.cmp_name(other).is_eq()
    }

    /// Returns the name as a JSON string.
    pub(crate) fn quoted_name(&self) -> &'a str {
        self.name
    }

    /// Returns whether the field has this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        let written = self.written_name();
        let has_escapes = || written.contains('\\');
        // An escape is longer than its character, so a shorter text cannot have this name.
        match written.len().cmp(&name.len()) {
            Ordering::Less => false,
            Ordering::Equal => written == name && !has_escapes(),
            Ordering::Greater => has_escapes() && self.name() == name,
        }
    }

    /// Returns the contents of the JSON string with the name.
    fn written_name(&self) -> &'a str {
        contents(self.name)
    }
}

/// Decodes a name, a JSON string. A name with a lone surrogate keeps its escapes.
pub(crate) fn name(quoted: &str) -> Cow<'_, str> {
    let written = contents(quoted);
    if written.contains('\\')
        && let Ok(name) = serde_json::from_str(quoted)
    {
        return Cow::Owned(name);
    }
    Cow::Borrowed(written)
}

/// Returns the contents of a JSON string.
fn contents(quoted: &str) -> &str {
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()
}

/// The UTF-16 code units of a JSON string.
struct CodeUnits<'a> {
    chars: Chars<'a>,
    /// The second half of a surrogate pair.
    second: Option<u16>,
}

impl<'a> CodeUnits<'a> {
    fn new(quoted: &'a str) -> Self {
        let written = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        Self {
            chars: written.chars(),
            second: None,
        }
    }
}

impl Iterator for CodeUnits<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if let Some(second) = self.second.take() {
            return Some(second);
        }
        let char = match self.chars.next()? {
            '\\' => match self.chars.next()? {
                'u' => {
                    let digits = self.chars.by_ref().take(4);
                    let unit = digits
                        .filter_map(|digit| digit.to_digit(16))
                        .fold(0, |unit, digit| 16 * unit + digit);
                    return u16::try_from(unit).ok();
                }
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                char => char,
            },
            char => char,
        };
        let mut units = [0; 2];
        let units = char.encode_utf16(&mut units);
        self.second = units.get(1).copied();
        units.first().copied()
    }
}

/// Returns whether a text has more JSON values than `max`. Names of fields are not values.
pub(super) fn has_more_values(json: &str, max: usize) -> bool {
    // A value and its separator have at least two bytes.
    if json.len() / 2 < max {
        return false;
    }
    let text = json.as_bytes();
    // Counts each comma and each bracket that is not followed by its closing bracket, since each of them precedes a value.
    let (mut values, mut is_opened) = (1_usize, false);
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let is_first = std::mem::take(&mut is_opened);
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => is_opened = is_first,
            b']' | b'}' => {}
            b',' => values += 1,
            b'[' | b'{' => {
                values += usize::from(is_first);
                is_opened = true;
            }
            b'"' => {
                values += usize::from(is_first);
                at += string_len(text.get(at..).unwrap_or_default());
                continue;
            }
            _ => values += usize::from(is_first),
        }
        if values > max {
            return true;
        }
        at += 1;
    }
    values > max
}

/// Returns the text from the next item or name on.
fn next_part(rest: &str) -> &str {
    let is_between = |byte: u8| byte == b',' || byte.is_ascii_whitespace();
    let start = rest.bytes().position(|byte| !is_between(byte));
    rest.get(start.unwrap_or(rest.len())..).unwrap_or_default()
}

/// Splits the value from the start of the text. Returns `None` at the end of the list or the object.
fn take_value<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let (value, after) = rest.split_at_checked(value_len(rest.as_bytes()))?;
    *rest = after;
    (!value.is_empty()).then_some(value)
}

/// Returns the length of the value at the start of the text.
fn value_len(text: &[u8]) -> usize {
    match text.first() {
        Some(b'"') => string_len(text),
        Some(b'[' | b'{') => container_len(text),
        _ => {
            let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
            text.iter().position(is_end).unwrap_or(text.len())
        }
    }
}

fn container_len(text: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at += string_len(text.get(at..).unwrap_or_default());
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// Returns the length of the string at the start of the text, with its quotes.
fn string_len(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = quote_or_escape(text.get(at..).unwrap_or_default()) {
        at += found;
        if text.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

/// Returns the position of the first quote or backslash. Nearly all names and many values end within the first words, whose search takes a
/// third of the instructions of a call of `memchr2`.
fn quote_or_escape(text: &[u8]) -> Option<usize> {
    const WORDS: usize = 2;
    let (words, _) = text.as_chunks::<8>();
    let mut searched = 0;
    for word in words.iter().take(WORDS) {
        let word = u64::from_le_bytes(*word);
        let found = bytes_equal_to(word, b'"') | bytes_equal_to(word, b'\\');
        if found != 0 {
            return Some(searched + found.trailing_zeros() as usize / 8);
        }
        searched += 8;
    }
    let rest = text.get(searched..)?;
    memchr::memchr2(b'"', b'\\', rest).map(|found| searched + found)
}

/// Returns a word whose lowest set bit is in the first byte that equals `byte`; zero if no byte does.
fn bytes_equal_to(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let difference = word ^ (ONES * u64::from(byte));
    // A byte is zero if the subtraction sets its highest bit, which the byte lacks. Only bytes behind a zero byte can be wrong.
    difference.wrapping_sub(ONES) & !difference & (ONES << 7)
}

/// Decodes a JSON string, without a copy if it has no escapes. Returns `None` for another value, and for a lone surrogate.
pub(crate) fn string(json: &str) -> Option<Cow<'_, str>> {
    let plain = json.strip_prefix('"')?.strip_suffix('"')?;
    if has_escapes(plain) {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(plain))
}

/// Returns whether a string has characters that JSON requires to escape.
pub(crate) fn has_escapes(text: &str) -> bool {
    // All bytes are tested without an early exit, so that the compiler can vectorize the loop.
    let is_escape = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    text.bytes()
        .fold(0, |found, byte| found | u8::from(is_escape(byte)))
        != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_return_the_parts_that_a_parser_returns() {
        let list = r#" [ 1 ,"a]\"\\" , [[],{"]":"}"}],{} ,null , "",-1.5e3 ] "#;
        let expected: Vec<&serde_json::value::RawValue> = serde_json::from_str(list).unwrap();
        let expected: Vec<_> = expected
            .into_iter()
            .map(serde_json::value::RawValue::get)
            .collect();
        assert_eq!(items(list).collect::<Vec<_>>(), expected);
        let object = " { \"a\" : 1 , \"b\\\"\\u0061\":[2 , {\"x\":3}],\"\" :\"}\\\\\" ,\n\"a\":null } ";
        let found: Vec<_> = fields(object).map(|field| (field.name(), field.value)).collect();
        let expected = [
            ("a", "1"),
            ("b\"a", "[2 , {\"x\":3}]"),
            ("", "\"}\\\\\""),
            ("a", "null"),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.into(), value)));
        assert!(fields(object).nth(1).unwrap().is("b\"a") && fields(object).nth(2).unwrap().is(""));
        for other in ["", "1", "\"[1]\"", "{}", "[]", " [ ] "] {
            assert_eq!(items(other).count(), 0, "{other}");
        }
        for other in ["", "1", "[{\"a\":1}]", "{}", "{ }"] {
            assert_eq!(fields(other).count(), 0, "{other}");
        }
    }

    #[test]
    fn strings_of_each_length_end_at_their_quote() {
        for length in 0..40 {
            for escape in ["", r#"\""#, r"\\", r"\u0022", "\u{80}", "!", "\u{22a2}"] {
                for at in 0..=length {
                    let string = format!("\"{}{escape}{}\"", "#".repeat(at), "]".repeat(length - at));
                    let list = format!("[{string},{string}]");
                    assert_eq!(items(&list).collect::<Vec<_>>(), [&string, &string]);
                }
            }
        }
    }

    #[test]
    fn walks_over_invalid_json_end() {
        let texts = [
            "[",
            "[,",
            "[\"",
            "[\"\\",
            "[1 2",
            "[}",
            "[[[",
            "{",
            "{\"a",
            "{\"a\"",
            "{\"a\":",
            "{a:1}",
            "{]",
            "{\"a\":\"é",
        ];
        for text in texts {
            assert!(items(text).count() < 9 && fields(text).count() < 9, "{text}");
        }
    }
}
