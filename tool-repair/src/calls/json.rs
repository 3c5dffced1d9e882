//! Members, items and strings of JSON texts that `repair` has returned. Values stay text, so numbers keep their digits.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::fixes::FixCode;
use crate::repairer::{Status, repair};

/// Member of an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member<'j> {
    pub(super) key: String,
    /// JSON text of the value.
    pub(super) value: &'j str,
}

/// Reason why a text cannot be read as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// The text ends before the end of its value.
    Truncated,
    /// The text has no reading, or more than one.
    Refused,
}

/// Reads a text as one value, repaired if no guess is needed.
pub(super) fn read(text: &str) -> Result<Cow<'_, str>, Unread> {
    let repaired = repair(text);
    // A text with packaging or with a repeated value is more than one value. The scanner has removed the packaging of calls.
    let is_surrounded = repaired
        .fixes
        .counts()
        .any(|(code, _)| SURROUNDINGS.contains(&code));
    match repaired.status {
        Status::Valid | Status::Repaired if !is_surrounded => Ok(repaired.text),
        Status::Truncated => Err(Unread::Truncated),
        _ => Err(Unread::Refused),
    }
}

const SURROUNDINGS: [FixCode; 5] = [
    FixCode::Packaging,
    FixCode::TextBefore,
    FixCode::TextAfter,
    FixCode::Doubled,
    FixCode::EmptyPrefix,
];

/// Returns the members of an object; `None` for other JSON.
pub(super) fn members(json: &str) -> Option<Vec<Member<'_>>> {
    let inner = json.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut members = Vec::new();
    let mut rest = inner.trim_start();
    while !rest.is_empty() {
        let (key, after) = first_value(rest)?;
        let after = after.trim_start().strip_prefix(':')?;
        let (value, after) = first_value(after.trim_start())?;
        members.push(Member {
            key: string(key)?,
            value,
        });
        rest = next(after)?;
    }
    Some(members)
}

/// Returns the items of an array; `None` for other JSON.
pub(super) fn items(json: &str) -> Option<Vec<&str>> {
    let inner = json.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut items = Vec::new();
    let mut rest = inner.trim_start();
    while !rest.is_empty() {
        let (item, after) = first_value(rest)?;
        items.push(item);
        rest = next(after)?;
    }
    Some(items)
}

/// Skips the comma before the next item.
fn next(after: &str) -> Option<&str> {
    let after = after.trim_start();
    if after.is_empty() {
        return Some(after);
    }
    after.strip_prefix(',').map(str::trim_start)
}

/// Splits JSON after its first value.
fn first_value(json: &str) -> Option<(&str, &str)> {
    let (mut depth, mut is_string) = (0_usize, false);
    let mut bytes = json.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' if is_string => {
                bytes.next();
                continue;
            }
            b'"' => is_string = !is_string,
            _ if is_string => continue,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ if depth > 0 => continue,
            // A number or a literal ends before the next token.
            _ => {
                let is_last =
                    |next: &u8| matches!(next, b',' | b'}' | b']' | b':') || next.is_ascii_whitespace();
                if json.as_bytes().get(at + 1).is_some_and(|next| !is_last(next)) {
                    continue;
                }
            }
        }
        if depth == 0 && !is_string {
            return json.split_at_checked(at + 1);
        }
    }
    None
}

/// Returns the text of a JSON string; `None` for other JSON, and for half a surrogate pair.
pub(super) fn string(json: &str) -> Option<String> {
    let raw = json.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at_checked(at)?;
        text.push_str(plain);
        let length = match escape.as_bytes().get(1)? {
            b'u' => {
                let unit = code_unit(escape)?;
                let low = escape
                    .get(6..)
                    .filter(|next| next.starts_with("\\u"))
                    .and_then(code_unit);
                if (0xD800..0xDC00).contains(&unit) {
                    text.push(char::decode_utf16([unit, low?]).next()?.ok()?);
                    12
                } else {
                    text.push(char::from_u32(u32::from(unit))?);
                    6
                }
            }
            byte => {
                text.push(match byte {
                    b'n' => '\n',
                    b't' => '\t',
                    b'r' => '\r',
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    other => char::from(*other),
                });
                2
            }
        };
        rest = escape.get(length..)?;
    }
    text.push_str(rest);
    Some(text)
}

fn code_unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.get(2..6)?, 16).ok()
}

/// Writes a text as a JSON string.
pub(super) fn write_string(text: &str, json: &mut String) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\0'..' ' => {
                let _ = write!(json, "\\u{:04x}", u32::from(character));
            }
            _ => json.push(character),
        }
    }
    json.push('"');
}

/// JSON text of an object that is written member by member.
#[derive(Debug, Default)]
pub(super) struct ObjectWriter {
    json: String,
    keys: BTreeSet<String>,
}

impl ObjectWriter {
    /// Adds a member. Returns `None` if the object has the key already.
    pub(super) fn member(&mut self, key: &str, value: &str) -> Option<()> {
        if !self.keys.insert(key.to_owned()) {
            return None;
        }
        if !self.json.is_empty() {
            self.json.push_str(", ");
        }
        write_string(key, &mut self.json);
        self.json.push_str(": ");
        self.json.push_str(value);
        Some(())
    }

    pub(super) fn finish(self) -> String {
        format!("{{{}}}", self.json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_members_items_and_strings() {
        let read =
            members(r#" {"a": [1, {"b": "]"}], "c\u00e9" : "x\"}" ,"d":-1.50e3, "e":null } "#).unwrap();
        let pairs: Vec<_> = read.iter().map(|member| (&*member.key, member.value)).collect();
        assert_eq!(
            pairs,
            [
                ("a", r#"[1, {"b": "]"}]"#),
                ("cé", r#""x\"}""#),
                ("d", "-1.50e3"),
                ("e", "null")
            ]
        );
        assert_eq!(members("{}"), Some(vec![]));
        assert_eq!(members("[]"), None);
        assert_eq!(items("[1, \"a,b\" , [2]]"), Some(vec!["1", "\"a,b\"", "[2]"]));
        assert_eq!(items("{}"), None);
        assert_eq!(
            string(r#""a\n\\\u0041\ud83d\ude00""#).as_deref(),
            Some("a\n\\A😀")
        );
        assert_eq!(string(r#""\ud83d""#), None);
        assert_eq!(string("1"), None);
    }

    #[test]
    fn writes_members_once() {
        let mut object = ObjectWriter::default();
        assert_eq!(object.member("a\n", "1"), Some(()));
        assert_eq!(object.member("b", "\"\""), Some(()));
        assert_eq!(object.member("b", "2"), None);
        assert_eq!(object.finish(), r#"{"a\n": 1, "b": ""}"#);
    }
}
