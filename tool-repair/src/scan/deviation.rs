//! The position at which a text stops being JSON: the interface from the scanner to the repair of the rest.

use crate::stack::Stack;

/// The position at which a text stops being JSON, and the state of the scanner that a repair needs.
#[derive(Debug, Clone)]
pub(crate) struct Deviation {
    /// Start of the repair: the first byte that was not passed on, from the start of the text.
    pub(crate) at: usize,
    /// The unexpected byte, from the start of the text.
    pub(crate) found: usize,
    /// State at `at`.
    pub(crate) place: Place,
    pub(crate) stack: Stack,
    /// Start of the string that is open at `at` (or whose closing quote is there): its opening quote.
    pub(crate) opening_quote: usize,
    /// A limit was exceeded: bytes that are needed again were dropped, so nothing can be repaired.
    pub(crate) over_limit: Option<&'static str>,
}

/// State in which the scanner stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the value of the whole text; only white space came before.
    Root,
    /// Before the first key of an object, or its end.
    FirstKey,
    /// Before the first item of an array, or its end.
    FirstItem,
    /// Before an item of an array, after a comma that was passed on.
    Item,
    /// Before the colon after a key.
    Colon,
    /// Before the value after a colon.
    Value,
    /// In a string in double quotes, or before its closing quote.
    String { key: bool },
    /// After a value inside a container.
    After,
    /// After the value of the whole text: only white space may follow.
    Done,
}
