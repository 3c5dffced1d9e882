//! Decodes and encodes the JSON string that contains a piece of the arguments.

use memchr::memchr;

/// Error for half of a surrogate pair, which represents no character.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LoneSurrogate;

/// Decodes the contents of a string, `raw`, and appends the text to `into`.
///
/// A high surrogate at the end of the string is kept in `half` for the next string, which begins with the low one:
/// some servers split texts at UTF-16 code units.
pub(crate) fn decode(raw: &str, half: &mut Option<u16>, into: &mut String) -> Result<(), LoneSurrogate> {
    let mut rest = raw;
    while !rest.is_empty() {
        let plain = memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        let (text, escape) = rest.split_at_checked(plain).unwrap_or((rest, ""));
        if half.is_some() && !text.is_empty() {
            return Err(LoneSurrogate);
        }
        into.push_str(text);
        let Some(kind) = escape.as_bytes().get(1) else {
            break;
        };
        let (character, length) = match kind {
            b'u' => match (half.take(), code_unit(escape)) {
                (None, Some(unit @ 0xD800..0xDC00)) => {
                    *half = Some(unit);
                    (None, 6)
                }
                (first, Some(unit)) => {
                    let units = first.into_iter().chain([unit]);
                    let mut characters = char::decode_utf16(units);
                    match (characters.next(), characters.next()) {
                        (Some(Ok(character)), None) => (Some(character), 6),
                        _ => return Err(LoneSurrogate),
                    }
                }
                (_, None) => return Err(LoneSurrogate), // not JSON, so that it cannot be decoded either
            },
            _ if half.is_some() => return Err(LoneSurrogate),
            b'n' => (Some('\n'), 2),
            b't' => (Some('\t'), 2),
            b'r' => (Some('\r'), 2),
            b'b' => (Some('\u{8}'), 2),
            b'f' => (Some('\u{c}'), 2),
            other => (Some(char::from(*other)), 2),
        };
        into.extend(character);
        rest = escape.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// Decodes as [`decode`] does, but lone surrogates become U+FFFD.
pub(crate) fn decode_lossy(raw: &str, half: &mut Option<u16>, into: &mut String) {
    let (before, before_half) = (into.len(), *half);
    if decode(raw, half, into).is_ok() {
        return;
    }
    into.truncate(before);
    let mut units: Vec<u16> = before_half.into_iter().collect();
    let mut rest = raw;
    while let Some(first) = rest.chars().next() {
        let length = match (first, rest.as_bytes().get(1)) {
            ('\\', Some(b'u')) => 6,
            ('\\', Some(_)) => 2,
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let mut text = String::new();
        match code_unit(piece) {
            Some(unit) if length == 6 => units.push(unit),
            _ if decode(piece, &mut None, &mut text).is_ok() => units.extend(text.encode_utf16()),
            _ => units.push(0xFFFD),
        }
        rest = after;
    }
    *half = units.pop_if(|last| (0xD800..0xDC00).contains(last));
    into.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
}

fn code_unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.get(2..6)?, 16).ok()
}

/// Encodes a text as the contents of a JSON string.
///
/// All kinds of line ends are escaped, including U+0085, U+2028 and U+2029, since many clients split events at them.
pub(crate) fn encode(text: &str, into: &mut String) {
    let mut plain = 0;
    for (at, character) in text.char_indices() {
        let escape = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\0'..' ' | '\u{85}' | '\u{2028}' | '\u{2029}' => "",
            _ => continue,
        };
        into.push_str(text.get(plain..at).unwrap_or_default());
        if escape.is_empty() {
            let _ = std::fmt::Write::write_fmt(into, format_args!("\\u{:04x}", u32::from(character)));
        } else {
            into.push_str(escape);
        }
        plain = at + character.len_utf8();
    }
    into.push_str(text.get(plain..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(pieces: &[&str]) -> Result<(String, Option<u16>), LoneSurrogate> {
        let (mut half, mut text) = (None, String::new());
        for piece in pieces {
            decode(piece, &mut half, &mut text)?;
        }
        Ok((text, half))
    }

    #[test]
    fn round_trips_like_serde_json() {
        let text: String = (0..0x300)
            .filter_map(char::from_u32)
            .chain("\u{2028}\u{2029}\u{85}你😀\u{10ffff}".chars())
            .collect();
        let mut written = String::new();
        encode(&text, &mut written);
        assert_eq!(decoded(&[&written]), Ok((text.clone(), None)));
        assert_eq!(
            serde_json::from_str::<String>(&format!("\"{written}\"")).unwrap(),
            text
        );
        let theirs = serde_json::to_string(&text).unwrap();
        assert_eq!(decoded(&[theirs.trim_matches('"')]).unwrap().0.len(), text.len());
        assert!(
            written
                .chars()
                .all(|c| !c.is_control() || c == '\u{7f}' || ('\u{80}'..'\u{a0}').contains(&c))
        );
        assert!(!written.contains(['\u{85}', '\u{2028}', '\u{2029}']));
    }

    #[test]
    fn reads_every_json_escape() {
        assert_eq!(
            decoded(&[r#"\"\\\/\b\f\n\r\t\u00e9\u4F60\ud83d\ude00"#])
                .unwrap()
                .0,
            "\"\\/\u{8}\u{c}\n\r\té你😀"
        );
    }

    #[test]
    fn replaces_lone_surrogates_in_text() {
        let mut half = None;
        let mut text = String::new();
        for piece in [r"a\ud83d", r"\ude00\ude00\n", r"\ud83dx\u00e9", r"\ud83d"] {
            decode_lossy(piece, &mut half, &mut text);
        }
        assert_eq!(text, "a😀\u{fffd}\n\u{fffd}xé");
        assert_eq!(half, Some(0xd83d));
    }

    #[test]
    fn joins_split_pairs_and_rejects_lone_surrogates() {
        assert_eq!(decoded(&[r"a\ud83d", r"\ude00b"]), Ok(("a😀b".to_owned(), None)));
        assert_eq!(
            decoded(&[r"a\ud83d", "", r"\ude00"]),
            Ok(("a😀".to_owned(), None))
        );
        assert_eq!(decoded(&[r"a\ud83d"]), Ok(("a".to_owned(), Some(0xd83d))));
        for lone in [
            &[r"\ude00"][..],
            &[r"\ud83dx"],
            &[r"\ud83d\n"],
            &[r"\ud83d\ud83d"],
            &[r"\ud83d", "x"],
            &[r"\ud83d", r"\u0041"],
            &[r"\ude00\ud83d"],
        ] {
            assert_eq!(decoded(lone), Err(LoneSurrogate), "{lone:?}");
        }
    }
}
