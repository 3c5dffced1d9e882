//! Encodes events of Anthropic's Messages API.

use super::event::AnthropicEvent;
use crate::sse::Event;
use crate::stream::json::escapes;
use crate::stream::json::payload::{Payload, line_end};

/// Appends `last` with the rest of a call's arguments as its `partial_json`.
pub(crate) fn rest(rest: &str, last: &[u8], out: &mut Vec<u8>) {
    let event = Event::whole(last);
    if let Some(payload) = Payload::parse(&event)
        && let Some(value) = AnthropicEvent::parse(payload.text()).and_then(|located| located.partial_json)
    {
        payload.replace(value.span, rest.to_owned(), out);
    }
}

/// Encodes an error of a Messages stream.
pub(crate) fn error(message: &str, last: &[u8]) -> String {
    let mut contents = String::new();
    escapes::encode(message, &mut contents);
    let end = line_end(last);
    format!(
        r#"event: error{end}data: {{"type":"error","error":{{"type":"api_error","message":"{contents}"}}}}{end}{end}"#
    )
}
