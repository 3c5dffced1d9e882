//! What may stand between two tokens: white space and comments.

use super::failure::Failure;
use super::slip::Slip;
use super::state::Parser;
use crate::fixes::FixCode;

/// What stood between two tokens.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gap {
    pub(super) space: bool,
    pub(super) newline: bool,
}

/// Copies white space and removes comments.
#[inline]
pub(super) fn gap(parser: &mut Parser<'_>) -> Result<Gap, Failure> {
    let is_token = |byte: Option<&u8>| {
        byte.is_some_and(|byte| matches!(byte, b'"' | b'$'..=b'.' | b'0'..=b'[' | b']'..=b'~'))
    };
    let rest = parser.text.as_bytes().get(parser.at..).unwrap_or_default();
    if is_token(rest.first()) {
        return Ok(Gap::default());
    }
    if rest.first() == Some(&b' ') && is_token(rest.get(1)) {
        parser.replace(1, " ");
        return Ok(Gap {
            space: true,
            newline: false,
        });
    }
    long_gap(parser)
}

fn long_gap(parser: &mut Parser<'_>) -> Result<Gap, Failure> {
    let mut gap = Gap::default();
    loop {
        let rest = parser.from(parser.at);
        match rest.as_bytes() {
            [b' ' | b'\n' | b'\r' | b'\t', ..] => {
                let len = rest.len() - rest.trim_start_matches(super::state::SPACE).len();
                gap.newline |= rest.bytes().take(len).any(|byte| byte == b'\n' || byte == b'\r');
                parser.copy(len);
            }
            [b'/', b'/' | b'*', ..] => comment(parser)?,
            // Before the value it is a heading of Markdown, as likely as not.
            [b'#', ..] if parser.root.is_some() || !parser.frames.is_empty() || parser.ended => {
                comment(parser)?;
            }
            [b'\\', b'\n' | b'\r', ..] => {
                let message = "a backslash at the end of a line became a space";
                parser.fix(FixCode::OddSpace, parser.at, message);
                parser.replace(1, " ");
            }
            [b'\\', b'n' | b'r' | b't', ..] => {
                parser.note_slip(Slip::EscapedSpace, parser.at)?;
                parser.fix(
                    FixCode::OddSpace,
                    parser.at,
                    "an escaped line break or tab between tokens became a space",
                );
                parser.replace(2, " ");
                gap.newline = true;
            }
            [0x0b | 0x0c | 0x1c..=0x1f | 0x80.., ..] => match odd_space(rest) {
                Some(len) => {
                    parser.fix(
                        FixCode::OddSpace,
                        parser.at,
                        "white space that JSON does not know became a space",
                    );
                    parser.replace(len, " ");
                    continue; // no comma is missing there: it may stand between the thousands of a number
                }
                None => return Ok(gap),
            },
            _ => return Ok(gap),
        }
        gap.space = true;
    }
}

/// How long the white space is that `text` begins with and that JSON does not know.
fn odd_space(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let space = first.is_whitespace() || matches!(first, '\u{200b}' | '\u{feff}');
    space.then(|| first.len_utf8())
}

/// Removes the comment that begins here.
fn comment(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let at = parser.at;
    let rest = parser.from(at);
    let len = if rest.starts_with("/*") {
        rest.find("*/").map(|end| end + 2)
    } else {
        let line_ends: &[char] = if rest.starts_with('#') {
            &['\n', '\r']
        } else {
            &['\n', '\r', '\u{2028}', '\u{2029}']
        };
        rest.find(line_ends)
    };
    let comment = rest.get(..len.unwrap_or(rest.len())).unwrap_or_default();
    // `'…'//''`, `https://…`: a line of a text that lost a quote.
    let spaced = comment.starts_with("// ");
    let mut before = parser.backwards(at);
    let in_text = match before.next() {
        Some(':') => !spaced && before.next().is_some_and(char::is_alphanumeric),
        Some('"' | '\'' | '\u{200b}') if spaced => comment.ends_with(['"', '\'']),
        Some('"' | '\'' | '\u{200b}') => has_quote(comment),
        Some(before) => !before.is_whitespace() && comment.ends_with(['\u{201d}', '\u{2019}']),
        None => false,
    };
    if in_text && comment.starts_with("//") {
        return Err(parser.refuse(at, "a comment that may be a part of a string"));
    }
    if comment.strip_prefix('#').is_some_and(may_be_content) {
        return Err(parser.refuse(at, "a comment that may be a value or a part of a string"));
    }
    // Behind the value, a comment may end the text.
    let end = Some(comment.len()).filter(|_| parser.ended && !comment.starts_with("/*"));
    let Some(len) = len.or(end) else {
        return Err(parser.ends_with("the text ends inside a comment"));
    };
    parser.fix(FixCode::Comment, at, "a comment was removed");
    parser.at += len;
    Ok(())
}

/// Whether a `#` may stand in the place of a quote, a comma or a bracket: before anything but words.
fn may_be_content(comment: &str) -> bool {
    let words = comment.trim_start_matches('#');
    let text = words.trim_start();
    let word = text
        .split(|next: char| !next.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let literal = matches!(word, "true" | "false" | "null" | "True" | "False" | "None");
    let apart = text.is_empty() || text.len() < words.len() && text.starts_with(char::is_alphabetic);
    !apart || literal || has_quote(text)
}

/// Whether there is a quote that is no apostrophe.
pub(super) fn has_quote(text: &str) -> bool {
    let is_letter = |character: Option<char>| character.is_some_and(char::is_alphabetic);
    text.match_indices(['"', '\'']).any(|(at, quote)| {
        let (before, behind) = text.split_at(at);
        quote != "'" || !is_letter(before.chars().next_back()) || !is_letter(behind.chars().nth(1))
    })
}
