//! Parses keys: strings, names without quotes, integers.

use super::evidence::Level;
use super::failure::Failure;
use super::frame::State;
use super::literal;
use super::state::{Parser, SPACE};
use crate::fixes::FixCode;

impl Parser<'_> {
    /// Parses a key, and the following text if it has the usual form.
    pub(super) fn parse_key(&mut self) -> Result<State, Failure> {
        if let Some(state) = self.plain_members() {
            return Ok(state);
        }
        let rest = self.from(self.at);
        match literal::opening(rest) {
            // This arm precedes the arm of prefixes, since a name of one letter looks like a prefix.
            _ if lost_opening_quote(rest) => self.name_key()?,
            Some(form) => self.parse_string(form, true)?,
            None => match rest.bytes().next() {
                None => return Err(self.ends()),
                Some(b'0'..=b'9' | b'+' | b'-' | b'.') => self.number_key()?,
                _ => self.name_key()?,
            },
        }
        Ok(State::Colon)
    }

    fn name_key(&mut self) -> Result<(), Failure> {
        let at = self.at;
        let rest = self.from(at);
        let name = rest.get(..name(rest)).unwrap_or_default();
        self.refuse_if(name.is_empty(), at, "expected a key")?;
        // The key `True` is `"true"` or `"True"`, depending on the serializer.
        let message = "a literal of Python as a key, which JSON writes as a string: in one of two ways";
        self.refuse_if(matches!(name, "True" | "False" | "None"), at, message)?;
        let opening_quote_lost = lost_opening_quote(rest);
        if opening_quote_lost {
            self.record_slip(FixCode::UnquotedKey, at)?;
        } else {
            self.evidence.record(Level::NotJson);
        }
        self.fix(FixCode::UnquotedKey, at);
        self.out.push('"');
        self.copy(name.len());
        self.out.push('"');
        self.at += usize::from(opening_quote_lost);
        Ok(())
    }

    fn number_key(&mut self) -> Result<(), Failure> {
        let at = self.at;
        let number = self.number()?;
        let message = "a key that is no integer, which JSON writes as a string: in one of several ways";
        self.refuse_if(number.json.contains(['.', 'e', 'E']), at, message)?;
        self.fix(FixCode::NumberKey, at);
        self.out.push('"');
        // Python's integers have no negative zero.
        let digits = if number.json == "-0" { "0" } else { &*number.json };
        self.out.push_str(digits);
        self.out.push('"');
        self.at += number.len;
        Ok(())
    }
}

/// Returns whether `text` begins with a string or a name, and a colon; `None` if the text ends before the colon.
pub(super) fn follows(text: &str) -> Option<bool> {
    let end = match literal::opening(text) {
        Some(form) => literal::end(text, form)?,
        None => name(text),
    };
    let after = text.get(end..)?.trim_start_matches(SPACE);
    (!after.is_empty()).then(|| end > 0 && after.starts_with(':'))
}

/// Returns the length of the name at the start of `text`.
fn name(text: &str) -> usize {
    let begins = |first: char| first.is_alphabetic() || matches!(first, '_' | '$');
    if !text.starts_with(begins) {
        return 0;
    }
    let part = |next: char| next.is_alphanumeric() || "_$-\u{200c}\u{200d}\u{203f}\u{2040}".contains(next);
    text.find(|next| !part(next)).unwrap_or(text.len())
}

/// Returns whether `text` begins with a name, a quote and a colon: `name": 1`.
fn lost_opening_quote(text: &str) -> bool {
    let after = text.get(name(text)..).unwrap_or_default();
    after.len() < text.len() && after.strip_prefix('"').is_some_and(colon_follows)
}

/// Returns whether `text` begins with optional white space and a colon.
fn colon_follows(text: &str) -> bool {
    text.trim_start_matches(SPACE).starts_with(':')
}
