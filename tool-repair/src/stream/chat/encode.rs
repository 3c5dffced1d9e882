//! Encodes events of Chat Completions.

use std::fmt::Write;

use crate::sse::Event;
use crate::stream::call::step::ChatAddress;
use crate::stream::json::cursor::Cursor;
use crate::stream::json::escapes;
use crate::stream::json::payload::{Payload, line_end};

/// Returns an event with the rest of a call's arguments, modelled on `last`; `None` if `last` is not an event of this
/// dialect.
///
/// The event repeats all scalar members of `last` beside the choices: id, model, creation time. Objects are omitted,
/// since the usage would be counted twice.
pub(crate) fn rest(address: &ChatAddress, rest: &str, last: &[u8]) -> Option<String> {
    let event = Event::whole(last);
    let payload = Payload::parse(&event)?;
    let (choice, delta) = (&address.choice, delta(address, rest));
    let mut members = String::new();
    Cursor::new(payload.text()).object(|key, cursor| {
        let first = cursor.peek()?;
        let value = cursor.value()?;
        if key == "choices" {
            let _ = write!(
                members,
                r#""choices":[{{"index":{choice},"delta":{delta},"finish_reason":null}}],"#
            );
        } else if !matches!(first, b'{' | b'[') && key != "usage" {
            let _ = write!(members, r#""{key}":{},"#, payload.slice(&value));
        }
        Some(())
    })?;
    let end = line_end(last);
    let name = event
        .name()
        .map(|name| format!("event: {name}{end}"))
        .unwrap_or_default();
    let members = members.trim_end_matches(',').replace(['\n', '\r'], " ");
    Some(format!("{name}data: {{{members}}}{end}{end}"))
}

/// Encodes the `delta` for a piece of a call.
fn delta(address: &ChatAddress, rest: &str) -> String {
    if address.legacy {
        return format!(r#"{{"function_call":{{"arguments":"{rest}"}}}}"#);
    }
    let mut delta = r#"{"tool_calls":[{"#.to_owned();
    if let Some(index) = &address.index {
        let _ = write!(delta, r#""index":{index},"#);
    }
    if let Some(id) = &address.id {
        let mut written = String::new();
        escapes::encode(id, &mut written);
        let _ = write!(delta, r#""id":"{written}","#);
    }
    let _ = write!(delta, r#""function":{{"arguments":"{rest}"}}}}]}}"#);
    delta
}

/// Encodes an error of a Chat Completions stream.
pub(crate) fn error(message: &str, last: &[u8]) -> String {
    let mut contents = String::new();
    escapes::encode(message, &mut contents);
    let end = line_end(last);
    format!(
        r#"data: {{"error":{{"message":"{contents}","type":"invalid_tool_arguments","param":null,"code":"invalid_tool_arguments"}}}}{end}{end}"#
    )
}
