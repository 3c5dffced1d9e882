//! Values as text: JSON in the styles of models and libraries, and Python's `repr`.

use std::fmt::Write as _;

use super::exact_json::JsonValue;
use super::random::Random;

/// Style of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `{"a":1}`
    Compact,
    /// `{"a": 1}`, like Python's `json.dumps`.
    Spaced,
    /// On several lines.
    Pretty,
    /// With white space wherever JSON allows it.
    Odd,
}

impl Style {
    pub const ALL: [Self; 4] = [Self::Compact, Self::Spaced, Self::Pretty, Self::Odd];
}

/// Writes the value as JSON, with random white space in the style `Odd`, and some unnecessary escapes.
pub fn json(tree: &JsonValue, style: Style, random: &mut Random) -> String {
    let mut writer = Writer {
        text: String::new(),
        style,
        ascii: random.one_in(6),
        random,
    };
    writer.value(tree, 0);
    writer.text
}

struct Writer<'a> {
    text: String,
    style: Style,
    ascii: bool,
    random: &'a mut Random,
}

impl Writer<'_> {
    /// Writes white space after or before a bracket, or after a comma that is followed by `depth` levels.
    fn line(&mut self, depth: usize) {
        if self.style == Style::Pretty {
            self.text.push('\n');
            self.text.push_str(&"  ".repeat(depth));
        }
        self.odd();
    }

    fn odd(&mut self) {
        if self.style == Style::Odd {
            let spaces: [&str; 7] = ["", "", "", " ", "  ", "\n", "\r\n\t"];
            let space: &str = self.random.pick::<&str>(&spaces);
            self.text.push_str(space);
        }
    }

    fn comma(&mut self, depth: usize) {
        self.odd();
        self.text.push(',');
        if self.style == Style::Spaced {
            self.text.push(' ');
        }
        self.line(depth);
    }

    fn value(&mut self, tree: &JsonValue, depth: usize) {
        match tree {
            JsonValue::Null => self.text.push_str("null"),
            JsonValue::Bool(true) => self.text.push_str("true"),
            JsonValue::Bool(false) => self.text.push_str("false"),
            JsonValue::Number(number) => self.text.push_str(number),
            JsonValue::String(units) => self.string(units),
            JsonValue::Array(items) if items.is_empty() => self.text.push_str("[]"),
            JsonValue::Object(entries) if entries.is_empty() => self.text.push_str("{}"),
            JsonValue::Array(items) => {
                self.text.push('[');
                self.line(depth + 1);
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        self.comma(depth + 1);
                    }
                    self.value(item, depth + 1);
                }
                self.line(depth);
                self.text.push(']');
            }
            JsonValue::Object(entries) => {
                self.text.push('{');
                self.line(depth + 1);
                for (place, (key, value)) in entries.iter().enumerate() {
                    if place > 0 {
                        self.comma(depth + 1);
                    }
                    self.string(key);
                    self.odd();
                    self.text.push(':');
                    if matches!(self.style, Style::Spaced | Style::Pretty) {
                        self.text.push(' ');
                    }
                    self.odd();
                    self.value(value, depth + 1);
                }
                self.line(depth);
                self.text.push('}');
            }
        }
    }

    fn string(&mut self, units: &[u16]) {
        self.text.push('"');
        for character in char::decode_utf16(units.iter().copied()) {
            match character {
                Ok('"') => self.text.push_str("\\\""),
                Ok('\\') => self.text.push_str("\\\\"),
                Ok('\n') => self.text.push_str("\\n"),
                Ok('\r') => self.text.push_str("\\r"),
                Ok('\t') => self.text.push_str("\\t"),
                Ok(plain @ ' '..='~') => self.text.push(plain),
                Ok(other) if other >= '\u{80}' && !self.ascii => self.text.push(other),
                Ok(other) => other
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .for_each(|unit| self.unit(*unit)),
                Err(half) => self.unit(half.unpaired_surrogate()),
            }
        }
        self.text.push('"');
    }

    fn unit(&mut self, unit: u16) {
        let _ = write!(self.text, "\\u{unit:04x}");
    }
}

/// Selects the quote of a string like Python.
type Quoting = fn(&[u16]) -> char;

/// Writes the value like `repr` of Python 3; with `tuples`, every second array is a tuple.
///
/// Numbers keep their text, since the generator returns only numbers that `repr` writes like JSON.
pub fn repr(tree: &JsonValue, tuples: bool) -> String {
    let mut text = String::new();
    write_repr(tree, tuples, false, quote_of_repr, &mut text);
    text
}

/// Writes the value like [`repr`], with every string in `'`.
pub fn repr_in_single_quotes(tree: &JsonValue) -> String {
    let mut text = String::new();
    write_repr(tree, false, false, |_| '\'', &mut text);
    text
}

fn write_repr(tree: &JsonValue, tuples: bool, tuple: bool, quoting: Quoting, text: &mut String) {
    match tree {
        JsonValue::Null => text.push_str("None"),
        JsonValue::Bool(true) => text.push_str("True"),
        JsonValue::Bool(false) => text.push_str("False"),
        JsonValue::Number(number) => text.push_str(number),
        JsonValue::String(units) => quoted(units, quoting(units), text),
        JsonValue::Array(items) => {
            text.push(if tuple { '(' } else { '[' });
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push_str(", ");
                }
                write_repr(item, tuples, tuples && !tuple, quoting, text);
            }
            if tuple && items.len() == 1 {
                text.push(',');
            }
            text.push(if tuple { ')' } else { ']' });
        }
        JsonValue::Object(entries) => {
            text.push('{');
            for (place, (key, value)) in entries.iter().enumerate() {
                if place > 0 {
                    text.push_str(", ");
                }
                quoted(key, quoting(key), text);
                text.push_str(": ");
                write_repr(value, tuples, tuples, quoting, text);
            }
            text.push('}');
        }
    }
}

/// Selects `"` only if that avoids escapes.
fn quote_of_repr(units: &[u16]) -> char {
    let has = |quote: char| units.contains(&(quote as u16));
    if has('\'') && !has('"') { '"' } else { '\'' }
}

/// Writes a Python string in these quotes.
fn quoted(units: &[u16], quote: char, text: &mut String) {
    text.push(quote);
    for character in char::decode_utf16(units.iter().copied()) {
        let point = match character {
            Ok('\\') => {
                text.push_str("\\\\");
                continue;
            }
            Ok('\n') => {
                text.push_str("\\n");
                continue;
            }
            Ok('\r') => {
                text.push_str("\\r");
                continue;
            }
            Ok('\t') => {
                text.push_str("\\t");
                continue;
            }
            Ok(same) if same == quote => {
                text.push('\\');
                text.push(quote);
                continue;
            }
            Ok(plain) if is_printable(plain) => {
                text.push(plain);
                continue;
            }
            Ok(other) => u32::from(other),
            Err(half) => u32::from(half.unpaired_surrogate()),
        };
        let _ = match point {
            0..=0xFF => write!(text, "\\x{point:02x}"),
            0x100..=0xFFFF => write!(text, "\\u{point:04x}"),
            _ => write!(text, "\\U{point:08x}"),
        };
    }
    text.push(quote);
}

/// Returns whether Python's `str.isprintable` accepts a generated character: no control, format, private or unassigned characters, and no
/// space except U+0020.
fn is_printable(character: char) -> bool {
    !matches!(
        character,
        '\0'..='\x1F'
            | '\x7F'..='\u{A0}'
            | '\u{AD}'
            | '\u{2000}'..='\u{200F}'
            | '\u{2028}'..='\u{202F}'
            | '\u{205F}'..='\u{206F}'
            | '\u{3000}'
            | '\u{E000}'..='\u{F8FF}'
            | '\u{FEFF}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}'
            | '\u{F0000}'..
    )
}

#[test]
fn repr_is_that_of_python() {
    for (text, repr_of_it) in [
        ("it's", r#""it's""#),
        (r#"a "b" c"#, r#"'a "b" c'"#),
        (r#"it's "b""#, r#"'it\'s "b"'"#),
        (
            "a\\b\n\r\t\x07\x7f\u{a0}é\u{200b}日😀",
            r"'a\\b\n\r\t\x07\x7f\xa0é\u200b日😀'",
        ),
    ] {
        assert_eq!(repr(&JsonValue::string(text), false), repr_of_it);
    }
    let tree = JsonValue::Array(vec![
        JsonValue::Array(vec![JsonValue::Null]),
        JsonValue::Array(Vec::new()),
    ]);
    assert_eq!(repr(&tree, true), "[(None,), ()]");
    assert_eq!(repr(&JsonValue::String(vec![0xD800]), false), r"'\ud800'");
}
