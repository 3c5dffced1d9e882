//! Escapes: what they mean in Python, what they mean in JSON, and how JSON writes that.

use super::super::super::fixes::FixCode;
use super::super::draft::Draft;
use super::super::literal::Literal;
use super::super::mended::Unmended;

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

/// The escape that begins here, in a string of Python.
pub(super) fn python(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    let at = draft.at;
    let Some(escaped) = draft.byte_at(at + 1) else {
        return Err(draft.ends_in_string(draft.string.began));
    };
    match escaped {
        b'"' => quote(draft),
        b'\'' => {
            draft.string.escaped_quote |= draft.string.form.quote == b'\'';
            draft.replace(2, "'");
        }
        b'\\' => double_backslash(draft)?,
        b'n' | b'r' | b't' => short(draft)?,
        b'0'..=b'7' => octal(draft)?,
        b'a' | b'b' | b'f' | b'v' | b'/' => {
            let message =
                "an escape that no program writes so in Python: perhaps a backslash that was not escaped";
            return Err(draft.refuse(at, message));
        }
        b'x' => {
            let value = hex(draft, 2)?;
            write(draft, 4, value)?;
        }
        b'U' => {
            let value = hex(draft, 8)?;
            write(draft, 10, value)?;
        }
        b'u' => {
            let value = hex(draft, 4)?;
            doubt_range(draft)?;
            // As JSON writes it.
            if matches!(value, 0xDC00..=0xDFFF) {
                refuse_pair(draft)?;
            }
            draft.copy(6);
        }
        b'N' => {
            return Err(draft.refuse(
                at,
                "`\\N{\u{2026}}` names a character, and the names are not known here",
            ));
        }
        b'\n' | b'\r' => line_break(draft)?,
        _ => unknown(draft)?,
    }
    Ok(())
}

/// `\033`, `\0`: what nobody writes so is a group, `s/(a)/\1/`, or a path, `D:\2024`.
fn octal(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    let behind = draft.from(draft.at + 1);
    if behind.len() <= 3 && behind.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return Err(draft.ends_in_string(draft.string.began));
    }
    let digits = draft.from(draft.at + 1).bytes().take(3);
    let len = digits.take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let digits = draft.text.get(draft.at + 1..draft.at + 1 + len);
    let digits = digits.unwrap_or_default();
    let more = draft
        .byte_at(draft.at + 1 + len)
        .is_some_and(|byte| byte.is_ascii_digit());
    let control = len == 3 && digits < "040" && !more;
    if !control && (digits != "0" || more) {
        let message = "an octal escape in Python, or a backslash that was not escaped: in a path or before the number of a group";
        return Err(draft.refuse(draft.at, message));
    }
    write(draft, 1 + len, u32::from_str_radix(digits, 8).unwrap_or_default())
}

/// The escape that begins here, in a string in double quotes: what JSON defines means that; anything else is a
/// backslash, or Python's escape if the document is Python.
pub(super) fn json(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    let at = draft.at;
    let Some(escaped) = draft.byte_at(at + 1) else {
        return Err(draft.ends_in_string(draft.string.began));
    };
    match escaped {
        b'"' => quote(draft),
        b'\\' => double_backslash(draft)?,
        b'/' | b'b' | b'f' | b'n' | b'r' | b't' => short(draft)?,
        b'u' => {
            hex(draft, 4)?;
            doubt_range(draft)?;
            draft.copy(6);
        }
        b'\'' => apostrophe(draft),
        b'x' => {
            let value = hex(draft, 2)?;
            needs_python(draft, "`\\x\u{2026}` in a text that has nothing else of Python");
            write(draft, 4, value)?;
        }
        b'U' => {
            let value = hex(draft, 8)?;
            needs_python(draft, "`\\U\u{2026}` in a text that has nothing else of Python");
            write(draft, 10, value)?;
        }
        b'\n' | b'\r' => {
            needs_python(
                draft,
                "a backslash at the end of a line, in a text that has nothing else of Python",
            );
            line_break(draft)?;
        }
        b'a' | b'v' | b'0'..=b'7' => {
            return Err(draft.refuse(at, "a backslash that may be one, or begin an escape of Python"));
        }
        b'N' if draft.byte_at(at + 2) == Some(b'{') => {
            return Err(draft.refuse(
                at,
                "`\\N{\u{2026}}` names a character, and the names are not known here",
            ));
        }
        _ => unknown(draft)?,
    }
    Ok(())
}

fn quote(draft: &mut Draft<'_>) {
    draft.string.escaped_quote |= draft.string.form.quote == b'"';
    draft.copy(2);
}

/// An escape of one letter, or of a slash.
fn short(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    doubtful(draft)?;
    let contents = draft.string.began + 1;
    let drive = contents
        .checked_sub(draft.base)
        .and_then(|from| draft.text.get(from..draft.at));
    if drive.is_some_and(|text| matches!(text.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())) {
        draft.evidence.drive();
    }
    draft.copy(2);
    Ok(())
}

/// In a text without escapes `\u4e2d` is the end of a range, `[\u4e00-\u9fa5]`; anywhere else it is a letter.
fn doubt_range(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    let ends =
        matches!(draft.before(draft.at), Some(b'[' | b'-')) || draft.byte_at(draft.at + 6) == Some(b'-');
    if ends { doubtful(draft) } else { Ok(()) }
}

fn double_backslash(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    draft.string.double_backslash = true;
    doubt_mixture(draft)?;
    draft.copy(2);
    Ok(())
}

/// Notes an escape that a text without escapes may have, too.
fn doubtful(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    draft.string.doubtful_escape = true;
    doubt_mixture(draft)
}

/// `\'`, which JSON does not escape.
fn apostrophe(draft: &mut Draft<'_>) {
    let at = draft.at;
    if draft.before(at) == Some(b'\'') || draft.byte_at(at + 2) == Some(b'\'') {
        needs_python(draft, "`\\'` beside another quote, as shells write it");
    }
    draft.string.escaped_apostrophe = true;
    draft.fix(FixCode::PythonEscape, at, "`\\'` became `'`");
    draft.replace(2, "'");
}

fn needs_python(draft: &mut Draft<'_>, reason: &'static str) {
    let at = draft.at;
    draft.evidence.needs_python(at, reason);
}

/// `C:\data\new`, `\\server\share`, or code in lines of its own that prints `\n`: where one backslash or one line
/// break was not escaped, perhaps none is, and which of the others are escapes is anyone's guess.
pub(super) fn doubt_mixture(draft: &Draft<'_>) -> Result<(), Unmended> {
    let Literal {
        unknown_escape,
        double_backslash,
        doubtful_escape,
        raw_break,
        ..
    } = draft.string;
    let message = if unknown_escape && double_backslash {
        "a string with `\\\\` and with an escape that does not exist: perhaps nothing in it is escaped"
    } else if unknown_escape && doubtful_escape {
        "a string with `\\n` or the like and with an escape that does not exist: perhaps a path"
    } else if raw_break && doubtful_escape {
        "a string with `\\n` or the like and with a line break that is not escaped: perhaps nothing in it is escaped"
    } else {
        return Ok(());
    };
    Err(draft.refuse(draft.at, message))
}

/// The value of the `digits` hexadecimal digits of the escape that begins here.
fn hex(draft: &Draft<'_>, digits: usize) -> Result<u32, Unmended> {
    let from = draft.at + 2;
    let bytes = draft.text.as_bytes().get(from..).unwrap_or_default();
    let found = bytes
        .iter()
        .take(digits)
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    if found < digits {
        return Err(if found == bytes.len() {
            draft.ends_in_string(draft.string.began)
        } else {
            let message = format!("an escape that needs {digits} hexadecimal digits has {found}");
            draft.refuse(draft.at, message)
        });
    }
    let value = draft.text.get(from..from + digits);
    let value = value.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    value.ok_or_else(|| draft.refuse(draft.at, "an escape that is not hexadecimal"))
}

/// Writes the character of an escape of `len` bytes.
fn write(draft: &mut Draft<'_>, len: usize, value: u32) -> Result<(), Unmended> {
    let at = draft.at;
    doubtful(draft)?;
    if goes_on_as_utf8(value, draft.from(at + len)) {
        let message = "bytes of UTF-8 one by one, which Python reads as other characters";
        return Err(draft.refuse(at, message));
    }
    match char::from_u32(value) {
        Some(character) => push(&mut draft.out, character),
        None if value > 0x10_FFFF => return Err(draft.refuse(at, "an escape of no character")),
        None => {
            if value >= 0xDC00 {
                refuse_pair(draft)?;
            }
            push_unicode(&mut draft.out, value);
        }
    }
    draft.fix(
        FixCode::PythonEscape,
        at,
        "an escape of Python became its character, as JSON writes it",
    );
    draft.at += len;
    Ok(())
}

/// Whether a byte begins a character of UTF-8 whose other bytes `text` begins with, escape by escape.
fn goes_on_as_utf8(first: u32, text: &str) -> bool {
    let others = match first {
        0xC2..=0xDF => 1,
        0xE0..=0xEF => 2,
        0xF0..=0xF4 => 3,
        _ => return false,
    };
    let is_other =
        |escape: &[u8]| matches!(escape, [b'\\', b'x', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', _]);
    let escapes = text.as_bytes().chunks(4);
    escapes.take(others).filter(|escape| is_other(escape)).count() == others
}

/// Python's `'\ud83d\ude00'` is two characters that are no text; in JSON they would be one that is.
fn refuse_pair(draft: &Draft<'_>) -> Result<(), Unmended> {
    let written = draft.out.len().checked_sub(6);
    if written
        .and_then(|from| draft.out.get(from..))
        .is_some_and(is_high_surrogate)
    {
        let message = "two escapes that are two characters in Python, but one in JSON";
        return Err(draft.refuse(draft.at, message));
    }
    Ok(())
}

/// Whether six bytes are the escape of the first half of a surrogate pair.
pub(super) fn is_high_surrogate(escape: &str) -> bool {
    matches!(
        escape.as_bytes(),
        [
            b'\\',
            b'u',
            b'd' | b'D',
            b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
            _,
            _
        ]
    )
}

/// Whether a text begins with the escape of the second half of a surrogate pair.
pub(super) fn is_low_surrogate(text: &str) -> bool {
    let digits = text.strip_prefix("\\u").or_else(|| text.strip_prefix("\\U0000"));
    matches!(
        digits.unwrap_or_default().as_bytes(),
        [b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', ..]
    )
}

/// A backslash at the end of a line: neither is part of the string.
fn line_break(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    let at = draft.at;
    doubtful(draft)?;
    let len = if draft.from(at + 1).starts_with("\r\n") {
        3
    } else {
        2
    };
    draft.fix(
        FixCode::PythonEscape,
        at,
        "a backslash and the line break behind it were removed",
    );
    draft.at += len;
    Ok(())
}

/// A backslash that stands for itself.
fn unknown(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    let at = draft.at;
    draft.string.unknown_escape = true;
    draft.evidence.unknown_escape(at);
    doubt_mixture(draft)?;
    draft.fix(
        FixCode::UnknownEscape,
        at,
        "a backslash that begins no escape was doubled",
    );
    draft.replace(1, "\\\\");
    Ok(())
}
