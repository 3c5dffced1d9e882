//! Where a text stops being JSON, as the scanner tells it to the repair of the rest.

use crate::stack::Stack;

/// Where a text stops being JSON, and all that a repair must know of what came before.
#[derive(Debug, Clone)]
pub(crate) struct Deviation {
    /// Where the repair takes over: the first byte that was not passed on, from the start of the text.
    pub(crate) at: usize,
    /// The byte that has no place, from the start of the text.
    pub(crate) found: usize,
    /// What stands at `at`.
    pub(crate) place: Place,
    pub(crate) stack: Stack,
    /// Where the string that is open at `at` (or whose closing quote stands there) began: its opening quote.
    pub(crate) opening_quote: usize,
    /// A limit was met here: bytes that would have to be seen again are gone, so nothing can be repaired.
    pub(crate) over_limit: Option<&'static str>,
}

/// What may come where the scanner stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The value of the whole text; nothing but white space came before.
    Root,
    /// The first key of an object, or its end.
    FirstKey,
    /// The first item of an array, or its end.
    FirstItem,
    /// An item of an array, after a comma that was passed on.
    Item,
    /// The colon after a key.
    Colon,
    /// The value after a colon.
    Value,
    /// The contents of a string in double quotes, or its closing quote.
    String { key: bool },
    /// What follows a value inside a container.
    After,
    /// Nothing but white space.
    Done,
}
