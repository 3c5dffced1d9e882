//! What may stand between two tokens: white space, and comments of Python.

use super::super::fixes::FixCode;
use super::draft::Draft;
use super::frame::Kind;
use super::mended::Unmended;

/// What stood between two tokens.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gap {
    pub(super) space: bool,
    pub(super) newline: bool,
    pub(super) comment: bool,
}

/// What belongs behind a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A value or a key, which could have lost its opening quote: `#fff"`.
    Content,
    Punctuation,
    /// Where Python too would rather have no comment.
    NoComment,
}

/// Copies white space and removes comments.
#[inline]
pub(super) fn gap(draft: &mut Draft<'_>, next: Next) -> Result<Gap, Unmended> {
    let is_solid = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b'!' | b'"' | b'$'..=b'~'));
    let rest = draft.text.as_bytes().get(draft.at..).unwrap_or_default();
    if is_solid(rest.first()) {
        return Ok(Gap::default());
    }
    if rest.first() == Some(&b' ') && is_solid(rest.get(1)) {
        draft.replace(1, " ");
        return Ok(Gap {
            space: true,
            ..Gap::default()
        });
    }
    long_gap(draft, next)
}

fn long_gap(draft: &mut Draft<'_>, next: Next) -> Result<Gap, Unmended> {
    let mut gap = Gap::default();
    loop {
        match draft.byte() {
            Some(b' ' | b'\n' | b'\r' | b'\t') => {
                let rest = draft.from(draft.at);
                let len = rest.len() - rest.trim_start_matches([' ', '\n', '\r', '\t']).len();
                gap.space = true;
                gap.newline |= rest.bytes().take(len).any(|byte| byte == b'\n' || byte == b'\r');
                draft.copy(len);
            }
            Some(b'#') if next != Next::NoComment => {
                comment(draft, next)?;
                gap.comment = true;
            }
            Some(0x0b | 0x0c | 0x1c..=0x1f | 0x80..) => match odd_space(draft.from(draft.at)) {
                // A comma is not missing there: it may stand between the thousands of a number.
                Some(len) => {
                    draft.fix(
                        FixCode::OddSpace,
                        draft.at,
                        "white space that JSON does not know became a space",
                    );
                    draft.replace(len, " ");
                }
                None => return Ok(gap),
            },
            _ => return Ok(gap),
        }
    }
}

/// How long the white space is that `text` begins with and that JSON does not know.
fn odd_space(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let space = first.is_whitespace() || matches!(first, '\u{200b}' | '\u{feff}');
    space.then(|| first.len_utf8())
}

fn comment(draft: &mut Draft<'_>, next: Next) -> Result<(), Unmended> {
    let at = draft.at;
    let rest = draft.from(at);
    let len = rest.find(['\n', '\r']).unwrap_or(rest.len());
    let text = rest.get(..len).unwrap_or_default();
    if next == Next::Content && !matches!(text.as_bytes(), [b'#'] | [b'#', b' ' | b'\t', ..]) {
        return Err(draft.refuse(at, "`#` where a value or a key belongs, and no space behind it"));
    }
    if next == Next::Punctuation && matches!(draft.before(at), Some(b'"' | b'\'')) {
        return Err(draft.refuse(
            at,
            "`#` directly behind a quote, and where the string ends is not certain",
        ));
    }
    if has_quote(text) {
        return Err(draft.refuse(at, "a comment with a quote in it may be part of a string"));
    }
    if !says_no_value(text) {
        let message = "a comment that may be a value, behind another character that became `#`";
        return Err(draft.refuse(at, message));
    }
    if len == rest.len() {
        return Err(draft.ends_with("the text ends inside a comment"));
    }
    if may_stand_for_more(draft, rest.get(len..).unwrap_or_default()) && leaves_out(text) {
        let message = "a comment that may stand for what was left out";
        return Err(draft.refuse(at, message));
    }
    draft.fix(FixCode::Comment, at, "a comment was removed");
    draft.at += len;
    Ok(())
}

/// Whether nothing is lost with the comment that would be a value without its `#`.
fn says_no_value(comment: &str) -> bool {
    let text = comment.trim_start_matches('#').trim_start();
    let word = text.find(|next: char| !next.is_alphanumeric());
    let word = text.get(..word.unwrap_or(text.len())).unwrap_or_default();
    let literal = matches!(word, "true" | "false" | "null" | "True" | "False" | "None");
    text.is_empty() || text.starts_with(char::is_alphabetic) && !literal
}

/// Whether a comment here may stand for items or members: not behind one and before the next, `'a': 1,  # as before`.
fn may_stand_for_more(draft: &Draft<'_>, behind: &str) -> bool {
    let mut line = draft
        .backwards(draft.at)
        .take_while(|before| !matches!(before, '\n' | '\r'));
    let alone = line.all(char::is_whitespace);
    let last = behind.trim_start().starts_with(['}', ']', ')']);
    alone || last || draft.inside() != Some(Kind::Object)
}

/// Whether a comment says that there is more: `# the rest is unchanged`.
fn leaves_out(comment: &str) -> bool {
    let lower = comment.to_ascii_lowercase();
    let mut words = lower.split(|next: char| !next.is_alphanumeric());
    words.any(|word| LEAVING_OUT.contains(&word))
        || lower.contains("so on")
        || LEAVING_OUT_IN_CHINESE.iter().any(|word| comment.contains(word))
}

const LEAVING_OUT: [&str; 19] = [
    "more",
    "rest",
    "remaining",
    "remainder",
    "etc",
    "omitted",
    "omit",
    "elided",
    "truncated",
    "unchanged",
    "unmodified",
    "keep",
    "kept",
    "existing",
    "same",
    "other",
    "others",
    "continue",
    "continued",
];

const LEAVING_OUT_IN_CHINESE: [&str; 8] = ["其余", "其他", "省略", "不变", "同上", "更多", "剩余", "等等"];

/// Whether there is a quote that is no apostrophe.
fn has_quote(comment: &str) -> bool {
    let letter = |character: Option<char>| character.is_some_and(char::is_alphabetic);
    comment
        .match_indices(['"', '\'', '\u{201c}', '\u{201d}'])
        .any(|(at, quote)| {
            let (before, behind) = comment.split_at(at);
            quote != "'" || !letter(before.chars().next_back()) || !letter(behind.chars().nth(1))
        })
}
