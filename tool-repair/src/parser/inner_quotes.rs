//! Judges unescaped quotes inside a string.
//!
//! A string whose closing quote has an invalid successor continues up to the first quote with a valid one: a matching
//! bracket, or the next key. The quotes before that are text if they are in pairs that look like quotations, if each is
//! between two letters, or if there is one, after a number.

use super::escape;
use super::failure::Failure;
use super::frame::Kind;
use super::key;
use super::literal::{self, Form};
use super::state::{Parser, SPACE};

/// Positions of the quotes that are text in the last string of the parser, from its closing one on, which has an
/// invalid successor; `None` if there is another reading, or none. Takes time linear in the bytes that it reads.
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
                    let alone = inner.len() == 1 && is_certain_alone(parser, at);
                    let certain = alone || even && pairs || between_letters && (even || quote == b'\'');
                    return Ok(Some(inner).filter(|inner| certain && !inner.is_empty()));
                }
                Some(false) => {}
            }
            let (before, after) = (parser.backwards(at).next(), next_char(parser, at));
            pairs &= match inner.last() {
                Some(opening) if !even => closes_quotation(parser.text.get(opening + 1..at), after),
                _ => opens_quotation(before, after),
            };
            between_letters &= is_letter(before) && is_letter(after);
            let hopeless = !pairs && !between_letters && !inner.is_empty();
            if hopeless || quote == b'\'' && is_beside_prefix(parser, at) {
                return Ok(None);
            }
            inner.push(at);
        }
        at += if byte == b'\\' { 2 } else { 1 };
    }
    let may_go_on = pairs || between_letters;
    (!may_go_on).then_some(None).ok_or_else(|| parser.ends())
}

/// Returns whether the quote that ended the last string, the only one in it up to `end`, is text: an inch mark, or a
/// quote of a quotation whose other quote is escaped. A quote that opens a quotation may be redundant, except in
/// `="a\"` and `("a\"`.
fn is_certain_alone(parser: &Parser<'_>, end: usize) -> bool {
    let at = parser.string.end;
    let before = parser.contents(at).unwrap_or_default();
    let after = parser.text.get(at + 1..end).unwrap_or_default();
    let quote = char::from(parser.string.form.quote());
    let is_quote = |(escaped, _): &(char, &str)| *escaped == quote;
    let last_before = escape::escapes(&before).filter(is_quote).enumerate().last();
    let first_after = escape::escapes(after).find(is_quote);
    let even_after = !after.trim().is_empty() && escape::escapes(after).filter(is_quote).count() % 2 == 0;
    // With a colon or a bracket it may be the end of one value, and the beginning of another.
    let structure = after.contains([':', '{', '}', '[', ']']);
    match (last_before, first_after) {
        (Some((index, (_, between))), _) if index % 2 == 0 && even_after && !after.contains(r"\\\") => {
            let (before, _) = before.split_at(before.len() - between.len() - 2);
            opens_quotation(before.chars().next_back(), between.chars().next())
                && closes_quotation(Some(between), after.chars().next())
        }
        (last, Some((_, rest))) if last.is_none_or(|(index, _)| index % 2 == 1) && !even_after => {
            before.ends_with(['=', '(', '['])
                && opens_quotation(before.chars().next_back(), after.chars().next())
                && closes_quotation(after.get(..after.len() - rest.len() - 2), rest.chars().next())
        }
        _ => !structure && is_inch_mark(parser) && after.contains(char::is_alphabetic),
    }
}

/// Returns whether the quote that ended the last string is an inch mark: it is after a number, `65" wide`.
pub(super) fn is_inch_mark(parser: &Parser<'_>) -> bool {
    let mut before = parser.backwards(parser.string.end);
    let after = parser.from(parser.string.end + 1);
    let is_digit = before.next().is_some_and(|last| last.is_ascii_digit());
    let begins = before.find(|before| !before.is_ascii_digit() && !"./'-".contains(*before));
    parser.string.form == Form::DOUBLE
        && is_digit
        && after.starts_with([' ', ',', '.', ';', ')'])
        && begins.is_some_and(|before| before.is_whitespace() || "\"(".contains(before))
}

/// Returns whether the quote at `at` certainly closes the string: a matching bracket with a valid successor follows, or
/// the next key of an object. A comma in an array proves nothing.
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

/// Returns whether a quote between these characters looks like an opening one: `say "hi`, `f("x`, `="x`.
fn opens_quotation(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|before| "([=<>/".contains(before) || before.is_whitespace() || !before.is_ascii())
        && after.is_some_and(|after| {
            "_/<.$#-《「『".contains(after) || after.is_alphanumeric() || after >= '\u{10000}'
        })
}

/// Returns whether a quote looks like a closing one, with more than punctuation since the opening one. Between two
/// words of Chinese, one character may join two quoted values: `"苹果"和"香蕉"`.
fn closes_quotation(between: Option<&str>, after: Option<char>) -> bool {
    let between = between.unwrap_or_default();
    let before = between.chars().next_back();
    before.is_some_and(|before| !before.is_whitespace() && !",:[{(".contains(before))
        && between.contains(char::is_alphanumeric)
        && (between.is_ascii() || between.chars().nth(1).is_some())
        && after.is_some_and(|after| !after.is_ascii_alphanumeric())
}

/// Returns whether this is a letter, like both neighbours of the quote in `it's`.
fn is_letter(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| letter < '\u{250}' && letter.is_alphabetic())
}

/// Returns whether the quote at `at` may open a string of Python with a prefix, or close one before such a string:
/// `u'a, u'b'`, `'a'r'b'`.
fn is_beside_prefix(parser: &Parser<'_>, at: usize) -> bool {
    let is_prefix = |letter: char| matches!(letter, 'u' | 'U' | 'r' | 'R');
    let mut after = parser.from(at + 1).chars();
    let opens = after.next().is_some_and(is_prefix) && matches!(after.next(), Some('"' | '\''));
    let mut before = parser.backwards(at);
    let is_word = |before: char| before.is_alphanumeric() || before == '_';
    let alone = before.next().is_some_and(is_prefix) && !before.next().is_some_and(is_word);
    opens || alone
}

/// End of the white space at `at`.
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
