//! [`ResponseReader`]: reads a whole response from a stream.

use serde_json::{Map, Value};

use super::response::{ReadBlock, Response, is_cut_off};
use crate::format::call_arguments;
use crate::format::delta::Delta;
use crate::format::reader::{Event, StreamReader, StreamedResponse};
use crate::format::stream_error::StreamError;
use crate::format::surrogates::PendingSurrogates;
use crate::wire::message::Block;
use tool_repair::Status;
use tool_repair::stream::{CallEvent, Dialect, ReadCall, RepairRecord};

/// Reads a stream of the Messages API, in pieces of any size, to a whole [`Response`]. The arguments of calls are
/// repaired if the repair is certain.
///
/// A character with a surrogate pair that is split between two events is part of the later one; a lone surrogate is
/// U+FFFD.
///
/// ```
/// use tool_runtime::format::Delta;
/// use tool_runtime::format::anthropic::ResponseReader;
///
/// let stream = br#"
/// data: {"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":9}}}
///
/// data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
///
/// data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Noon."}}
///
/// data: {"type":"content_block_stop","index":0}
///
/// data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}
///
/// data: {"type":"message_stop"}
///
/// "#;
/// let mut reader = ResponseReader::new();
/// for bytes in stream.chunks(100) {
///     for delta in reader.push(bytes).unwrap() {
///         assert_eq!(delta, Delta::Text("Noon.".to_owned()));
///     }
/// }
/// let response = reader.finish().unwrap();
/// assert_eq!(response.stop_reason, "end_turn");
/// assert_eq!((&response.usage["input_tokens"], &response.usage["output_tokens"]), (&9.into(), &4.into()));
/// ```
#[derive(Debug)]
pub struct ResponseReader(StreamReader<StreamedMessage>);

impl Default for ResponseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseReader {
    /// Creates a reader for one response.
    pub fn new() -> Self {
        Self(StreamReader::new())
    }

    /// Takes the next bytes of the stream. Returns the new pieces of the response.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream reports an error, or an event does not belong to this API.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, StreamError> {
        self.0.push(bytes)
    }

    /// Takes the next event of the stream, decoded by another library.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`push`](Self::push).
    pub fn push_event(&mut self, event: &Value) -> Result<Vec<Delta>, StreamError> {
        self.0.push_event(event)
    }

    /// Takes the records of repaired calls that have ended since the last call of this method.
    #[must_use = "each record is returned once"]
    pub fn take_records(&mut self) -> Vec<RepairRecord> {
        self.0.take_records()
    }

    /// Returns whether the last event has arrived: later events do not belong to the response.
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// Ends the stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the response is not complete, and the errors of [`push`](Self::push).
    pub fn finish(self) -> Result<Response, StreamError> {
        self.0.finish()
    }
}

/// The part of a message that has arrived.
#[derive(Debug, Default)]
struct StreamedMessage {
    /// The message of `message_start`, without its content.
    fields: Option<Map<String, Value>>,
    blocks: Vec<StreamedBlock>,
    stopped: bool,
}

/// The part of a block that has arrived.
#[derive(Debug)]
struct StreamedBlock {
    index: u64,
    fields: Map<String, Value>,
    /// Pieces of the `input` of a server tool's call.
    input: String,
    /// Number of the call, if it is a call of the client's.
    call: Option<u64>,
    read: Option<ReadCall>,
}

impl StreamedResponse for StreamedMessage {
    const DIALECT: Dialect = Dialect::Anthropic;
    type Response = Response;

    fn is_complete(&self) -> bool {
        self.stopped
    }

    fn on_event(
        &mut self,
        event: Event<'_>,
        surrogates: &mut PendingSurrogates,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), StreamError> {
        let kind = event.kind().to_owned();
        let mut event = event.data;
        match kind.as_str() {
            "error" => return Err(StreamError::api(event.get("error").unwrap_or(&event))),
            "message_start" => {
                let Some(Value::Object(fields)) = event.get_mut("message").map(Value::take) else {
                    return Err(StreamError::invalid("`message_start` has no `message`"));
                };
                self.fields = Some(fields);
            }
            "content_block_start" | "content_block_delta" | "content_block_stop" | "message_delta"
                if self.fields.is_none() =>
            {
                return Err(StreamError::invalid(format!("`{kind}` before `message_start`")));
            }
            "content_block_start" => {
                self.end_texts(Some(index(&event)), surrogates, deltas)?;
                self.start(event, deltas)?;
            }
            "content_block_stop" => self.end_texts(Some(index(&event)), surrogates, deltas)?,
            "content_block_delta" => {
                self.delta(event, deltas)?;
            }
            "message_delta" => self.message_delta(event),
            "message_stop" => {
                self.end_texts(None, surrogates, deltas)?;
                self.stopped = true;
            }
            _ => {} // `ping`, and future events
        }
        Ok(())
    }

    /// Takes the calls of an event. A block that starts in this event is the last one.
    fn on_calls(&mut self, calls: Vec<CallEvent>, deltas: &mut Vec<Delta>) {
        for event in calls {
            match event {
                CallEvent::Begun { call, tool, .. } => {
                    deltas.push(Delta::Call { name: tool });
                    if let Some(block) = self.blocks.last_mut() {
                        block.call = Some(call);
                    }
                }
                CallEvent::Ended(read) => {
                    let mut blocks = self.blocks.iter_mut();
                    if let Some(block) = blocks.find(|block| block.call == Some(read.call)) {
                        block.read = Some(read);
                    }
                }
                _ => {}
            }
        }
    }

    fn finish(mut self) -> Result<Response, StreamError> {
        let missing = |missing| StreamError::Incomplete { missing };
        let mut fields = self.fields.ok_or(missing("`message_start`"))?;
        if !fields.get("stop_reason").is_some_and(Value::is_string) {
            return Err(missing("`message_delta` with a `stop_reason`"));
        }
        if !self.stopped {
            return Err(missing("`message_stop`"));
        }
        let role = match fields.shift_remove("role") {
            Some(Value::String(role)) => role,
            _ => "assistant".to_owned(),
        };
        let is_cut = fields
            .get("stop_reason")
            .and_then(Value::as_str)
            .is_some_and(is_cut_off);
        let is_call = |block: &StreamedBlock| block.fields.get("type").is_some_and(|kind| kind == "tool_use");
        if is_cut && self.blocks.last().is_some_and(is_call) {
            self.blocks.pop(); // also a call that has no arguments yet
        }
        let is_complete = |block: &StreamedBlock| {
            let status = block.read.as_ref().map(|read| read.status);
            !(is_cut && status == Some(Status::Truncated))
        };
        let blocks = self.blocks.into_iter().filter(is_complete);
        let blocks = blocks.map(StreamedBlock::finish).collect();
        Response::new(role, blocks, fields).map_err(StreamError::Call)
    }
}

impl StreamedMessage {
    fn start(&mut self, mut event: Value, deltas: &mut Vec<Delta>) -> Result<(), StreamError> {
        let Some(Value::Object(fields)) = event.get_mut("content_block").map(Value::take) else {
            return Err(StreamError::invalid(
                "`content_block_start` has no `content_block`",
            ));
        };
        let text = |name| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let index = index(&event);
        match text("type") {
            "text" if !text("text").is_empty() => deltas.push(Delta::Text(text("text").to_owned())),
            "thinking" if !text("thinking").is_empty() => {
                deltas.push(Delta::Thinking(text("thinking").to_owned()));
            }
            _ => {}
        }
        self.blocks.push(StreamedBlock {
            index,
            fields,
            input: String::new(),
            call: None,
            read: None,
        });
        Ok(())
    }

    fn delta(&mut self, mut event: Value, deltas: &mut Vec<Delta>) -> Result<(), StreamError> {
        let index = index(&event);
        let Some(block) = self.blocks.iter_mut().rfind(|block| block.index == index) else {
            let delta = event.get("delta");
            if delta.is_some_and(|delta| delta.get("partial_json").is_some()) {
                return Ok(()); // the call reader finds its call for any index
            }
            let reason = format!("`content_block_delta` of block {index}, which did not begin");
            return Err(StreamError::invalid(reason));
        };
        let Some(Value::Object(delta)) = event.get_mut("delta").map(Value::take) else {
            return Err(StreamError::invalid("`content_block_delta` has no `delta`"));
        };
        for (field, value) in delta {
            match (field.as_str(), &value) {
                ("partial_json", Value::String(piece)) if block.call.is_none() => block.input.push_str(piece),
                (_, Value::String(piece)) if piece.is_empty() => {}
                ("text", Value::String(piece)) => deltas.push(Delta::Text(piece.clone())),
                ("thinking", Value::String(piece)) => deltas.push(Delta::Thinking(piece.clone())),
                _ => {}
            }
            block.add(field, value);
        }
        Ok(())
    }

    /// Ends the texts of one block or of all.
    fn end_texts(
        &mut self,
        block: Option<u64>,
        surrogates: &mut PendingSurrogates,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), StreamError> {
        let ended = surrogates.end(|event| block.is_none_or(|block| index(event) == block));
        ended.into_iter().try_for_each(|event| self.delta(event, deltas))
    }

    /// Merges fields that are known only at the end. `usage` is cumulative; fields that are `null` or missing keep
    /// the values of `message_start`.
    fn message_delta(&mut self, mut event: Value) {
        let Some(fields) = &mut self.fields else { return };
        if let Some(Value::Object(delta)) = event.get_mut("delta").map(Value::take) {
            fields.extend(delta);
        }
        let Some(Value::Object(usage)) = event.get_mut("usage").map(Value::take) else {
            return;
        };
        match fields.get_mut("usage") {
            Some(Value::Object(known)) => {
                known.extend(usage.into_iter().filter(|(_, value)| !value.is_null()));
            }
            _ => {
                fields.insert("usage".to_owned(), usage.into());
            }
        }
    }
}

impl StreamedBlock {
    /// Adds a field of a delta: texts are appended, citations are collected, other fields are set.
    fn add(&mut self, field: String, value: Value) {
        match (field.as_str(), value) {
            ("type" | "partial_json", _) => {}
            ("citation", citation) => {
                if let Some(Value::Array(citations)) = self.fields.get_mut("citations") {
                    citations.push(citation);
                } else {
                    let citations = Value::Array(vec![citation]);
                    self.fields.insert("citations".to_owned(), citations);
                }
            }
            (_, Value::String(piece)) => {
                if let Some(Value::String(text)) = self.fields.get_mut(&field) {
                    text.push_str(&piece);
                } else {
                    self.fields.insert(field, piece.into());
                }
            }
            (_, value) => {
                self.fields.insert(field, value);
            }
        }
    }

    fn finish(mut self) -> ReadBlock {
        if self.call.is_none() && !self.input.trim().is_empty() {
            let input = call_arguments::object(&self.input).unwrap_or_default();
            self.fields.insert("input".to_owned(), input.into());
        }
        let arguments = self.read.map(|read| read.arguments);
        ReadBlock {
            block: Block(self.fields),
            arguments: arguments.filter(|arguments| !arguments.trim().is_empty()),
        }
    }
}

fn index(event: &Value) -> u64 {
    event.get("index").and_then(Value::as_u64).unwrap_or_default()
}
