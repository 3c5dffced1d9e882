//! Escapes: what they mean, and how JSON writes that.
//!
//! In `"…"` they mean what they mean in JSON; in `'…'` what Python and JSON5 share, and what Python alone has where
//! the text is Python.

use super::evidence::Level;
use super::failure::Failure;
use super::slip::Slip;
use super::state::Parser;
use crate::fixes::FixCode;

/// Writes a character as it stands in a string of JSON.
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

/// Writes the escape of a value of 16 bits; by hand, since a text may be nothing but these, and `write!` is slow.
fn push_unicode(out: &mut String, value: u32) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        let digit = char::from_digit(value >> shift & 0xF, 16);
        out.push(digit.unwrap_or('0'));
    }
}

/// Reads the escape that begins here.
pub(super) fn escape(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let at = parser.at;
    let python = parser.string.form.python;
    let Some(escaped) = parser.byte_at(at + 1) else {
        return Err(parser.ends_in_string(parser.string.began));
    };
    match escaped {
        b'\'' => apostrophe(parser),
        b'b' | b'f' | b'n' | b'r' | b't' => {
            parser.string.control_escape = true;
            parser.copy(2);
        }
        b'/' if python => {
            return Err(parser.refuse(at, "`\\/`, which is `/` in JSON5, but two characters in Python"));
        }
        b'"' | b'\\' | b'/' => parser.copy(2),
        b'u' => match digits(parser, 4)? {
            Some(value) => {
                refuse_split_pair(parser, value)?;
                parser.copy(6);
            }
            None if python => return Err(parser.refuse(at, INCOMPLETE)),
            None => unknown(parser)?,
        },
        b'x' => match digits(parser, 2)? {
            Some(value) => {
                if !python {
                    parser
                        .evidence
                        .need(Level::NotJson, at, "`\\x…`, in a text that may be JSON");
                }
                write(parser, 4, value)?;
            }
            None if python => return Err(parser.refuse(at, INCOMPLETE)),
            None => unknown(parser)?,
        },
        b'U' => match digits(parser, 8)? {
            Some(value) => {
                if !python {
                    parser
                        .evidence
                        .need(Level::NotJson, at, "`\\U…`, in a text that may be JSON");
                }
                write(parser, 10, value)?;
            }
            None if python => return Err(parser.refuse(at, INCOMPLETE)),
            None => unknown(parser)?,
        },
        b'a' | b'v' => {
            need_python(parser);
            parser.string.control_escape = true;
            write(parser, 2, if escaped == b'a' { 0x7 } else { 0xb })?;
        }
        b'0'..=b'7' => octal(parser)?,
        b'N' if parser.byte_at(at + 2) == Some(b'{') => {
            return Err(parser.refuse(at, "`\\N{…}`, the name of a character, which is not known here"));
        }
        b'\n' | b'\r' => line_continuation(parser),
        _ if parser.from(at + 1).starts_with(['\u{2028}', '\u{2029}']) => {
            return Err(parser.refuse(at, "a line that goes on in JSON5, but not in Python"));
        }
        b'_' if parser.string.key && !python => {
            // As in Markdown, where it is an underscore; nobody means a backslash in a name.
            let message = "`\\_` in a key, in a text that is not only JSON";
            parser.evidence.needs_json.get_or_insert((at, message));
            parser.fix(FixCode::UnknownEscape, at, "`\\_` in a key became `_`");
            parser.replace(2, "_");
        }
        _ => unknown(parser)?,
    }
    Ok(())
}

const INCOMPLETE: &str = "an escape without its hexadecimal digits";

fn need_python(parser: &mut Parser<'_>) {
    let message = "an escape that Python alone has, in a text that has nothing else of Python";
    parser.evidence.need(Level::Python, parser.at, message);
}

/// `\'`. Beside another quote it is the way of shells to write one, in which the backslash stays.
fn apostrophe(parser: &mut Parser<'_>) {
    let at = parser.at;
    if !parser.string.form.python {
        if parser.before(at) == Some(b'\'') || parser.byte_at(at + 2) == Some(b'\'') {
            let message = "`\\'` beside another quote, as shells write it";
            parser.evidence.need(Level::Python, at, message);
        }
        parser.string.escaped_apostrophe = true;
        parser.fix(FixCode::PythonEscape, at, "`\\'` became `'`");
    }
    parser.replace(2, "'");
}

/// `\0`, `\033`. In `"…"` a number may be that of a group: `(a)\1`.
fn octal(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let at = parser.at;
    let behind = parser.from(at + 1).as_bytes();
    let len = behind
        .iter()
        .take(3)
        .take_while(|byte| matches!(byte, b'0'..=b'7'))
        .count();
    if len == behind.len() {
        return Err(parser.ends_in_string(parser.string.began));
    }
    let digits = parser.text.get(at + 1..at + 1 + len).unwrap_or_default();
    let followed = behind.get(len).is_some_and(u8::is_ascii_digit);
    if !parser.string.form.python {
        if digits == "0" && !followed {
            parser
                .evidence
                .need(Level::NotJson, at, "`\\0`, in a text that may be JSON");
        } else {
            need_python(parser);
        }
    }
    parser.string.control_escape = true;
    write(
        parser,
        1 + len,
        u32::from_str_radix(digits, 8).unwrap_or_default(),
    )
}

/// A backslash at the end of a line: neither is part of the string.
fn line_continuation(parser: &mut Parser<'_>) {
    let at = parser.at;
    if !parser.string.form.python {
        let message = "a backslash at the end of a line, in a text that may be JSON";
        parser.evidence.need(Level::NotJson, at, message);
    }
    parser.string.line_continuation = true;
    let len = if parser.from(at + 1).starts_with("\r\n") {
        3
    } else {
        2
    };
    let message = "a backslash and the line break behind it were removed";
    parser.fix(FixCode::PythonEscape, at, message);
    parser.at += len;
}

/// A backslash that stands for itself.
fn unknown(parser: &mut Parser<'_>) -> Result<(), Failure> {
    if !parser.string.form.python {
        if parser.string.key {
            return Err(parser.refuse(parser.at, "an unknown escape in a key"));
        }
        parser.note_slip(Slip::Backslashes, parser.at)?;
        parser.string.unknown_escape = true;
    }
    let message = "a backslash that begins no escape was doubled";
    parser.fix(FixCode::UnknownEscape, parser.at, message);
    parser.replace(1, "\\\\");
    Ok(())
}

/// The value of the hexadecimal digits of the escape that begins here; `None` if it has none at all.
fn digits(parser: &Parser<'_>, wanted: usize) -> Result<Option<u32>, Failure> {
    let behind = parser.from(parser.at + 2);
    let found = behind
        .bytes()
        .take(wanted)
        .take_while(u8::is_ascii_hexdigit)
        .count();
    match found {
        _ if found < wanted && found == behind.len() => Err(parser.ends_in_string(parser.string.began)),
        0 => Ok(None),
        _ if found < wanted => Err(parser.refuse(parser.at, INCOMPLETE)),
        _ => Ok(behind
            .get(..wanted)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())),
    }
}

/// Writes the character of an escape of `len` bytes.
fn write(parser: &mut Parser<'_>, len: usize, value: u32) -> Result<(), Failure> {
    match char::from_u32(value) {
        Some(character) => push(&mut parser.out, character),
        None if value > 0x10_FFFF => return Err(parser.refuse(parser.at, "an escape of no character")),
        None => {
            refuse_split_pair(parser, value)?;
            push_unicode(&mut parser.out, value);
        }
    }
    let message = "an escape of Python became its character, as JSON writes it";
    parser.fix(FixCode::PythonEscape, parser.at, message);
    parser.at += len;
    Ok(())
}

/// Python's `'\ud83d\ude00'` is two characters that are no text; in JSON and JSON5 it is one that is.
fn refuse_split_pair(parser: &Parser<'_>, value: u32) -> Result<(), Failure> {
    let written = parser
        .out
        .len()
        .checked_sub(6)
        .and_then(|from| parser.out.get(from..));
    let high = written
        .and_then(|escape| escape.strip_prefix("\\u"))
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .is_some_and(|value| matches!(value, 0xD800..=0xDBFF));
    if high && parser.string.form.python && matches!(value, 0xDC00..=0xDFFF) {
        let message = "two escapes that are two characters in Python, but one in JSON";
        return Err(parser.refuse(parser.at, message));
    }
    Ok(())
}
