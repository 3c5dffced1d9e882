//! Open containers, and the states of the parser in them.

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
    /// Offset of the opening bracket from the start of the rest; 0 if it is before the rest.
    pub(super) opened: usize,
    /// Start of the contents in the output; 0 if the container was opened before the rest.
    pub(super) contents: usize,
    /// Whether the container has a comma: parentheses with a comma are a tuple.
    pub(super) comma: bool,
    /// Position of a missing colon, until another pair of the object has a colon.
    pub(super) lacks_colon: Option<usize>,
}

/// Expected kind of the next token.
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
