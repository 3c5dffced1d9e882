//! Parses the text after a value in a container: a comma, a closing bracket, or a token that is valid only if a comma
//! or a backslash is missing.

use super::evidence::Level;
use super::failure::Failure;
use super::frame::{Kind, State};
use super::key;
use super::literal::{self, Form};
use super::state::{Parser, SPACE};
use crate::fixes::FixCode;

impl Parser<'_> {
    /// Parses the text after a value.
    pub(super) fn after_value(&mut self) -> Result<State, Failure> {
        let (ended, written) = (self.at, self.out.len());
        self.parse_gap()?;
        let at = self.at;
        let (Some(byte), Some(inside)) = (self.byte(), self.inside()) else {
            return Err(self.ends());
        };
        if byte == b',' {
            return match self.inch_mark(ended, inside) {
                Some(inner) => self.with_inner_quotes(&inner),
                None => self.parse_comma(),
            };
        }
        if byte == inside.closer() {
            return self.close_container();
        }
        // If the value was passed on, the text before the rest ends with the value and white space.
        let sent = self.sent.unwrap_or_default();
        let value = self.text.get(..ended).filter(|_| ended > 0).unwrap_or(sent);
        let (value, space) = value.split_at(value.trim_end_matches(SPACE).len());
        let gap = [space, self.text.get(ended..at).unwrap_or_default()];
        let missing = match value.bytes().next_back() {
            Some(b'"' | b'\'' | b'`' | 0x80..) => return self.after_string(gap, inside),
            _ if inside == Kind::Object => {
                gap != ["", ""] && key::follows(self.from(at)).ok_or_else(|| self.ends())?
            }
            _ if inside == Kind::Parentheses => false,
            // Two numbers on one line may be a single number, or a difference: `[1 -2]`.
            Some(b'0'..=b'9') => has_line_break(gap) && byte.is_ascii_digit(),
            Some(closer @ (b'}' | b']')) => {
                matches!(byte, b'{' | b'[') && gap != ["", ""] || closer == b'}' && byte == b'{'
            }
            _ => false,
        };
        if missing {
            return self.missing_comma(written);
        }
        Err(self.expected_comma(inside))
    }

    fn expected_comma(&self, inside: Kind) -> Failure {
        let closer = char::from(inside.closer());
        self.refuse(self.at, format!("expected a comma or `{closer}`"))
    }

    /// Parses the closing bracket of the innermost container.
    pub(super) fn close_container(&mut self) -> Result<State, Failure> {
        if let Some(at) = self.frames.last().and_then(|object| object.lacks_colon) {
            return Err(self.refuse(at, "expected a colon"));
        }
        let parentheses = self.inside() == Some(Kind::Parentheses);
        let Some(frame) = self.frames.pop().filter(|_| parentheses) else {
            self.copy(1);
            return Ok(self.state_after());
        };
        if frame.comma {
            self.evidence.record(Level::Python);
            self.fix(FixCode::Tuple, frame.opened);
            self.replace(1, "]");
            return Ok(self.state_after());
        }
        self.fix(FixCode::Parentheses, frame.opened);
        let message = "parentheses around one value, in a text with a slip";
        self.needs_no_slip.get_or_insert((frame.opened, message));
        self.out.replace_range(frame.contents - 1..frame.contents, " ");
        self.at += 1;
        Ok(self.state_after())
    }

    /// Returns the positions of the quotes that are text in the string that `ended` before a comma, if the last of these
    /// quotes is an inch mark: no key follows in `5", 6"`.
    fn inch_mark(&self, ended: usize, inside: Kind) -> Option<Vec<usize>> {
        let is_last = inside == Kind::Object && self.at == ended && self.string.end + 1 == ended;
        let key = self.from(ended + 1).trim_start_matches(SPACE);
        let may_be = is_last && self.is_inch_mark() && key::follows(key) == Some(false);
        may_be.then(|| self.inner_quotes().ok().flatten()).flatten()
    }

    /// Parses a comma and the text after it.
    fn parse_comma(&mut self) -> Result<State, Failure> {
        let (at, written) = (self.at, self.out.len());
        if let Some(frame) = self.frames.last_mut() {
            frame.comma = true;
        }
        self.copy(1);
        self.after_comma(Some((at, written)))
    }

    /// Parses the text after a comma: another value, or a closing bracket. A comma before a closing bracket is removed
    /// if its positions in the text and in the output are known.
    pub(super) fn after_comma(&mut self, comma: Option<(usize, usize)>) -> Result<State, Failure> {
        self.parse_gap()?;
        let inside = self.inside();
        while comma.is_some() && inside == Some(Kind::Object) && self.byte() == Some(b',') {
            // Double commas and missing commas are one kind of slip, so a text may have several of each.
            self.record_slip(FixCode::MissingComma, self.at)?;
            self.fix(FixCode::DoubleComma, self.at);
            self.at += 1;
            self.parse_gap()?;
        }
        match (self.byte(), comma) {
            (None, _) => Err(self.ends()),
            (byte, Some((at, written))) if byte == inside.map(Kind::closer) => {
                if inside != Some(Kind::Parentheses) {
                    self.fix(FixCode::TrailingComma, at);
                }
                self.out.remove(written);
                self.close_container()
            }
            _ if inside == Some(Kind::Object) => self.parse_key(),
            _ => Ok(State::Value),
        }
    }

    /// Inserts a comma after the last value.
    fn missing_comma(&mut self, written: usize) -> Result<State, Failure> {
        let key = self.from(self.at).trim_start_matches(['"', '\'']);
        let comma = key.trim_start_matches(SPACE).starts_with(',');
        let message = "a missing comma, and a key that begins with one";
        self.refuse_if(comma, self.at, message)?;
        self.slip(FixCode::MissingComma, self.at)?;
        self.out.insert(written, ',');
        Ok(State::Next)
    }

    /// Handles a string with an invalid successor: another string, the next key, or the rest of the string.
    fn after_string(&mut self, gap: [&str; 2], inside: Kind) -> Result<State, Failure> {
        let (at, rest) = (self.at, self.from(self.at));
        if gap != ["", ""]
            && let Some(form) = literal::opening(rest)
        {
            let Some(end) = literal::end(rest, form) else {
                return Err(self.ends_in_string(self.base + at + form.prefix));
            };
            let after = self.from(at + end).trim_start_matches(SPACE);
            let Some(next) = after.bytes().next() else {
                return Err(self.ends());
            };
            let key = next == b':' && inside == Kind::Object;
            if key && self.is_key_after_value(form) {
                return self.missing_comma(self.string.closed + 1);
            }
            // Adjacent strings are joined neither in a list, where a comma may be missing, nor on one line, where the
            // quotes may be text: `'cut -d ' ' -f 2'`.
            let in_list = match inside {
                Kind::Array => true,
                Kind::Object => false,
                Kind::Parentheses => next == b',' || self.frames.last().is_some_and(|frame| frame.comma),
            };
            if !key && !in_list && has_line_break(gap) {
                self.join_string(form)?;
                return Ok(State::After);
            }
        }
        self.reread_as_text(inside)
    }

    /// Returns whether the end of the last string and the beginning of a key of this form have the usual form. In other
    /// forms, quotes and commas may be transposed, `'a,' 'b': 1`, or both may be one string, `'x = ' '.split(':')'`.
    fn is_key_after_value(&self, form: Form) -> bool {
        let ends =
            |last: char| last.is_ascii_alphanumeric() || !last.is_ascii() || ")]}.!?;%/>*".contains(last);
        let ends = self.backwards(self.string.end).next().is_some_and(ends);
        let key = self.from(self.at + form.len()).chars().next();
        ends && key.is_some_and(|first| first.is_alphanumeric() || matches!(first, '_' | '$' | '@' | '-'))
    }

    /// Parses the closing quote of the last string as text, if it has no other reading.
    fn reread_as_text(&mut self, inside: Kind) -> Result<State, Failure> {
        let form = self.string.form;
        if inside == Kind::Parentheses || form != Form::DOUBLE && form != Form::SINGLE {
            return Err(self.expected_comma(inside));
        }
        match self.inner_quotes()? {
            Some(inner) => self.with_inner_quotes(&inner),
            None => Err(self.ends_there(inside)),
        }
    }

    fn with_inner_quotes(&mut self, inner: &[usize]) -> Result<State, Failure> {
        self.record_slip(FixCode::InnerQuote, self.string.end)?;
        self.reread_string(inner)?;
        Ok(State::After)
    }

    /// Returns the error for a string whose closing quote is not text, and whose successor is invalid.
    fn ends_there(&self, inside: Kind) -> Failure {
        let rest = self.from(self.at);
        if literal::opening(rest).is_none() && !rest.starts_with(char::is_alphanumeric) {
            return self.expected_comma(inside);
        }
        let message =
            "a comma is missing, or a quote in the string before is not escaped: it is ambiguous which";
        self.refuse(self.at, message)
    }
}

fn has_line_break(gap: [&str; 2]) -> bool {
    gap.iter().any(|space| space.contains(['\n', '\r']))
}
