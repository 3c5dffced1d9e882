//! Fast path for the usual form of a Python dict, `'key': 'value', 'key': 'value'`. The states of the parser handle all
//! other forms.

use super::frame::{Kind, State};
use super::literal::{Form, StringLiteral};
use super::state::Parser;
use crate::scan::plain_before;

impl Parser<'_> {
    /// Parses members in the usual form. Returns `None` at a key in another form.
    pub(super) fn plain_members(&mut self) -> Option<State> {
        while self.plain_string() {
            if !self.rest().starts_with(b": ") {
                return Some(State::Colon);
            }
            self.copy(2);
            if !self.plain_string() {
                return Some(State::Value);
            }
            if !self.rest().starts_with(b", '") {
                return Some(State::After);
            }
            self.copy(2);
        }
        None
    }

    /// Parses a string in an object, or consecutive strings in an array. Returns whether a token other than a string
    /// must follow the last string. If not, another value begins here.
    pub(super) fn plain_strings(&mut self) -> bool {
        let in_array = self.inside() == Some(Kind::Array);
        while self.plain_string() {
            if !in_array || !self.rest().starts_with(b", '") {
                return true;
            }
            self.copy(2);
        }
        false
    }

    /// Parses a string in single quotes without characters that need escapes.
    #[inline]
    fn plain_string(&mut self) -> bool {
        let [b'\'', contents @ ..] = self.rest() else {
            return false;
        };
        let len = plain_before(contents, b'\'');
        match contents.get(len..) {
            Some([b'\'', b'\'', ..]) if len == 0 => return false,
            Some([b'\'', ..]) => {}
            _ => return false,
        }
        let begin = self.at + 1;
        self.record_single_quotes(self.at);
        self.string = StringLiteral::new(Form::SINGLE, false, self.base + self.at);
        self.string.end = begin + len;
        self.out.push('"');
        let contents = self.text.get(begin..begin + len);
        self.out.push_str(contents.unwrap_or_default());
        self.string.closed = self.out.len();
        self.out.push('"');
        self.at = begin + len + 1;
        true
    }
}
