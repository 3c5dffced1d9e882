//! Encodes events of Responses.

use std::fmt::Write;

use super::event::ResponsesEvent;
use crate::repairer::Status;
use crate::sse::Event;
use crate::stream::call::state::StreamState;
use crate::stream::call::step::Step;
use crate::stream::json::escapes;
use crate::stream::json::payload::{Payload, line_end};

/// Appends an event with the held arguments. If `last` is a delta event, the event is a copy of `last` with these arguments; otherwise it is
/// a new delta event with the ids of `last`.
pub(crate) fn rest(rest: &str, last: &[u8], out: &mut Vec<u8>) {
    let event = Event::whole(last);
    let Some(payload) = Payload::parse(&event) else {
        return;
    };
    let Some(located) = ResponsesEvent::parse(payload.text()) else {
        return;
    };
    if let Some(value) = &located.item.delta {
        payload.replace(value.span.clone(), rest.to_owned(), out);
    } else {
        let event = delta(&located, rest, event.name(), line_end(last));
        out.extend_from_slice(event.as_bytes());
    }
}

/// Appends an event that was held until the status of its call was known. A copy of repaired arguments in the event is
/// repaired, too.
pub(crate) fn held(raw: &[u8], status: Option<Status>, state: &StreamState, out: &mut Vec<u8>) {
    let event = Event::whole(raw);
    let payload = status.and_then(|_| Payload::parse(&event));
    let located = payload
        .as_ref()
        .and_then(|payload| ResponsesEvent::parse(payload.text()));
    let copy = located.and_then(|located| located.item.copy(status, state));
    match (payload, copy) {
        (Some(payload), Some(Step::Copy { span, contents })) => payload.replace(span, contents, out),
        _ => out.extend_from_slice(raw),
    }
}

/// Encodes an additional event with the held arguments of a call. `last` is the event with the call's last piece.
///
/// The event has the `sequence_number` of `last`, so all other events keep their numbers. A client that resumes with `starting_after`
/// therefore misses no event.
fn delta(last: &ResponsesEvent<'_>, rest: &str, name: Option<&str>, line_end: &str) -> String {
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

/// Encodes an error of a Responses stream.
pub(crate) fn error(message: &str, last: &[u8]) -> String {
    let event = Event::whole(last);
    let payload = Payload::parse(&event);
    let located = payload
        .as_ref()
        .and_then(|payload| ResponsesEvent::parse(payload.text()));
    let sequence_number = located.and_then(|located| located.sequence_number);
    let end = line_end(last);
    let mut contents = String::new();
    escapes::encode(message, &mut contents);
    let number = sequence_number
        .map(|number| format!(r#","sequence_number":{number}"#))
        .unwrap_or_default();
    format!(
        r#"event: error{end}data: {{"type":"error","code":"invalid_tool_arguments","message":"{contents}","param":null{number}}}{end}{end}"#
    )
}
