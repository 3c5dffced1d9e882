//! Payloads: one or more calls. The syntax of a payload determines its end.

mod forms;
mod json;
mod python;
mod parameters;
mod head;
mod reader;

use super::source::{Lookahead, Source};

pub(super) use forms::Forms;
pub(super) use reader::{PayloadReader, PayloadStep, is_separator};

/// Returns whether a payload that needs no opener begins here: a call of Harmony, or near the beginning of a line
/// `<function=NAME>` or `<invoke name="NAME">`.
pub(super) fn is_opener(source: Source<'_>, at: usize, starts_line: bool) -> Lookahead<()> {
    let mut found = head::harmony(source, at);
    if starts_line {
        found = found
            .or_else(|| head::function(source, at))
            .or_else(|| head::invoke(source, at));
    }
    found.map(|_| ())
}
