//! The open containers, and the states of the parser in them.

/// Kind of an open container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Array,
    Object,
    /// A tuple, or parentheses around one value.
    Parentheses,
}

impl Kind {
    /// Returns the closing bracket.
    pub(super) fn closer(self) -> u8 {
        match self {
            Self::Array => b']',
            Self::Object => b'}',
            Self::Parentheses => b')',
        }
    }
}

/// An open container.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenContainer {
    pub(super) kind: Kind,
    /// Offset of its opening bracket from the start of the rest; 0 if it was opened before.
    pub(super) opened: usize,
    /// Start of its contents in the output; 0 if it was opened before.
    pub(super) contents: usize,
    /// Whether a comma was seen: parentheses with one are a tuple.
    pub(super) comma: bool,
    /// Position of a missing colon in its first pair, until another pair has one.
    pub(super) lacks_colon: Option<usize>,
}

/// The token that may be next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Root,
    /// The first item or key of a container, or its end.
    First,
    /// After a comma.
    Next,
    Colon,
    Value,
    /// After a value inside a container.
    After,
    Done,
}
