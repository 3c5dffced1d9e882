//! What one event carries of the arguments of a call, and how text is put in its place.

use super::state::StreamState;
use crate::repairer::{Repairer, Status};
use crate::stream::json::cursor::contents;
use crate::stream::json::escapes;

/// What one event says of the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// What stands between the quotes of a string.
    Text(&'a str),
    /// The text of an object that stands where the string belongs.
    Object(&'a str),
}

impl<'a> Piece<'a> {
    /// The piece that a value is; `null` and everything else is none.
    pub(crate) fn of(value: &'a str) -> Option<Self> {
        match value.as_bytes().first()? {
            b'"' => contents(value).map(Self::Text),
            b'{' => Some(Self::Object(value)),
            _ => None,
        }
    }

    /// Whether it is white space alone.
    pub(crate) fn is_blank(self) -> bool {
        let Self::Text(text) = self else { return false };
        trim_start(text).is_empty()
    }

    /// Whether it begins like an object or a list.
    pub(crate) fn begins_arguments(self) -> bool {
        let (Self::Text(text) | Self::Object(text)) = self;
        trim_start(text).starts_with(['{', '['])
    }

    /// As it stands between the quotes of a string.
    pub(crate) fn contents(self) -> String {
        match self {
            Self::Text(raw) => raw.to_owned(),
            Self::Object(raw) => encoded(raw),
        }
    }
}

/// What stands in a string of JSON after white space.
fn trim_start(mut contents: &str) -> &str {
    while let Some(rest) = [" ", "\\n", "\\r", "\\t"]
        .iter()
        .find_map(|space| contents.strip_prefix(space))
    {
        contents = rest;
    }
    contents
}

/// What takes the place of a copy of arguments that were repaired; `None` when it may stay as it is.
pub(crate) fn repaired_copy(piece: Piece<'_>, state: &StreamState) -> Option<String> {
    let raw = match piece {
        Piece::Text(raw) => raw,
        Piece::Object(raw) => return Some(encoded(raw)),
    };
    let (mut half, mut text) = (None, String::with_capacity(raw.len()));
    escapes::decode(raw, &mut half, &mut text).ok()?;
    if half.is_some() {
        return None;
    }
    let mut repairer = Repairer::with(state.limits.arguments).validate(state.fixing.strict_validation);
    let mut contents = encoded(repairer.push(&text));
    let finished = repairer.finish();
    if finished.status != Status::Repaired {
        return None;
    }
    escapes::encode(&finished.rest, &mut contents);
    Some(contents)
}

/// A text as it stands between the quotes of a JSON string.
pub(crate) fn encoded(text: &str) -> String {
    let mut contents = String::with_capacity(text.len() + 16);
    escapes::encode(text, &mut contents);
    contents
}
