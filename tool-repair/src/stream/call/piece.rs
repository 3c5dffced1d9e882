//! A piece of arguments in an event, and its replacement.

use super::state::StreamState;
use crate::repairer::{Repairer, Status};
use crate::stream::json::cursor::contents;
use crate::stream::json::escapes;

/// A piece of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Contents of a string.
    Text(&'a str),
    /// Text of an object in place of a string.
    Object(&'a str),
}

impl<'a> Piece<'a> {
    /// Creates a piece from a string or an object; `None` for any other value.
    pub(crate) fn from_value(value: &'a str) -> Option<Self> {
        match value.as_bytes().first()? {
            b'"' => contents(value).map(Self::Text),
            b'{' => Some(Self::Object(value)),
            _ => None,
        }
    }

    /// Returns whether the piece is only white space.
    pub(crate) fn is_blank(self) -> bool {
        let Self::Text(text) = self else { return false };
        trim_start(text).is_empty()
    }

    /// Returns whether the piece begins like an object or a list.
    pub(crate) fn begins_arguments(self) -> bool {
        let (Self::Text(text) | Self::Object(text)) = self;
        trim_start(text).starts_with(['{', '['])
    }

    /// Returns the piece as the contents of a string.
    pub(crate) fn contents(self) -> String {
        match self {
            Self::Text(raw) => raw.to_owned(),
            Self::Object(raw) => encoded(raw),
        }
    }

    /// Returns the replacement for a copy of repaired arguments; `None` if the copy may stay unchanged.
    pub(crate) fn repaired_copy(self, state: &StreamState) -> Option<String> {
        let raw = match self {
            Self::Text(raw) => raw,
            Self::Object(raw) => return Some(encoded(raw)),
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
}

/// Returns the contents of a JSON string after leading white space.
fn trim_start(mut contents: &str) -> &str {
    while let Some(rest) = [" ", "\\n", "\\r", "\\t"]
        .iter()
        .find_map(|space| contents.strip_prefix(space))
    {
        contents = rest;
    }
    contents
}

/// Encodes a text as the contents of a JSON string.
pub(crate) fn encoded(text: &str) -> String {
    let mut contents = String::with_capacity(text.len() + 16);
    escapes::encode(text, &mut contents);
    contents
}
