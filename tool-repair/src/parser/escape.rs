//! Parses escapes, and writes them as JSON.
//!
//! In `"…"` escapes have their meaning in JSON. In `'…'` escapes have the meaning that Python and JSON5 share, and the
//! additional escapes of Python if the text is Python.

use super::evidence::Level;
use super::failure::Failure;
use super::state::Parser;
use crate::fixes::FixCode;

/// Iterates over the escapes of a string with these contents: the character after each backslash, and the text after
/// that character.
pub(super) fn escapes(contents: &str) -> impl Iterator<Item = (char, &str)> {
    let mut rest = contents;
    std::iter::from_fn(move || {
        let (_, escape) = rest.split_once('\\')?;
        let mut after = escape.chars();
        let escaped = after.next()?;
        rest = after.as_str();
        Some((escaped, rest))
    })
}

/// Writes a character with the escape that JSON requires, if any.
pub(super) fn push(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\0'..='\u{1f}' => push_unicode(out, u32::from(character)),
        _ => out.push(character),
    }
}

/// Writes a `\u` escape without `write!`, which is slow for a text that consists of escapes.
fn push_unicode(out: &mut String, value: u32) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        let digit = char::from_digit(value >> shift & 0xF, 16);
        out.push(digit.unwrap_or('0'));
    }
}

impl Parser<'_> {
    /// Parses an escape.
    pub(super) fn parse_escape(&mut self) -> Result<(), Failure> {
        let at = self.at;
        let python = self.string.form.is_python();
        let Some(escaped) = self.byte_at(at + 1) else {
            return Err(self.ends_in_string(self.string.began));
        };
        self.string.has_escapes = true;
        match escaped {
            b'\'' => {
                if !python {
                    self.fix_with_message(FixCode::PythonEscape, at, "`\\'` became `'`");
                }
                self.replace(2, "'");
            }
            b'/' if python => {
                return Err(self.refuse(at, "`\\/`, which is `/` in JSON5, but two characters in Python"));
            }
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.copy(2),
            b'x' => self.hexadecimal(2)?,
            b'u' => self.hexadecimal(4)?,
            b'U' => self.hexadecimal(8)?,
            b'a' | b'v' if python => {
                self.require_evidence(Level::TripleQuotes);
                self.write_escaped(2, if escaped == b'a' { 0x7 } else { 0xb })?;
            }
            b'0'..=b'7' => self.octal()?,
            b'N' if self.byte_at(at + 2) == Some(b'{') => {
                return Err(self.refuse(at, "`\\N{…}`, the name of a character, which is not known here"));
            }
            b'\n' | b'\r' => self.line_continuation(),
            b'_' if self.string.key && !python => {
                // Models escape an underscore as in Markdown. A backslash in a name is never literal.
                self.fix_with_message(FixCode::UnknownEscape, at, "`\\_` in a key became `_`");
                self.replace(2, "_");
            }
            _ => self.unknown_escape()?,
        }
        Ok(())
    }

    /// Records that the escape at this position is valid only with evidence of this level.
    fn require_evidence(&mut self, level: Level) {
        let message = match level {
            Level::NotJson => "an escape that JSON lacks, in a text that may be JSON",
            _ => "an escape that Python alone has, in a text that has nothing else of Python",
        };
        self.evidence.require(level, self.at, message);
    }

    /// Parses `\x41`, `\u4e2d` or `\U0001f600`, with `wanted` digits.
    fn hexadecimal(&mut self, wanted: usize) -> Result<(), Failure> {
        let (at, python) = (self.at, self.string.form.is_python());
        let after = self.from(at + 2);
        let digits = after.bytes().take(wanted).take_while(u8::is_ascii_hexdigit);
        let found = digits.count();
        if found < wanted && found == after.len() {
            return Err(self.ends_in_string(self.string.began));
        }
        if found == 0 && !python {
            return self.unknown_escape();
        }
        self.refuse_if(found < wanted, at, "an escape without its hexadecimal digits")?;
        let value = after.get(..wanted).map(|digits| u32::from_str_radix(digits, 16));
        let value = value.and_then(Result::ok).unwrap_or_default();
        if wanted == 4 {
            self.refuse_split_pair(value)?;
            self.copy(6);
            return Ok(());
        }
        if !python {
            self.require_evidence(Level::NotJson);
        }
        self.write_escaped(2 + wanted, value)
    }

    /// Parses an octal escape: `\0`, `\033`. In `"…"`, it may be a back reference in a pattern: `(a)\1`.
    fn octal(&mut self) -> Result<(), Failure> {
        let after = self.from(self.at + 1);
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'7');
        let digits = after.bytes().take(3).take_while(is_digit).count();
        let (digits, after) = after.split_at(digits);
        if after.is_empty() {
            return Err(self.ends_in_string(self.string.began));
        }
        if !self.string.form.is_python() {
            let group = digits != "0" || after.starts_with(|next: char| next.is_ascii_digit());
            let level = if group {
                Level::TripleQuotes
            } else {
                Level::NotJson
            };
            self.require_evidence(level);
        }
        let value = u32::from_str_radix(digits, 8).unwrap_or_default();
        self.write_escaped(1 + digits.len(), value)
    }

    /// Parses a line continuation: the string contains neither the backslash nor the line break.
    fn line_continuation(&mut self) {
        if !self.string.form.is_python() {
            self.require_evidence(Level::NotJson);
        }
        let message = "a backslash and the line break after it were removed";
        self.fix_with_message(FixCode::PythonEscape, self.at, message);
        let wide = self.from(self.at + 1).starts_with("\r\n");
        self.at += if wide { 3 } else { 2 };
    }

    /// Parses a backslash that does not begin an escape, and is therefore literal.
    fn unknown_escape(&mut self) -> Result<(), Failure> {
        if !self.string.form.is_python() {
            self.refuse_if(self.string.key, self.at, "an unknown escape in a key")?;
            self.record_slip(FixCode::UnknownEscape, self.at)?;
            self.string.unknown_escape = true;
        }
        self.fix(FixCode::UnknownEscape, self.at);
        self.replace(1, "\\\\");
        Ok(())
    }

    /// Writes the character of an escape of `len` bytes.
    fn write_escaped(&mut self, len: usize, value: u32) -> Result<(), Failure> {
        self.refuse_if(value > 0x10_FFFF, self.at, "an escape of no character")?;
        if let Some(character) = char::from_u32(value) {
            push(&mut self.out, character);
        } else {
            self.refuse_split_pair(value)?;
            push_unicode(&mut self.out, value);
        }
        self.fix(FixCode::PythonEscape, self.at);
        self.at += len;
        Ok(())
    }

    /// Rejects an escaped surrogate pair in single quotes: `'\ud83d\ude00'` is two invalid characters in Python, but a
    /// single valid character in JSON and JSON5.
    fn refuse_split_pair(&self, value: u32) -> Result<(), Failure> {
        if !self.string.form.is_python() || !matches!(value, 0xDC00..=0xDFFF) {
            return Ok(());
        }
        let written = self.out.get(self.out.len().wrapping_sub(6)..);
        let digits = written.and_then(|escape| escape.strip_prefix("\\u"));
        let before = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let message = "two escapes that are two characters in Python, but one in JSON";
        self.refuse_if(matches!(before, Some(0xD800..=0xDBFF)), self.at, message)
    }
}
