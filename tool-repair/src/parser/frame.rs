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

    /// That something else follows a value in it.
    pub(super) fn expected_comma(self) -> &'static str {
        match self {
            Self::Array => "expected a comma or `]`",
            Self::Object => "expected a comma or `}`",
            Self::Parentheses => "expected a comma or `)`",
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
    /// Whether adjacent strings in it became one.
    pub(super) joined: bool,
}

/// Where a comma stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Comma {
    /// From the start of the rest.
    pub(super) at: usize,
    /// In the output.
    pub(super) written: usize,
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Root,
    /// The first item or key of a container, or its end.
    First,
    /// What follows a comma, if it can still be removed.
    Next {
        comma: Option<Comma>,
    },
    Colon,
    Value,
    /// What follows a value inside a container.
    After(Last),
    Done,
}

/// The value that something follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    String,
    Number,
    /// A container that ended with this byte.
    Container(u8),
    /// A literal, or parentheses around a value.
    Other,
}
