//! [`MessageBuilder`]: builds the events of a message from chunks.

use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;
use tool_runtime::repair::Status;
use tool_runtime::repair::stream::{CallEvent, CallReader, Dialect, ReadCall};

use super::blocks::{BlockKind, BlockWriter, WrittenCall};
use super::chunk::{Chunk, ChunkMessage};
use super::content::{Piece, PieceKind, PieceText};
use super::expected::ExpectedResponse;
use super::extra_contents::{ExtraContents, FoundExtraContent};
use super::failure::ChatFailure;
use super::held::{EagerCall, HeldParts, ReadyPart, several_objects};
use super::stop_reason::{Ending, FinishKind};
use super::stop_search::{SearchedText, StopSearch};
use super::thought_tags::{DividedPiece, ThoughtTags};
use super::usage::ChatUsage;
use crate::upstream::answer::MessageEvent;
use crate::upstream::error::UpstreamError;
use crate::upstream::openai::warnings::WarningCode;
use crate::upstream::text_calls::rules::TextThoughts;
use crate::wire::event::StreamEvent;
use crate::wire::fields::{ObjectText, RawFields};
use crate::wire::object::set_field;
use crate::wire::walk;

/// Builds the events of a message from the chunks of a stream. Text and thinking leave at once; a call leaves when it is complete, and what
/// began after it waits.
#[derive(Debug)]
pub(super) struct MessageBuilder {
    expected: ExpectedResponse,
    calls: CallReader,
    /// Whether the stream has had a call. No other chunks concern the reader of calls.
    has_begun_calls: bool,
    held: HeldParts,
    writer: BlockWriter,
    /// Search for stop sequences that the server does not know.
    stops: Option<StopSearch>,
    /// Tags of thoughts in the text, if they are thinking.
    tags: Option<ThoughtTags>,
    is_ended: bool,
    extra_contents: ExtraContents,
    is_started: bool,
    seen: SeenParts,
    refusal: String,
    finish_reason: Option<String>,
    stop_sequence: Option<String>,
    usage: Option<ChatUsage>,
    /// Bytes of all texts and arguments.
    output_bytes: usize,
}

/// Parts of the message so far.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent")]
struct SeenParts {
    has_text: bool,
    has_call: bool,
    /// Whether a call has begun, which may be incomplete.
    has_begun_call: bool,
    /// Whether the arguments of a call are not JSON.
    has_incomplete_call: bool,
}

/// End of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The server ended its message: with `[DONE]`, or as a whole completion.
    Done,
    /// The connection ended.
    Closed,
}

impl MessageBuilder {
    /// Creates a builder.
    pub(super) fn new(expected: ExpectedResponse) -> Self {
        let writer = BlockWriter::new(expected.signer.clone(), expected.omits_thinking);
        let stops = StopSearch::new(&expected.searched_stops);
        let tags = (expected.thoughts == TextThoughts::Split).then(ThoughtTags::default);
        Self {
            calls: CallReader::new(Dialect::ChatCompletions, expected.repair.fixing.clone()),
            tags,
            expected,
            stops,
            is_ended: false,
            has_begun_calls: false,
            held: HeldParts::default(),
            writer,
            extra_contents: ExtraContents::default(),
            is_started: false,
            seen: SeenParts::default(),
            refusal: String::new(),
            finish_reason: None,
            stop_sequence: None,
            usage: None,
            output_bytes: 0,
        }
    }

    /// Returns whether an event can be taken.
    pub(super) fn has_events(&self) -> bool {
        self.writer.has_events()
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<MessageEvent> {
        self.writer.pop()
    }

    /// Returns whether the stream had a finish reason.
    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Returns whether the message is complete. Later chunks have no effect.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Reads a chunk of a stream.
    pub(super) fn read_chunk(&mut self, data: &str) -> Result<(), UpstreamError> {
        let Some(chunk) = Chunk::parse(data) else {
            let failure = ChatFailure::from_list(data);
            return Err(failure.map_or_else(
                || UpstreamError::new("the upstream sent an invalid chunk"),
                ChatFailure::into_error,
            ));
        };
        let message = chunk.message();
        self.read(chunk, message)?;
        if self.is_ended {
            return Ok(());
        }
        if self.has_begun_calls || message.has_calls() {
            self.read_calls(data)?;
        }
        self.release()
    }

    /// Reads a whole completion, as a stream of one chunk.
    pub(super) fn read_whole(&mut self, text: &str) -> Result<(), UpstreamError> {
        let completion = Chunk::parse(text).ok_or_else(|| {
            let failure = ChatFailure::from_list(text);
            failure.map_or_else(
                || UpstreamError::new("the upstream's response is not a completion"),
                ChatFailure::into_error,
            )
        })?;
        if completion.error().is_none() && !completion.has_choice() {
            return Err(UpstreamError::new("the upstream's response has no choice"));
        }
        let message = completion.message();
        // A whole completion has no pieces.
        self.expected.eager_functions.clear();
        self.read(completion, message)?;
        if message.has_calls() && !self.is_ended {
            let reason = completion.finish_reason().unwrap_or_default();
            self.read_calls(&calls_chunk(message, &reason))?;
        }
        self.release()?;
        self.end(StreamEnd::Done)
    }

    /// Reads a chunk without its calls.
    fn read(&mut self, chunk: Chunk<'_>, message: ChunkMessage<'_>) -> Result<(), UpstreamError> {
        if let Some(error) = chunk.error() {
            return Err(ChatFailure::parse(error).into_error());
        }
        if let Some(usage) = chunk.usage().and_then(ChatUsage::read) {
            self.usage = Some(usage);
        }
        if let Some(reason) = chunk.finish_reason() {
            let kind = FinishKind::new(&reason);
            if kind == FinishKind::Failed {
                let message = format!("the upstream failed: it ended the message with `{reason}`");
                return Err(UpstreamError::new(message));
            }
            if kind == FinishKind::Unknown {
                self.warn(
                    WarningCode::FinishReason,
                    "an unknown finish reason was read as `stop`",
                );
            }
            self.finish_reason = Some(reason.into_owned());
        }
        if let Some(stop) = chunk.matched_stop() {
            let mut stops = self.expected.stop_sequences.iter();
            self.stop_sequence = stops.find(|sequence| **sequence == *stop).cloned();
        }
        self.start();
        for piece in message.pieces() {
            self.push_piece(piece);
        }
        Ok(())
    }

    /// Counts a part of the response that was left out or changed.
    fn warn(&self, code: WarningCode, message: &str) {
        let model = &self.expected.served_model;
        let code = code.as_str();
        self.expected
            .warnings
            .add_with(model, code, || tracing::warn!(model, code, "{message}"));
    }

    fn push_piece(&mut self, piece: Piece<'_>) {
        let (kind, text) = match piece {
            Piece::Text(kind, text) => (kind, text),
            Piece::Detail(detail) => {
                self.end_tags();
                if self.held.is_empty() {
                    return self.write_detail(detail);
                }
                return self.held.push_detail(detail);
            }
        };
        self.output_bytes += text.len();
        let block = match kind {
            PieceKind::Thinking(field) => BlockKind::Thinking(field),
            PieceKind::Text | PieceKind::Refusal => BlockKind::Text,
        };
        if let (PieceKind::Refusal, PieceText::Plain(text)) = (kind, &text) {
            self.refusal.push_str(text);
        }
        match &mut self.tags {
            Some(tags) if kind == PieceKind::Text => {
                for DividedPiece { kind, text } in tags.push(text) {
                    self.push_text(kind, text);
                }
            }
            _ => {
                self.end_tags();
                self.push_text(block, text);
            }
        }
    }

    fn push_text(&mut self, kind: BlockKind, text: PieceText<'_>) {
        self.seen.has_text |= kind == BlockKind::Text;
        if self.held.is_empty() {
            self.write_text(kind, text);
        } else {
            self.held.push_text(kind, text);
        }
    }

    /// Ends the search for tags in the text, whose last characters may be held.
    fn end_tags(&mut self) {
        if let Some(tags) = &mut self.tags {
            for DividedPiece { kind, text } in tags.finish() {
                self.push_text(kind, text);
            }
        }
    }

    fn write_text(&mut self, kind: BlockKind, piece: PieceText<'_>) {
        if self.is_ended {
            return;
        }
        if kind != BlockKind::Text {
            self.end_search();
        }
        match &mut self.stops {
            Some(stops) if kind == BlockKind::Text => {
                let searched = stops.push(piece);
                self.write_searched(searched);
            }
            _ if self.is_ended => {}
            _ => self.writer.push_text(kind, piece),
        }
    }

    fn write_detail(&mut self, detail: &str) {
        self.end_search();
        if !self.is_ended {
            self.writer.push_detail(detail);
        }
    }

    /// Ends the search in a text, whose last characters may be held.
    fn end_search(&mut self) {
        if let Some(stops) = &mut self.stops {
            let searched = stops.finish();
            self.write_searched(searched);
        }
    }

    /// Writes a searched text. A stop sequence ends the message.
    fn write_searched(&mut self, SearchedText { text, sequence }: SearchedText) {
        if self.is_ended {
            return;
        }
        if !text.is_empty() {
            let text = PieceText::Plain(text.into());
            self.writer.push_text(BlockKind::Text, text);
        }
        if sequence.is_some() {
            self.stop_sequence = sequence;
            self.finish_reason = Some("stop".to_owned());
            self.refusal.clear();
            self.write_end();
        }
    }

    /// Reads the calls of a chunk.
    fn read_calls(&mut self, data: &str) -> Result<(), UpstreamError> {
        self.end_tags();
        self.has_begun_calls = true;
        let events = self.calls.read(None, data);
        let begun = || {
            events.iter().filter_map(|event| match event {
                CallEvent::Begun { call, .. } => Some(*call),
                _ => None,
            })
        };
        // Nearly all chunks continue the arguments of a call.
        let found = if begun().next().is_some() || data.contains("\"extra_content\"") {
            self.extra_contents.read(data, begun())
        } else {
            Vec::new()
        };
        self.handle_calls(events, &found)
    }

    fn handle_calls(
        &mut self,
        events: Vec<CallEvent>,
        extra_contents: &[FoundExtraContent<'_>],
    ) -> Result<(), UpstreamError> {
        for event in events {
            match event {
                CallEvent::Begun {
                    call,
                    choice,
                    id,
                    tool,
                } if choice.is_none_or(|choice| choice == 0) => {
                    let eager = self.eager_call(id, tool);
                    self.seen.has_begun_call = true;
                    self.held.begin_call(call, eager);
                }
                CallEvent::Arguments { call, text } => self.held.push_arguments(call, &text),
                CallEvent::Restarted { call } if !self.held.restart(call) => {
                    return Err(cut_off("the arguments of a call begin again"));
                }
                CallEvent::Ended(ended) => {
                    let has_rest = match ended.status {
                        Status::Truncated => false,
                        Status::Refused => self.expected.repair.fallback_on_error,
                        _ => true,
                    };
                    self.held.end_call(ended, has_rest);
                }
                CallEvent::Unattributed => {
                    return Err(cut_off("a piece of a call belongs to no call"));
                }
                _ => {}
            }
        }
        for found in extra_contents {
            self.held.set_extra_content(found.call, found.json);
        }
        if let Some(reason) = self.calls.bailout_reason() {
            return Err(cut_off(reason));
        }
        let reason = self.finish_reason.as_deref();
        if reason.is_some_and(|reason| FinishKind::new(reason).cuts_calls()) {
            self.held.remove_cut_off();
        }
        Ok(())
    }

    /// Returns the call, if its arguments leave in pieces.
    fn eager_call(&self, id: Option<String>, tool: String) -> Option<EagerCall> {
        let is_dropped = self.seen.has_begun_call && self.expected.is_single_call;
        let is_eager = !is_dropped && !self.expected.splits_objects;
        if !is_eager || !self.expected.eager_functions.contains(&tool) {
            return None;
        }
        let id = id.unwrap_or_default();
        Some(EagerCall { id, tool })
    }

    /// Ends the message.
    pub(super) fn end(&mut self, end: StreamEnd) -> Result<(), UpstreamError> {
        if self.is_ended {
            return Ok(());
        }
        if !self.is_started {
            return Err(UpstreamError::new("the upstream's response is empty"));
        }
        if self.finish_reason.is_none() && end == StreamEnd::Closed {
            return Err(cut_off("it has neither a finish reason nor `[DONE]`"));
        }
        if self.has_begun_calls {
            let events = self.calls.finish();
            self.handle_calls(events, &[])?;
        }
        self.end_tags();
        self.release()?;
        if self.finish_reason.is_none() && self.seen.has_incomplete_call {
            return Err(cut_off("a call is incomplete"));
        }
        if self.finish_reason.is_none() && !self.seen.has_text && !self.seen.has_call {
            return Err(cut_off("it has neither a text nor a call"));
        }
        self.end_search();
        if !self.is_ended {
            self.write_end();
        }
        Ok(())
    }

    /// Writes the end of the message.
    fn write_end(&mut self) {
        self.is_ended = true;
        self.writer.close();
        self.count_usage();
        let ending = Ending {
            finish_reason: self.finish_reason.as_deref(),
            has_call: self.seen.has_call,
            refusal: &self.refusal,
            stop_sequence: self.stop_sequence.as_deref(),
        };
        let mut end = RawFields::default();
        end.set("delta", ending.delta().to_string());
        end.set("usage", json!(self.usage()).to_string());
        self.writer.push(StreamEvent::MessageDelta(end));
        self.writer.push(StreamEvent::MessageStop);
    }

    /// Sends the start of the message.
    fn start(&mut self) {
        if std::mem::replace(&mut self.is_started, true) {
            return;
        }
        let message = json!({
            "id": format!("msg_{}", crate::random::id()),
            "type": "message",
            "role": "assistant",
            "model": self.expected.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": self.usage(),
        });
        if let Some(message) = ObjectText::new(&message.to_string()) {
            self.writer.push(StreamEvent::MessageStart(message));
        }
    }

    /// Compares the usage with the size of the prompt, or counts a message without a usage.
    fn count_usage(&self) {
        let expected = &self.expected;
        match &self.usage {
            Some(usage) => {
                let tokens = usage.prompt_tokens();
                expected
                    .estimates
                    .learn(&expected.served_model, expected.prompt, tokens);
            }
            None => expected.warnings.add_estimate("usage"),
        }
    }

    /// Returns the usage so far, or an estimate.
    fn usage(&self) -> ChatUsage {
        let estimate = || {
            let output = self.output_bytes.saturating_mul(2).div_ceil(7);
            ChatUsage::estimated(
                self.expected.estimated_tokens(),
                u64::try_from(output).unwrap_or(u64::MAX),
            )
        };
        self.usage.clone().unwrap_or_else(estimate)
    }

    /// Sends what waits for nothing any more.
    fn release(&mut self) -> Result<(), UpstreamError> {
        while !self.is_ended
            && let Some(part) = self.held.pop()
        {
            match part {
                ReadyPart::Text(kind, text) => self.write_text(kind, text),
                ReadyPart::Detail(detail) => self.write_detail(&detail),
                ReadyPart::Call(call, extra_content) => self.send_call(&call, extra_content)?,
                ReadyPart::Begun(call, extra_content) => {
                    self.end_search();
                    if self.is_ended {
                        return Ok(());
                    }
                    self.seen.has_call = true;
                    self.writer.begin_call(WrittenCall {
                        id: &call.id,
                        name: self.expected.names.client_name(&call.tool),
                        arguments: "",
                        extra_content,
                    });
                }
                ReadyPart::Arguments(text) => self.writer.push_arguments(&text),
                ReadyPart::Ended(begun, call) => self.end_eager_call(&begun, &call)?,
            }
        }
        Ok(())
    }

    /// Ends a call whose arguments have left.
    fn end_eager_call(&mut self, begun: &EagerCall, call: &ReadCall) -> Result<(), UpstreamError> {
        if call.tool != begun.tool {
            return Err(cut_off(
                "the name of a call changed after its arguments had begun",
            ));
        }
        self.count_call(call);
        let reason = self.finish_reason.as_deref();
        let is_cut = reason.is_some_and(|reason| FinishKind::new(reason).cuts_calls());
        if !self.expected.repair.fallback_on_error && !is_cut && !is_complete(call) {
            return Err(UpstreamError::new(format!(
                "the arguments of the tool `{}` are not JSON and could not be repaired",
                self.expected.names.client_name(&call.tool)
            )));
        }
        if call.ambiguous {
            return Err(cut_off("pieces of its calls are ambiguous"));
        }
        self.writer.close();
        Ok(())
    }

    fn count_call(&mut self, call: &ReadCall) {
        self.output_bytes += call.arguments.len();
        self.seen.has_incomplete_call |= !is_complete(call);
    }

    fn send_call(
        &mut self,
        call: &ReadCall,
        mut extra_content: Option<Box<RawValue>>,
    ) -> Result<(), UpstreamError> {
        if call.tool.is_empty() {
            return Err(cut_off("a call has no name"));
        }
        self.end_search();
        if self.is_ended {
            return Ok(());
        }
        self.count_call(call);
        let id = call.id.as_deref().unwrap_or_default();
        let objects = several_objects(&call.arguments).filter(|_| self.expected.splits_objects);
        if let Some(objects) = objects {
            for (at, arguments) in objects.into_iter().enumerate() {
                self.push_call(WrittenCall {
                    id: if at == 0 { id } else { "" },
                    name: &call.tool,
                    arguments,
                    extra_content: extra_content.take(),
                });
            }
            return Ok(());
        }
        if call.ambiguous {
            return Err(cut_off("pieces of its calls are ambiguous"));
        }
        self.push_call(WrittenCall {
            id,
            name: &call.tool,
            arguments: &call.arguments,
            extra_content,
        });
        Ok(())
    }

    fn push_call(&mut self, call: WrittenCall<'_>) {
        if self.seen.has_call && self.expected.is_single_call {
            let message = "a second call left its message, since the client allows one";
            return self.warn(WarningCode::ParallelCalls, message);
        }
        self.seen.has_call = true;
        self.writer.push_call(WrittenCall {
            name: self.expected.names.client_name(call.name),
            ..call
        });
    }
}

/// Returns whether the arguments of a call are complete. Arguments that are not repaired have no status.
fn is_complete(call: &ReadCall) -> bool {
    let is_json = |text: &str| text.is_empty() || serde_json::from_str::<IgnoredAny>(text).is_ok();
    matches!(call.status, Status::Valid | Status::Repaired) && is_json(call.arguments.trim())
}

/// Returns the calls of a whole message as a chunk, with an index for each.
fn calls_chunk(message: ChunkMessage<'_>, finish_reason: &str) -> String {
    let calls = walk::items(message.tool_calls().unwrap_or_default())
        .enumerate()
        .map(|(index, call)| set_field(call, "index", &index.to_string()));
    let calls = calls.collect::<Vec<_>>().join(",");
    let function_call = message.function_call().unwrap_or("null");
    let finish_reason = json!(finish_reason);
    format!(
        r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{calls}],"function_call":{function_call}}},"finish_reason":{finish_reason}}}]}}"#
    )
}

fn cut_off(reason: &str) -> UpstreamError {
    UpstreamError::new(format!("the upstream's response was cut off: {reason}"))
}
