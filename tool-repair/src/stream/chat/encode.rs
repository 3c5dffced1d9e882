//! Events of Chat Completions that are made here.

use std::fmt::Write;

use crate::sse::Event;
use crate::stream::json::cursor::Cursor;
use crate::stream::json::escapes;
use crate::stream::json::payload::{Payload, line_end};

/// The `delta` of one piece of one call.
pub(crate) fn delta(legacy: bool, index: Option<&str>, id: Option<&str>, rest: &str) -> String {
    if legacy {
        return format!(r#"{{"function_call":{{"arguments":"{rest}"}}}}"#);
    }
    let mut delta = r#"{"tool_calls":[{"#.to_owned();
    if let Some(index) = index {
        let _ = write!(delta, r#""index":{index},"#);
    }
    if let Some(id) = id {
        let mut written = String::new();
        escapes::encode(id, &mut written);
        let _ = write!(delta, r#""id":"{written}","#);
    }
    let _ = write!(delta, r#""function":{{"arguments":"{rest}"}}}}]}}"#);
    delta
}

/// An event that is like `last` in all that stands beside the choices and has no parts of its own: id, model,
/// creation time. What has parts, such as the usage, would be counted twice.
pub(crate) fn event(last: &[u8], choice: &str, delta: &str) -> Option<String> {
    let event = Event::whole(last);
    let payload = Payload::of(&event)?;
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

/// An error as Chat Completions streams report it.
pub(crate) fn error(message: &str, last: &[u8]) -> String {
    let mut contents = String::new();
    escapes::encode(message, &mut contents);
    let end = line_end(last);
    format!(
        r#"data: {{"error":{{"message":"{contents}","type":"invalid_tool_arguments","param":null,"code":"invalid_tool_arguments"}}}}{end}{end}"#
    )
}
