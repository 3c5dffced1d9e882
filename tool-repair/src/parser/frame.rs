//! The containers that are open, and where the parser stands in them.

/// What was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Array,
    Object,
    /// A tuple, or parentheses around one value.
    Parentheses,
}

impl Kind {
    /// The byte that closes it.
    pub(super) fn closer(self) -> u8 {
        match self {
            Self::Array => b']',
            Self::Object => b'}',
            Self::Parentheses => b')',
        }
    }
}

/// A container that is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// Where it was opened, from the start of the rest; 0 if that was before.
    pub(super) opened: usize,
    /// Where its contents begin in the output; 0 if that was before.
    pub(super) contents: usize,
    /// Whether a comma was seen: parentheses with one are a tuple.
    pub(super) comma: bool,
    /// Where the colon of its first pair is missing, until another pair has one.
    pub(super) lacks_colon: Option<usize>,
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Root,
    /// The first item or key of a container, or its end.
    First,
    /// What follows a comma.
    Next,
    Colon,
    Value,
    /// What follows a value inside a container.
    After,
    Done,
}
