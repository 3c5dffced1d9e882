//! Events of Responses that are made here.

use std::fmt::Write;

use super::event::Located;
use crate::stream::json::escapes;

/// An event with a further piece of a call's arguments, beside `last`, the one that carried the first.
///
/// It repeats that one's `sequence_number`, as if the event had come in two halves: all other events keep theirs, and
/// who takes the stream up again after it misses nothing.
pub(crate) fn delta(last: &Located<'_>, rest: &str, name: Option<&str>, line_end: &str) -> String {
    const KIND: &str = "response.function_call_arguments.delta";
    let mut event = name
        .map(|_| format!("event: {KIND}{line_end}"))
        .unwrap_or_default();
    let _ = write!(event, r#"data: {{"type":"{KIND}""#);
    if let Some(number) = last.sequence_number {
        let _ = write!(event, r#","sequence_number":{number}"#);
    }
    if let Some(id) = &last.item.id {
        let mut written = String::new();
        escapes::encode(id, &mut written);
        let _ = write!(event, r#","item_id":"{written}""#);
    }
    if let Some(index) = last.item.output_index {
        let _ = write!(event, r#","output_index":{index}"#);
    }
    let _ = write!(event, r#","delta":"{rest}"}}{line_end}{line_end}"#);
    event
}

/// An error as streams of Responses report it.
pub(crate) fn error(message: &str, sequence_number: Option<&str>, line_end: &str) -> String {
    let mut contents = String::new();
    escapes::encode(message, &mut contents);
    let number = sequence_number
        .map(|number| format!(r#","sequence_number":{number}"#))
        .unwrap_or_default();
    format!(
        r#"event: error{line_end}data: {{"type":"error","code":"invalid_tool_arguments","message":"{contents}","param":null{number}}}{line_end}{line_end}"#
    )
}
