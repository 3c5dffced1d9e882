//! Serialized messages: as one JSON object, or as the events of a stream.

use bytes::Bytes;

use super::block::{Deltas, ScriptBlock};
use super::raw_object::RawObject;
use super::template::{Template, TemplateWriter};
use super::turn::ScriptMessage;

/// A message of the script, serialized once for all responses.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) message: ScriptMessage,
    /// Events from `content_block_start` of the first block to `content_block_stop` of the last block.
    blocks: Vec<Template>,
    /// JSON array of blocks.
    content: Template,
}

/// Parts of a response that the script does not set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Response<'a> {
    /// Number of the response, from 1.
    pub(super) number: u64,
    /// Model that the request names.
    pub(super) model: &'a str,
    pub(super) input_tokens: usize,
}

impl Rendered {
    pub(super) fn new(message: ScriptMessage) -> Self {
        let mut blocks = Vec::new();
        let mut content = TemplateWriter::default();
        content.push_str("[");
        for (index, block) in message.blocks.iter().enumerate() {
            push_events(&mut blocks, index, block, message.delta_size);
            if index > 0 {
                content.push_str(",");
            }
            push_object(&mut content, &block.complete, block.needs_id.then_some(index));
        }
        content.push_str("]");
        Self {
            message,
            blocks,
            content: content.finish(),
        }
    }

    /// Returns the message as one object.
    pub(super) fn json(&self, response: Response<'_>) -> Bytes {
        let content = self.content.fill(response.number);
        let head = self.head(response);
        let stop_reason = quoted(&self.message.stop_reason);
        let usage = self.usage(response, false);
        let mut json = Vec::with_capacity(head.len() + content.len() + usage.len() + 100);
        for part in [
            "{",
            &head,
            ",\"content\":",
            &String::from_utf8_lossy(&content),
            ",\"stop_reason\":",
            &stop_reason,
            ",\"stop_sequence\":null,\"usage\":",
            &usage,
            "}",
        ] {
            json.extend_from_slice(part.as_bytes());
        }
        json.into()
    }

    /// Returns the events up to `content_block_stop` of the last block.
    pub(super) fn opening_events(&self, response: Response<'_>) -> Vec<Bytes> {
        let mut events = Vec::with_capacity(self.blocks.len() + 4);
        let (head, usage) = (self.head(response), self.usage(response, true));
        let message = format!(
            "{{{head},\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{usage}}}"
        );
        events.push(event("message_start", &format!(",\"message\":{message}")).into());
        if self.message.ping {
            events.push(event("ping", "").into());
        }
        events.extend(self.blocks.iter().map(|block| block.fill(response.number)));
        events
    }

    /// Returns `message_delta` and `message_stop`.
    pub(super) fn closing_events(&self, response: Response<'_>) -> [Bytes; 2] {
        let stop_reason = quoted(&self.message.stop_reason);
        let usage = self.usage(response, false);
        let delta =
            format!(",\"delta\":{{\"stop_reason\":{stop_reason},\"stop_sequence\":null}},\"usage\":{usage}");
        [
            event("message_delta", &delta).into(),
            event("message_stop", "").into(),
        ]
    }

    fn head(&self, response: Response<'_>) -> String {
        let id = match &self.message.id {
            Some(id) => quoted(id),
            None => format!("\"msg_script_{:04}\"", response.number),
        };
        let model = quoted(self.message.model.as_deref().unwrap_or(response.model));
        format!("\"id\":{id},\"type\":\"message\",\"role\":\"assistant\",\"model\":{model}")
    }

    /// Returns the usage. `message_start` reports one output token.
    fn usage(&self, response: Response<'_>, at_start: bool) -> String {
        let usage = &self.message.usage;
        let output_tokens = if at_start {
            1
        } else {
            (self.content.len() / 4).max(1)
        };
        let mut parts = Vec::new();
        if !usage.has_input_tokens {
            parts.push(format!("\"input_tokens\":{}", response.input_tokens));
        }
        for (name, value) in usage.members.members() {
            let value = if at_start && name == "output_tokens" {
                "1"
            } else {
                value
            };
            parts.push(format!("{}:{value}", quoted(name)));
        }
        if !usage.has_output_tokens {
            parts.push(format!("\"output_tokens\":{output_tokens}"));
        }
        format!("{{{}}}", parts.join(","))
    }
}

/// Builds an event of this type. `rest` is empty or begins with a comma.
fn event(kind: &str, rest: &str) -> String {
    format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n")
}

fn push_events(events: &mut Vec<Template>, index: usize, block: &ScriptBlock, delta_size: usize) {
    let mut start = TemplateWriter::default();
    start.push_str("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":");
    start.push_str(&index.to_string());
    start.push_str(",\"content_block\":");
    push_object(&mut start, &block.start, block.needs_id.then_some(index));
    start.push_str("}\n\n");
    events.push(start.finish());
    let mut push = |kind, rest: &str| {
        let mut writer = TemplateWriter::default();
        writer.push_str(&event(kind, &format!(",\"index\":{index}{rest}")));
        events.push(writer.finish());
    };
    for deltas in &block.deltas {
        for piece in pieces(deltas, delta_size) {
            let (kind, member, piece) = (deltas.kind, deltas.member, quoted(piece));
            let delta = format!(",\"delta\":{{\"type\":\"{kind}\",\"{member}\":{piece}}}");
            push("content_block_delta", &delta);
        }
    }
    push("content_block_stop", "");
}

/// Splits the text into pieces of this many characters.
pub(super) fn pieces(deltas: &Deltas, size: usize) -> Vec<&str> {
    let mut pieces = if deltas.empty_first { vec![""] } else { Vec::new() };
    let mut rest = deltas.text.as_str();
    while !rest.is_empty() {
        let end = rest.char_indices().nth(size).filter(|_| deltas.in_pieces);
        let (piece, after) = rest.split_at(end.map_or(rest.len(), |(end, _)| end));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Writes an object. A missing id is inserted after the type.
fn push_object(writer: &mut TemplateWriter, object: &RawObject, id_of: Option<usize>) {
    writer.push_str("{");
    for (place, (name, value)) in object.members().enumerate() {
        if place > 0 {
            writer.push_str(",");
        }
        writer.push_str(&quoted(name));
        writer.push_str(":");
        writer.push_str(value);
        if let ("type", Some(block)) = (name, id_of) {
            writer.push_str(",\"id\":\"");
            writer.push_id(block);
            writer.push_str("\"");
        }
    }
    writer.push_str("}");
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
