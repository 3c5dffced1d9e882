//! The usual form of a Python dict, `'key': 'value', 'key': 'value'`, in one loop: what is in any way unusual is
//! left to the states.

use super::frame::{Kind, State};
use super::literal::{Form, Literal};
use super::state::Parser;
use super::string::note_single_quotes;
use crate::scan::plain_before;

/// Reads the members that begin here, as far as they are of the usual form. `None` where a key belongs that is to
/// be read by itself.
pub(super) fn members(parser: &mut Parser<'_>) -> Option<State> {
    let bytes = parser.text.as_bytes();
    loop {
        let key = parser.at;
        let key_end = string_end(bytes, key)?;
        let value = match bytes.get(key_end + 1..)? {
            [b':', b' ', ..] => key_end + 3,
            _ => return None,
        };
        note_single_quotes(parser, key);
        parser.out.push('"');
        copy(parser, key + 1, key_end);
        let Some(value_end) = string_end(bytes, value) else {
            parser.out.push_str("\": ");
            parser.at = value;
            return Some(State::Value);
        };
        note_single_quotes(parser, value);
        parser.out.push_str("\": \"");
        copy(parser, value + 1, value_end);
        if let Some([b',', b' ', b'\'', ..]) = bytes.get(value_end + 1..) {
            parser.out.push_str("\", ");
            parser.at = value_end + 3;
            continue;
        }
        close(parser, value, value_end);
        return Some(State::After);
    }
}

/// Reads the strings that begin here, in an array as many as there are. Whether the last of them is to be followed
/// by something else than a string; otherwise another value begins here, which is to be read by itself.
pub(super) fn strings(parser: &mut Parser<'_>) -> bool {
    let bytes = parser.text.as_bytes();
    let in_array = parser.inside() == Some(Kind::Array);
    while let Some(end) = string_end(bytes, parser.at) {
        let at = parser.at;
        note_single_quotes(parser, at);
        parser.out.push('"');
        copy(parser, at + 1, end);
        if !in_array || !matches!(bytes.get(end + 1..), Some([b',', b' ', b'\'', ..])) {
            close(parser, at, end);
            return true;
        }
        parser.out.push_str("\", ");
        parser.at = end + 3;
    }
    false
}

fn close(parser: &mut Parser<'_>, began: usize, end: usize) {
    parser.string = Literal::new(Form::SINGLE, false, parser.base + began);
    parser.string.end = end;
    parser.string.closed = parser.out.len();
    parser.out.push('"');
    parser.at = end + 1;
}

#[inline]
fn copy(parser: &mut Parser<'_>, from: usize, to: usize) {
    parser.out.push_str(parser.text.get(from..to).unwrap_or_default());
}

/// Where the single quote stands that closes the string that a single quote at `at` opens, if nothing in it needs
/// any care.
#[inline]
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let [b'\'', contents @ ..] = bytes.get(at..)? else {
        return None;
    };
    let len = plain_before(contents, b'\'');
    match contents.get(len..)? {
        [b'\'', b'\'', ..] if len == 0 => None,
        [b'\'', ..] => Some(at + 1 + len),
        _ => None,
    }
}
