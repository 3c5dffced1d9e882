//! Parses escapes, and writes them as JSON.
//!
//! In `"…"` escapes have their meaning in JSON; in `'…'` the meaning that Python and JSON5 share, and Python's
//! extensions if the text is Python.

use super::evidence::Level;
use super::failure::Failure;
use super::state::Parser;
use crate::fixes::FixCode;

/// Iterates over the escapes of a string with these contents: the character after each backslash, and the text after
/// that.
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

/// Writes a `\u` escape; by hand, since a text may consist of escapes, and `write!` is slow.
fn push_unicode(out: &mut String, value: u32) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        let digit = char::from_digit(value >> shift & 0xF, 16);
        out.push(digit.unwrap_or('0'));
    }
}

/// Parses an escape.
pub(super) fn escape(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let at = parser.at;
    let python = parser.string.form.is_python();
    let Some(escaped) = parser.byte_at(at + 1) else {
        return Err(parser.ends_in_string(parser.string.began));
    };
    parser.string.has_escapes = true;
    match escaped {
        b'\'' => {
            if !python {
                parser.fix_with_message(FixCode::PythonEscape, at, "`\\'` became `'`");
            }
            parser.replace(2, "'");
        }
        b'/' if python => {
            return Err(parser.refuse(at, "`\\/`, which is `/` in JSON5, but two characters in Python"));
        }
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => parser.copy(2),
        b'x' => hexadecimal(parser, 2)?,
        b'u' => hexadecimal(parser, 4)?,
        b'U' => hexadecimal(parser, 8)?,
        b'a' | b'v' if python => {
            need_evidence(parser, Level::TripleQuotes);
            write(parser, 2, if escaped == b'a' { 0x7 } else { 0xb })?;
        }
        b'0'..=b'7' => octal(parser)?,
        b'N' if parser.byte_at(at + 2) == Some(b'{') => {
            return Err(parser.refuse(at, "`\\N{…}`, the name of a character, which is not known here"));
        }
        b'\n' | b'\r' => line_continuation(parser),
        b'_' if parser.string.key && !python => {
            // An underscore, as in Markdown; a backslash in a name is never meant.
            parser.fix_with_message(FixCode::UnknownEscape, at, "`\\_` in a key became `_`");
            parser.replace(2, "_");
        }
        _ => unknown(parser)?,
    }
    Ok(())
}

/// Records that JSON lacks the escape at this position.
fn need_evidence(parser: &mut Parser<'_>, level: Level) {
    let message = match level {
        Level::NotJson => "an escape that JSON lacks, in a text that may be JSON",
        _ => "an escape that Python alone has, in a text that has nothing else of Python",
    };
    parser.evidence.need(level, parser.at, message);
}

/// Parses `\x41`, `\u4e2d` or `\U0001f600`, with `wanted` digits.
fn hexadecimal(parser: &mut Parser<'_>, wanted: usize) -> Result<(), Failure> {
    let (at, python) = (parser.at, parser.string.form.is_python());
    let after = parser.from(at + 2);
    let digits = after.bytes().take(wanted).take_while(u8::is_ascii_hexdigit);
    let found = digits.count();
    if found < wanted && found == after.len() {
        return Err(parser.ends_in_string(parser.string.began));
    }
    if found == 0 && !python {
        return unknown(parser);
    }
    parser.refuse_if(found < wanted, at, "an escape without its hexadecimal digits")?;
    let value = after.get(..wanted).map(|digits| u32::from_str_radix(digits, 16));
    let value = value.and_then(Result::ok).unwrap_or_default();
    if wanted == 4 {
        refuse_split_pair(parser, value)?;
        parser.copy(6);
        return Ok(());
    }
    if !python {
        need_evidence(parser, Level::NotJson);
    }
    write(parser, 2 + wanted, value)
}

/// Parses `\0`, `\033`. In `"…"` a number may be that of a group: `(a)\1`.
fn octal(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let after = parser.from(parser.at + 1);
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'7');
    let digits = after.bytes().take(3).take_while(is_digit).count();
    let (digits, after) = after.split_at(digits);
    if after.is_empty() {
        return Err(parser.ends_in_string(parser.string.began));
    }
    if !parser.string.form.is_python() {
        let group = digits != "0" || after.starts_with(|next: char| next.is_ascii_digit());
        let level = if group {
            Level::TripleQuotes
        } else {
            Level::NotJson
        };
        need_evidence(parser, level);
    }
    let value = u32::from_str_radix(digits, 8).unwrap_or_default();
    write(parser, 1 + digits.len(), value)
}

/// Parses a backslash at the end of a line: neither is part of the string.
fn line_continuation(parser: &mut Parser<'_>) {
    if !parser.string.form.is_python() {
        need_evidence(parser, Level::NotJson);
    }
    let message = "a backslash and the line break after it were removed";
    parser.fix_with_message(FixCode::PythonEscape, parser.at, message);
    let wide = parser.from(parser.at + 1).starts_with("\r\n");
    parser.at += if wide { 3 } else { 2 };
}

/// Parses a backslash that represents itself.
fn unknown(parser: &mut Parser<'_>) -> Result<(), Failure> {
    if !parser.string.form.is_python() {
        parser.refuse_if(parser.string.key, parser.at, "an unknown escape in a key")?;
        parser.note_slip(FixCode::UnknownEscape, parser.at)?;
        parser.string.unknown_escape = true;
    }
    parser.fix(FixCode::UnknownEscape, parser.at);
    parser.replace(1, "\\\\");
    Ok(())
}

/// Writes the character of an escape of `len` bytes.
fn write(parser: &mut Parser<'_>, len: usize, value: u32) -> Result<(), Failure> {
    parser.refuse_if(value > 0x10_FFFF, parser.at, "an escape of no character")?;
    if let Some(character) = char::from_u32(value) {
        push(&mut parser.out, character);
    } else {
        refuse_split_pair(parser, value)?;
        push_unicode(&mut parser.out, value);
    }
    parser.fix(FixCode::PythonEscape, parser.at);
    parser.at += len;
    Ok(())
}

/// Refuses a surrogate pair in Python's strings: there `'\ud83d\ude00'` is two invalid characters, in JSON and JSON5
/// one valid character.
fn refuse_split_pair(parser: &Parser<'_>, value: u32) -> Result<(), Failure> {
    if !parser.string.form.is_python() || !matches!(value, 0xDC00..=0xDFFF) {
        return Ok(());
    }
    let written = parser.out.get(parser.out.len().wrapping_sub(6)..);
    let digits = written.and_then(|escape| escape.strip_prefix("\\u"));
    let high = digits.is_some_and(|digits| matches!(u32::from_str_radix(digits, 16), Ok(0xD800..=0xDBFF)));
    let message = "two escapes that are two characters in Python, but one in JSON";
    parser.refuse_if(high, parser.at, message)
}
