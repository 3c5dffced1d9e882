//! Finds unescaped quotes inside a string.
//!
//! A string whose closing quote has an invalid successor continues up to the first quote with a valid successor: a
//! matching bracket, or the next key. The quotes before this quote are text if they form pairs that look like quotations,
//! if each quote is between two letters, or if a single quote follows a number.

use super::escape;
use super::failure::Failure;
use super::frame::Kind;
use super::key;
use super::literal::{self, Form};
use super::state::{Parser, SPACE};

impl Parser<'_> {
    /// Returns the positions of the quotes that are text in the last string, from its closing quote on. `None` if the
    /// quotes have another reading or no reading. Takes time linear in the bytes up to the end of the string.
    pub(super) fn inner_quotes(&self) -> Result<Option<Vec<usize>>, Failure> {
        let quote = self.string.form.quote();
        let mut inner = Vec::new();
        let (mut pairs, mut between_letters) = (true, true);
        let mut at = self.string.end;
        while let Some(byte) = self.byte_at(at) {
            if byte == quote {
                let even = inner.len() % 2 == 0;
                match self.closes_string(at)? {
                    None => return Ok(None),
                    Some(true) => {
                        let alone = inner.len() == 1 && self.is_certain_alone(at);
                        let certain = alone || even && pairs || between_letters && (even || quote == b'\'');
                        return Ok(Some(inner).filter(|inner| certain && !inner.is_empty()));
                    }
                    Some(false) => {}
                }
                let (before, after) = (self.backwards(at).next(), self.from(at + 1).chars().next());
                pairs &= match inner.last() {
                    Some(opening) if !even => closes_quotation(self.text.get(opening + 1..at), after),
                    _ => opens_quotation(before, after),
                };
                between_letters &= is_letter(before) && is_letter(after);
                let has_no_reading = !pairs && !between_letters && !inner.is_empty();
                if has_no_reading || quote == b'\'' && self.is_beside_prefix(at) {
                    return Ok(None);
                }
                inner.push(at);
            }
            at += if byte == b'\\' { 2 } else { 1 };
        }
        let has_no_reading = !pairs && !between_letters;
        has_no_reading.then_some(None).ok_or_else(|| self.ends())
    }

    /// Returns whether the quote that ended the last string is text, if no other quote precedes `end`: an inch mark, or
    /// a quote of a quotation whose other quote is escaped. A quote that opens a quotation may be redundant, except in
    /// `="a\"` and `("a\"`.
    fn is_certain_alone(&self, end: usize) -> bool {
        let at = self.string.end;
        let before = self.contents(at).unwrap_or_default();
        let after = self.text.get(at + 1..end).unwrap_or_default();
        let quote = char::from(self.string.form.quote());
        let is_quote = |(escaped, _): &(char, &str)| *escaped == quote;
        let last_before = escape::escapes(&before).filter(is_quote).enumerate().last();
        let first_after = escape::escapes(after).find(is_quote);
        let even_after = !after.trim().is_empty() && escape::escapes(after).filter(is_quote).count() % 2 == 0;
        // With a colon or a bracket, one value may end here and another may begin.
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
            _ => !structure && self.is_inch_mark() && after.contains(char::is_alphabetic),
        }
    }

    /// Returns whether the quote that ended the last string is an inch mark after a number, `65" wide`.
    pub(super) fn is_inch_mark(&self) -> bool {
        let mut before = self.backwards(self.string.end);
        let after = self.from(self.string.end + 1);
        let is_digit = before.next().is_some_and(|last| last.is_ascii_digit());
        let begins = before.find(|before| !before.is_ascii_digit() && !"./'-".contains(*before));
        self.string.form == Form::DOUBLE
            && is_digit
            && after.starts_with([' ', ',', '.', ';', ')'])
            && begins.is_some_and(|before| before.is_whitespace() || "\"(".contains(before))
    }

    /// Returns whether the quote at `at` certainly closes the string: its successor is a matching bracket with a valid
    /// successor, or the next key of an object. A comma in an array is no proof.
    fn closes_string(&self, at: usize) -> Result<Option<bool>, Failure> {
        let mut at = self.end_of_space(at + 1)?;
        match self.byte_at(at) {
            Some(b',') if self.inside() == Some(Kind::Object) => {
                let key = self.from(self.end_of_space(at + 1)?);
                if literal::opening(key).is_none() {
                    return Ok(Some(false));
                }
                return key::follows(key).map(Some).ok_or_else(|| self.ends());
            }
            Some(b',' | b':') => return Ok(None),
            _ => {}
        }
        for (level, frame) in self.frames.iter().rev().enumerate() {
            match self.byte_at(at) {
                Some(byte) if byte == frame.kind.closer() => {}
                byte => return Ok(Some(level > 0 && byte == Some(b','))),
            }
            at = match self.end_of_space(at + 1) {
                Err(_) if level + 1 == self.frames.len() => return Ok(Some(true)),
                next => next?,
            };
        }
        Ok(Some(false))
    }

    /// Returns whether the quote at `at` may open a Python string with a prefix, or close a string before one: `u'a,
    /// u'b'`, `'a'r'b'`.
    fn is_beside_prefix(&self, at: usize) -> bool {
        let is_prefix = |letter: char| matches!(letter, 'u' | 'U' | 'r' | 'R');
        let mut after = self.from(at + 1).chars();
        let opens = after.next().is_some_and(is_prefix) && matches!(after.next(), Some('"' | '\''));
        let mut before = self.backwards(at);
        let is_word = |before: char| before.is_alphanumeric() || before == '_';
        let alone = before.next().is_some_and(is_prefix) && !before.next().is_some_and(is_word);
        opens || alone
    }

    /// Returns the end of the white space at `at`.
    fn end_of_space(&self, at: usize) -> Result<usize, Failure> {
        let solid = self.from(at).trim_start_matches(SPACE);
        if solid.is_empty() {
            return Err(self.ends());
        }
        Ok(self.text.len() - solid.len())
    }
}

/// Returns whether a quote between these characters can be an opening quote: `say "hi`, `f("x`, `="x`.
fn opens_quotation(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|before| "([=<>/".contains(before) || before.is_whitespace() || !before.is_ascii())
        && after.is_some_and(|after| {
            "_/<.$#-《「『".contains(after) || after.is_alphanumeric() || after >= '\u{10000}'
        })
}

/// Returns whether a quote can be a closing quote, with more than punctuation since the opening quote. Between two
/// Chinese words, one character may join two quoted values: `"苹果"和"香蕉"`.
fn closes_quotation(between: Option<&str>, after: Option<char>) -> bool {
    let between = between.unwrap_or_default();
    let before = between.chars().next_back();
    before.is_some_and(|before| !before.is_whitespace() && !",:[{(".contains(before))
        && between.contains(char::is_alphanumeric)
        && (between.is_ascii() || between.chars().nth(1).is_some())
        && after.is_some_and(|after| !after.is_ascii_alphanumeric())
}

/// Returns whether a character is a letter, like both neighbours of the quote in `it's`.
fn is_letter(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| letter < '\u{250}' && letter.is_alphabetic())
}
