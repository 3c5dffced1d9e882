//! The usual form of a Python dict, `'key': 'value', 'key': 'value'`, in one loop: what is in any way unusual is
//! left to the states.

use super::draft::Draft;
use super::frame::{Kind, Last, State};
use super::literal::{Form, Literal};
use super::string::{note_single_quotes, plain};

/// Reads the members that begin here, as far as they are of the usual form. `None` where a key belongs that is to
/// be read by itself.
pub(super) fn members(draft: &mut Draft<'_>) -> Option<State> {
    let bytes = draft.text.as_bytes();
    loop {
        let key = draft.at;
        let key_end = string_end(bytes, key)?;
        let value = match bytes.get(key_end + 1..)? {
            [b':', b' ', ..] => key_end + 3,
            _ => return None,
        };
        note_single_quotes(draft, key);
        draft.out.push('"');
        copy(draft, key + 1, key_end);
        let Some(value_end) = string_end(bytes, value) else {
            draft.out.push_str("\": ");
            draft.at = value;
            return Some(State::Value);
        };
        note_single_quotes(draft, value);
        draft.out.push_str("\": \"");
        copy(draft, value + 1, value_end);
        if let Some([b',', b' ', b'\'', ..]) = bytes.get(value_end + 1..) {
            draft.out.push_str("\", ");
            draft.at = value_end + 3;
            continue;
        }
        close(draft, value, value_end);
        return Some(State::After(Last::String));
    }
}

/// Reads the strings that begin here, in an array as many as there are. Whether the last of them is to be followed
/// by something else than a string; otherwise another value begins here, which is to be read by itself.
pub(super) fn strings(draft: &mut Draft<'_>) -> bool {
    let bytes = draft.text.as_bytes();
    let in_array = draft.inside() == Some(Kind::Array);
    while let Some(end) = string_end(bytes, draft.at) {
        let at = draft.at;
        note_single_quotes(draft, at);
        draft.out.push('"');
        copy(draft, at + 1, end);
        if !in_array || !matches!(bytes.get(end + 1..), Some([b',', b' ', b'\'', ..])) {
            close(draft, at, end);
            return true;
        }
        draft.out.push_str("\", ");
        draft.at = end + 3;
    }
    false
}

fn close(draft: &mut Draft<'_>, began: usize, end: usize) {
    draft.string = Literal::new(Form::SINGLE, false, draft.base + began);
    draft.string.end = end;
    draft.string.closed = draft.out.len();
    draft.out.push('"');
    draft.at = end + 1;
}

#[inline]
fn copy(draft: &mut Draft<'_>, from: usize, to: usize) {
    draft.out.push_str(draft.text.get(from..to).unwrap_or_default());
}

/// Where the single quote stands that closes the string that a single quote at `at` opens, if nothing in it needs
/// any care.
#[inline]
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let [b'\'', contents @ ..] = bytes.get(at..)? else {
        return None;
    };
    let len = plain(contents, b'\'');
    match contents.get(len..)? {
        [b'\'', b'\'', ..] if len == 0 => None,
        [b'\'', ..] => Some(at + 1 + len),
        _ => None,
    }
}
