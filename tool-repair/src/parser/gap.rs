//! Parses gaps between tokens: white space and comments.

use super::failure::Failure;
use super::state::{Parser, SPACE};
use crate::fixes::FixCode;

impl Parser<'_> {
    /// Copies white space and removes comments.
    #[inline]
    pub(super) fn parse_gap(&mut self) -> Result<(), Failure> {
        let is_token = |byte: Option<&u8>| {
            byte.is_some_and(|byte| matches!(byte, b'"' | b'$'..=b'.' | b'0'..=b'[' | b']'..=b'~'))
        };
        let rest = self.rest();
        if is_token(rest.first()) {
            return Ok(());
        }
        if rest.first() == Some(&b' ') && is_token(rest.get(1)) {
            self.replace(1, " ");
            return Ok(());
        }
        self.parse_long_gap()
    }

    fn parse_long_gap(&mut self) -> Result<(), Failure> {
        loop {
            let rest = self.from(self.at);
            match rest.as_bytes() {
                [b' ' | b'\n' | b'\r' | b'\t', ..] => {
                    self.copy(rest.len() - rest.trim_start_matches(SPACE).len());
                }
                [b'#', ..] | [b'/', b'/' | b'*', ..] => self.parse_comment()?,
                [b'\\', next @ (b'\n' | b'\r' | b'n' | b'r' | b't'), ..] => {
                    if next.is_ascii_alphabetic() {
                        self.record_slip(FixCode::OddSpace, self.at)?;
                    }
                    self.odd_space(2);
                }
                [0x0b | 0x0c | 0x1c..=0x1f | 0x80.., ..] => {
                    let first = rest.chars().next().unwrap_or_default();
                    if !first.is_whitespace() && !matches!(first, '\u{200b}' | '\u{feff}') {
                        return Ok(());
                    }
                    self.odd_space(first.len_utf8());
                }
                _ => return Ok(()),
            }
        }
    }

    fn odd_space(&mut self, len: usize) {
        self.fix(FixCode::OddSpace, self.at);
        self.replace(len, " ");
    }

    /// Removes the comment at this position.
    fn parse_comment(&mut self) -> Result<(), Failure> {
        let (at, rest) = (self.at, self.from(self.at));
        let block = rest.starts_with("/*");
        let len = if block {
            rest.find("*/").map(|end| end + 2)
        } else {
            // A comment outside of the value may end at the end of the text.
            let end = self.frames.is_empty().then_some(rest.len());
            rest.find(['\n', '\r', '\u{2028}', '\u{2029}']).or(end)
        };
        let comment = rest.get(..len.unwrap_or(rest.len())).unwrap_or_default();
        let message = "a comment that may be a value or a part of a string";
        self.refuse_if(!block && may_be_text(comment, self.backwards(at)), at, message)?;
        let Some(len) = len else {
            return Err(self.ends_with("the text ends inside a comment"));
        };
        self.fix(FixCode::Comment, at);
        self.at += len;
        Ok(())
    }
}

/// Returns whether a comment to the end of the line may be text: the rest of a string with a missing quote, an
/// address (`https://…`), or, after `#`, anything but words (`#fff`).
fn may_be_text(comment: &str, mut before: impl Iterator<Item = char>) -> bool {
    let words = comment.trim_start_matches(['#', '/']);
    let text = words.trim_start();
    let apart = text.is_empty() || text.len() < words.len();
    let before = (before.next(), before.next());
    let address = matches!(before, (Some(':'), Some(host)) if host.is_alphanumeric());
    let touches = before.0.is_some_and(|before| !before.is_whitespace());
    let line = text.trim_end_matches([' ', ',', ':', ']', '}', ')']);
    let is_quote = |last: &char| "\"'\u{201d}\u{2019}".contains(*last);
    let quote = line.chars().next_back().filter(is_quote);
    if !comment.starts_with('#') {
        let quoted = text.contains(['"', '\'', '\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}']);
        return !apart && (address || touches && quoted) || touches && quote.is_some();
    }
    let lost_quote = quote.is_some_and(|quote| line.matches(quote).count() % 2 == 1);
    !apart || lost_quote || !text.is_empty() && !text.starts_with(char::is_alphabetic)
}

/// Returns whether a text has a quote that is not an apostrophe.
pub(super) fn has_quote(text: &str) -> bool {
    let is_letter = |character: Option<char>| character.is_some_and(char::is_alphabetic);
    text.match_indices(['"', '\'']).any(|(at, quote)| {
        let (before, after) = text.split_at(at);
        quote != "'" || !is_letter(before.chars().next_back()) || !is_letter(after.chars().nth(1))
    })
}
