//! Parses the usual form of a Python dict, `'key': 'value', 'key': 'value'`, in one loop; the states handle every other
//! form.

use super::frame::{Kind, State};
use super::literal::{Form, Literal};
use super::state::Parser;
use super::string::note_single_quotes;
use crate::scan::plain_before;

/// Parses members of the usual form. Returns `None` at a key that has to be parsed separately.
pub(super) fn members(parser: &mut Parser<'_>) -> Option<State> {
    while string(parser) {
        if !parser.rest().starts_with(b": ") {
            return Some(State::Colon);
        }
        parser.copy(2);
        if !string(parser) {
            return Some(State::Value);
        }
        if !parser.rest().starts_with(b", '") {
            return Some(State::After);
        }
        parser.copy(2);
    }
    None
}

/// Parses strings, in an array as many as there are. Returns whether a token other than a string has to follow the last
/// one; otherwise another value begins here.
pub(super) fn strings(parser: &mut Parser<'_>) -> bool {
    let in_array = parser.inside() == Some(Kind::Array);
    while string(parser) {
        if !in_array || !parser.rest().starts_with(b", '") {
            return true;
        }
        parser.copy(2);
    }
    false
}

/// Parses a string in single quotes, if it needs no escapes.
#[inline]
fn string(parser: &mut Parser<'_>) -> bool {
    let [b'\'', contents @ ..] = parser.rest() else {
        return false;
    };
    let len = plain_before(contents, b'\'');
    match contents.get(len..) {
        Some([b'\'', b'\'', ..]) if len == 0 => return false,
        Some([b'\'', ..]) => {}
        _ => return false,
    }
    let begin = parser.at + 1;
    note_single_quotes(parser, parser.at);
    parser.string = Literal::new(Form::SINGLE, false, parser.base + parser.at);
    parser.string.end = begin + len;
    parser.out.push('"');
    let contents = parser.text.get(begin..begin + len);
    parser.out.push_str(contents.unwrap_or_default());
    parser.string.closed = parser.out.len();
    parser.out.push('"');
    parser.at = begin + len + 1;
    true
}
