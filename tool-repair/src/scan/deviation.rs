//! Position at which a text stops being JSON: the interface between the scanner and the repair of the rest.

use crate::stack::Stack;

/// Position at which a text stops being JSON, and the scanner's state for a repair.
#[derive(Debug, Clone)]
pub(crate) struct Deviation {
    /// Start of the repair: the first byte that was not passed on, from the start of the text.
    pub(crate) at: usize,
    /// Position of the unexpected byte, from the start of the text.
    pub(crate) found: usize,
    /// State at `at`.
    pub(crate) place: Place,
    pub(crate) stack: Stack,
    /// Opening quote of the string that is open at `at`, or whose closing quote is at `at`.
    pub(crate) opening_quote: usize,
    /// Exceeded limit, if bytes that a repair needs were passed on or dropped. The text is then refused.
    pub(crate) over_limit: Option<&'static str>,
}

/// State in which the scanner stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the value of the whole text; only white space was read.
    Root,
    /// Before the first key of an object, or its end.
    FirstKey,
    /// Before the first item of an array, or its end.
    FirstItem,
    /// Before an item of an array, after a passed comma.
    Item,
    /// Before the colon after a key.
    Colon,
    /// Before the value after a colon.
    Value,
    /// Inside of a string in double quotes, or before its closing quote.
    String { key: bool },
    /// After a value inside a container.
    After,
    /// After the value of the whole text: only white space may follow.
    Done,
}
