//! Text that was escaped as a whole, as if it stood inside a string: `{\"a\": 1}`.

use super::super::fixes::{FixCode, Fixes, Reason};
use super::super::limits::Limits;
use super::super::scan::{Deviation, Place, Scanner};
use super::mended::{Mended, Unmended};

/// Takes away one level of escapes, if the first thing inside the opening brackets is a backslash. What comes out
/// must be JSON as it is.
pub(super) fn whole(
    rest: &str,
    sent: Option<&str>,
    deviation: &Deviation,
    limits: Limits,
) -> Option<Result<Mended, Unmended>> {
    let inside = matches!(deviation.place, Place::FirstKey | Place::FirstItem);
    let outermost = sent?
        .bytes()
        .all(|byte| matches!(byte, b'{' | b'[') || byte.is_ascii_whitespace());
    if !inside || !outermost || !rest.starts_with('\\') {
        return None;
    }
    let refused = |at: usize, message| Unmended::Refused(Reason::new(deviation.at + at, message));
    let truncated = || {
        let message = "the text, which is escaped as a whole, ends before the value does";
        Unmended::Truncated(Reason::new(deviation.at + rest.len(), message))
    };
    let text = match unescape(rest) {
        Ok(text) => text,
        Err(Stop::Ends) => return Some(Err(truncated())),
        Err(Stop::Refused(at)) => {
            let message = "the text is escaped as a whole, but not here";
            return Some(Err(refused(at, message)));
        }
    };
    let mut scanner = Scanner::resumed(limits, deviation);
    if scanner.scan(&text).is_err() {
        let message = "the text is escaped as a whole, and no JSON without the escapes";
        return Some(Err(refused(0, message)));
    }
    if scanner.finish().is_err() {
        return Some(Err(truncated()));
    }
    if only_quotes_are_escaped(&text) {
        let message =
            "the text is escaped as a whole, and perhaps only its quotes are: a backslash may be one";
        return Some(Err(refused(0, message)));
    }
    let mut fixes = Fixes::default();
    fixes.add(
        FixCode::EscapedWhole,
        deviation.at,
        "the whole text was escaped; the escapes were removed",
    );
    Some(Ok(Mended { text, fixes }))
}

/// Whether escapes in the text may be backslashes that were not escaped, `{\"path\": \"C:\\temp\"}`: nothing shows that
/// backslashes were, and there is more than a line break.
fn only_quotes_are_escaped(text: &str) -> bool {
    let mut doubtful = false;
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        match behind.as_bytes().first() {
            Some(b'"' | b'\\') => return false,
            Some(b'n') => doubtful |= before.ends_with(':'),
            // `https:\/\/`, and letters beyond ASCII: nobody means these backslashes.
            Some(b'/') => doubtful |= !before.is_empty() && !before.ends_with(':'),
            Some(b'u') => doubtful |= behind.starts_with("u00"),
            _ => doubtful = true,
        }
        rest = behind.get(1..).unwrap_or_default();
    }
    doubtful
}

enum Stop {
    Ends,
    Refused(usize),
}

/// What a string of JSON with these contents means.
fn unescape(contents: &str) -> Result<String, Stop> {
    let mut text = String::with_capacity(contents.len());
    let mut rest = contents;
    while let Some(plain) = rest.find(['\\', '"']) {
        let (before, behind) = rest.split_at(plain);
        text.push_str(before);
        let at = contents.len() - behind.len();
        let (character, len) =
            character(behind).map_err(|ends| if ends { Stop::Ends } else { Stop::Refused(at) })?;
        text.push(character);
        rest = behind.get(len..).unwrap_or_default();
    }
    text.push_str(rest);
    Ok(text)
}

/// The character of the escape that `text` begins with, and how long the escape is; an error says whether the text
/// ends inside it.
fn character(text: &str) -> Result<(char, usize), bool> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'\\') {
        return Err(false);
    }
    let short = match bytes.get(1).ok_or(true)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(text),
        _ => return Err(false),
    };
    Ok((short, 2))
}

fn unicode(text: &str) -> Result<(char, usize), bool> {
    let unit = |at: usize| {
        let escape = text.get(at..).ok_or(false)?;
        let digits = escape.strip_prefix("\\u").ok_or("\\u".starts_with(escape))?;
        let hex = digits.bytes().take(4).take_while(u8::is_ascii_hexdigit).count();
        if hex < 4 {
            return Err(hex == digits.len());
        }
        digits
            .get(..4)
            .and_then(|digits| u16::from_str_radix(digits, 16).ok())
            .ok_or(false)
    };
    let first = unit(0)?;
    let mut units = vec![first];
    if matches!(first, 0xD800..=0xDBFF) {
        units.push(unit(6)?);
    }
    let mut characters = char::decode_utf16(units.iter().copied());
    match (characters.next(), characters.next()) {
        (Some(Ok(character)), None) => Ok((character, 6 * units.len())),
        _ => Err(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_level_of_escapes_is_removed() {
        for (escaped, text) in [
            (r#"\"a\": 1}"#, "\"a\": 1}"),
            (r#"\n  \"a\": \"b\\n\\\"\"}"#, "\n  \"a\": \"b\\n\\\"\"}"),
            (r"\u0022\ud83d\ude00\u00e9\/\t", "\"\u{1f600}\u{e9}/\t"),
        ] {
            assert_eq!(unescape(escaped).ok().as_deref(), Some(text), "{escaped}");
        }
    }

    #[test]
    fn what_is_not_escaped_throughout_is_told_from_what_ends() {
        for (escaped, ends) in [
            (r#"\"a\": "b"}"#, false),
            (r"\x41", false),
            (r"\u12g4", false),
            (r"\ude00", false),
            (r"\ud83dx", false),
            (r"\ud83d\n", false),
            (r"\ud83d\u0041", false),
            (r"\", true),
            (r"\u", true),
            (r"\u00e", true),
            (r"\ud83d", true),
            (r"\ud83d\u", true),
        ] {
            let stop = unescape(escaped).err();
            assert_eq!(
                stop.is_some_and(|stop| matches!(stop, Stop::Ends)),
                ends,
                "{escaped}"
            );
            assert!(unescape(escaped).is_err(), "{escaped}");
        }
    }
}
