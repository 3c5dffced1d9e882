//! Judges quotes inside a string that are not escaped.
//!
//! A string whose closing quote is followed by what has no place there goes on, up to the first quote behind which the
//! text goes on as it must: a bracket that fits, or the next key. The quotes before that are text if they come in pairs
//! that look like quotations, or if each stands between two letters.

use super::frame::Kind;
use super::key;
use super::state::{Parser, SPACE};

/// Why it is not known where a string with quotes in its text ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Undecided {
    /// The text ends before that can be told.
    Ends,
    /// There is another reading, or none.
    Ambiguous,
}

/// The quotes that are text in the last string of the parser, from the one at `doubt` on, behind which nothing goes on.
/// Takes time linear in what it reads.
pub(super) fn judge(parser: &Parser<'_>, quote: u8, doubt: usize) -> Result<Vec<usize>, Undecided> {
    let bytes = parser.text.as_bytes();
    let string = Judge { parser, quote };
    let mut inner = Vec::new();
    let (mut pairs, mut between_letters) = (true, true);
    let mut at = doubt;
    loop {
        match *bytes.get(at).ok_or(Undecided::Ends)? {
            b'\\' => at += 1,
            byte if byte == quote => {
                if string.closes_string(at)? {
                    let even = inner.len() % 2 == 0;
                    let certain = even && pairs || between_letters && (even || quote == b'\'');
                    return if certain && !inner.is_empty() {
                        Ok(inner)
                    } else {
                        Err(Undecided::Ambiguous)
                    };
                }
                pairs &= match inner.last() {
                    Some(opening) if inner.len() % 2 == 1 => string.closes_quotation(*opening, at),
                    _ => string.opens_quotation(at),
                };
                between_letters &= string.is_between_letters(at);
                if !pairs && !between_letters || string.is_beside_prefix(at) {
                    return Err(Undecided::Ambiguous);
                }
                inner.push(at);
            }
            _ => {}
        }
        at += 1;
    }
}

struct Judge<'p, 't> {
    parser: &'p Parser<'t>,
    quote: u8,
}

impl Judge<'_, '_> {
    /// Whether the quote at `at` closes the string beyond doubt: behind it is a bracket that fits, behind which the
    /// text goes on as it must, or the next key of an object. A comma in an array says nothing.
    fn closes_string(&self, at: usize) -> Result<bool, Undecided> {
        let bytes = self.parser.text.as_bytes();
        let mut at = self.solid(at + 1)?;
        match bytes.get(at) {
            Some(b',') if self.parser.inside() == Some(Kind::Object) => {
                return key::string_follows(self.parser.from(self.solid(at + 1)?)).ok_or(Undecided::Ends);
            }
            Some(b',' | b':') => return Err(Undecided::Ambiguous),
            _ => {}
        }
        let frames = self.parser.frames.iter().rev();
        for (level, frame) in frames.enumerate() {
            match bytes.get(at) {
                Some(byte) if *byte == frame.kind.closer() => {}
                Some(b',') if level > 0 => return Ok(true),
                _ => return Ok(false),
            }
            let last = level + 1 == self.parser.frames.len();
            match self.solid(at + 1) {
                Ok(next) => at = next,
                Err(_) if last => return Ok(true),
                Err(ends) => return Err(ends),
            }
        }
        Ok(false)
    }

    /// Whether the quote at `at` looks like an opening one: `say "hi`, `f("x`, `="x`.
    fn opens_quotation(&self, at: usize) -> bool {
        let before =
            self.parser.backwards(at).next().is_some_and(|before| {
                "([=<>/".contains(before) || before.is_whitespace() || !before.is_ascii()
            });
        let after = self.after(at).is_some_and(|after| {
            "_/<.$#-《「『".contains(after) || after.is_alphanumeric() || after >= '\u{10000}'
        });
        before && after
    }

    /// Whether the quote at `at` looks like a closing one, with more than punctuation behind the opening one. Between two
    /// words of Chinese, one character may join two quoted values: `"苹果"和"香蕉"`.
    fn closes_quotation(&self, opening: usize, at: usize) -> bool {
        let between = self.parser.text.get(opening + 1..at).unwrap_or_default();
        let before = between.chars().next_back();
        before.is_some_and(|before| !before.is_whitespace() && !",:[{(".contains(before))
            && between.contains(char::is_alphanumeric)
            && (between.is_ascii() || between.chars().nth(1).is_some())
            && self.after(at).is_some_and(|after| !after.is_ascii_alphanumeric())
    }

    /// Whether the quote at `at` stands between two letters, as in `it's`.
    fn is_between_letters(&self, at: usize) -> bool {
        let before = self.parser.backwards(at).next();
        let is_letter =
            |letter: Option<char>| letter.is_some_and(|letter| letter < '\u{250}' && letter.is_alphabetic());
        is_letter(before) && is_letter(self.after(at))
    }

    /// Whether the quote at `at` may open a string of Python with a prefix, or close one that such a string follows:
    /// `u'a, u'b'`, `'a'r'b'`.
    fn is_beside_prefix(&self, at: usize) -> bool {
        let is_prefix = |letter: char| matches!(letter, 'u' | 'U' | 'r' | 'R');
        let mut behind = self.parser.from(at + 1).chars();
        let opens = behind.next().is_some_and(is_prefix) && matches!(behind.next(), Some('"' | '\''));
        let mut before = self.parser.backwards(at);
        let alone = before.next().is_some_and(is_prefix)
            && !before
                .next()
                .is_some_and(|before| before.is_alphanumeric() || before == '_');
        self.quote == b'\'' && (opens || alone)
    }

    /// Where the white space that begins at `at` ends.
    fn solid(&self, at: usize) -> Result<usize, Undecided> {
        let behind = self.parser.from(at);
        let solid = behind.trim_start_matches(SPACE);
        if solid.is_empty() {
            return Err(Undecided::Ends);
        }
        Ok(at + behind.len() - solid.len())
    }

    fn after(&self, at: usize) -> Option<char> {
        self.parser.from(at + 1).chars().next()
    }
}
