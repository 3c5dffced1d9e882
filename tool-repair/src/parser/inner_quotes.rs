//! Judges quotes inside a string that are not escaped.
//!
//! A string whose closing quote is followed by what has no place there goes on, up to the first quote after which the
//! text goes on as it must: a bracket that fits, or the next key. The quotes before that are text if they come in pairs
//! that look like quotations, or if each stands between two letters.

use super::failure::Failure;
use super::frame::Kind;
use super::key;
use super::literal;
use super::state::{Parser, SPACE};

/// The quotes that are text in the last string of the parser, from its closing one on, after which nothing goes on;
/// `None` if there is another reading, or none. Takes time linear in what it reads.
pub(super) fn judge(parser: &Parser<'_>) -> Result<Option<Vec<usize>>, Failure> {
    let quote = parser.string.form.quote();
    let mut inner = Vec::new();
    let (mut pairs, mut between_letters) = (true, true);
    let mut at = parser.string.end;
    while let Some(byte) = parser.byte_at(at) {
        if byte == quote {
            let even = inner.len() % 2 == 0;
            match closes_string(parser, at)? {
                None => return Ok(None),
                Some(true) => {
                    let certain = even && pairs || between_letters && (even || quote == b'\'');
                    return Ok(Some(inner).filter(|inner| certain && !inner.is_empty()));
                }
                Some(false) => {}
            }
            pairs &= match inner.last() {
                Some(opening) if !even => closes_quotation(parser, *opening, at),
                _ => opens_quotation(parser, at),
            };
            between_letters &= is_between_letters(parser, at);
            if !pairs && !between_letters || quote == b'\'' && is_beside_prefix(parser, at) {
                return Ok(None);
            }
            inner.push(at);
        }
        at += if byte == b'\\' { 2 } else { 1 };
    }
    Err(parser.ends())
}

/// Whether the quote at `at` closes the string beyond doubt: after it is a bracket that fits, after which the text goes
/// on as it must, or the next key of an object. A comma in an array says nothing.
fn closes_string(parser: &Parser<'_>, at: usize) -> Result<Option<bool>, Failure> {
    let mut at = solid(parser, at + 1)?;
    match parser.byte_at(at) {
        Some(b',') if parser.inside() == Some(Kind::Object) => {
            let key = parser.from(solid(parser, at + 1)?);
            if literal::opening(key).is_none() {
                return Ok(Some(false));
            }
            return key::follows(key).map(Some).ok_or_else(|| parser.ends());
        }
        Some(b',' | b':') => return Ok(None),
        _ => {}
    }
    for (level, frame) in parser.frames.iter().rev().enumerate() {
        match parser.byte_at(at) {
            Some(byte) if byte == frame.kind.closer() => {}
            byte => return Ok(Some(level > 0 && byte == Some(b','))),
        }
        at = match solid(parser, at + 1) {
            Err(_) if level + 1 == parser.frames.len() => return Ok(Some(true)),
            next => next?,
        };
    }
    Ok(Some(false))
}

/// Whether the quote at `at` looks like an opening one: `say "hi`, `f("x`, `="x`.
fn opens_quotation(parser: &Parser<'_>, at: usize) -> bool {
    let before = parser
        .backwards(at)
        .next()
        .is_some_and(|before| "([=<>/".contains(before) || before.is_whitespace() || !before.is_ascii());
    let after = next_char(parser, at).is_some_and(|after| {
        "_/<.$#-《「『".contains(after) || after.is_alphanumeric() || after >= '\u{10000}'
    });
    before && after
}

/// Whether the quote at `at` looks like a closing one, with more than punctuation after the opening one. Between two
/// words of Chinese, one character may join two quoted values: `"苹果"和"香蕉"`.
fn closes_quotation(parser: &Parser<'_>, opening: usize, at: usize) -> bool {
    let between = parser.text.get(opening + 1..at).unwrap_or_default();
    let before = between.chars().next_back();
    before.is_some_and(|before| !before.is_whitespace() && !",:[{(".contains(before))
        && between.contains(char::is_alphanumeric)
        && (between.is_ascii() || between.chars().nth(1).is_some())
        && next_char(parser, at).is_some_and(|after| !after.is_ascii_alphanumeric())
}

/// Whether the quote at `at` stands between two letters, as in `it's`.
fn is_between_letters(parser: &Parser<'_>, at: usize) -> bool {
    let is_letter = |letter: char| letter < '\u{250}' && letter.is_alphabetic();
    parser.backwards(at).next().is_some_and(is_letter) && next_char(parser, at).is_some_and(is_letter)
}

/// Whether the quote at `at` may open a string of Python with a prefix, or close one that such a string follows:
/// `u'a, u'b'`, `'a'r'b'`.
fn is_beside_prefix(parser: &Parser<'_>, at: usize) -> bool {
    let is_prefix = |letter: char| matches!(letter, 'u' | 'U' | 'r' | 'R');
    let mut after = parser.from(at + 1).chars();
    let opens = after.next().is_some_and(is_prefix) && matches!(after.next(), Some('"' | '\''));
    let mut before = parser.backwards(at);
    let alone = before.next().is_some_and(is_prefix)
        && !before
            .next()
            .is_some_and(|before| before.is_alphanumeric() || before == '_');
    opens || alone
}

/// Where the white space that begins at `at` ends.
fn solid(parser: &Parser<'_>, at: usize) -> Result<usize, Failure> {
    let solid = parser.from(at).trim_start_matches(SPACE);
    if solid.is_empty() {
        return Err(parser.ends());
    }
    Ok(parser.text.len() - solid.len())
}

/// The character after the quote at `at`.
fn next_char(parser: &Parser<'_>, at: usize) -> Option<char> {
    parser.from(at + 1).chars().next()
}
