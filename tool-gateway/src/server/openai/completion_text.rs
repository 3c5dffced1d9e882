//! Tool calls in the texts of Chat Completions: [`recovered_completion`] for a whole response, [`CompletionText`] for a stream.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tool_runtime::repair::calls::RecoveredCall;
use tool_runtime::sse::{Frame, SseDecoder};

use crate::random;
use crate::upstream::text_calls::expected_calls::{ExpectedCalls, TextScanner};
use crate::wire::object::{Object, push_string, set_field};
use crate::wire::walk;

/// Returns a whole completion with the calls of its texts; `None` if no text has calls.
pub(super) fn recovered_completion(text: &str, expected: &ExpectedCalls) -> Option<String> {
    let completion = Object::parse(text).ok()?;
    let mut is_changed = false;
    let choices = walk::items(completion.get("choices")?).map(|choice| {
        let recovered = recovered_choice(choice, expected);
        is_changed |= recovered.is_some();
        recovered.unwrap_or_else(|| choice.to_owned())
    });
    let choices = list(choices);
    is_changed.then(|| set_field(text, "choices", &choices))
}

fn recovered_choice(choice: &str, expected: &ExpectedCalls) -> Option<String> {
    let object = Object::from_json(choice)?;
    let message = object.get("message")?;
    let fields = Object::from_json(message)?;
    if !object.is("finish_reason", "stop") || has_calls(fields) {
        return None;
    }
    let content = fields.string("content")?;
    let mut scanner = expected.scanner();
    let mut rest = scanner.push(&content).to_owned();
    let mut recovered = scanner.finish();
    rest.push_str(&recovered.text);
    let calls = expected.accepted(&mut recovered);
    if calls.is_empty() {
        return None;
    }
    let content = if rest.is_empty() {
        "null".to_owned()
    } else {
        quoted(&rest)
    };
    let calls: Vec<Value> = calls
        .into_iter()
        .map(|RecoveredCall { name, arguments, .. }| {
            let function = json!({ "name": name, "arguments": arguments });
            json!({ "id": random::call_id(), "type": "function", "function": function })
        })
        .collect();
    let message = set_field(message, "content", &content);
    let message = set_field(&message, "tool_calls", &Value::from(calls).to_string());
    let choice = set_field(choice, "message", &message);
    Some(set_field(&choice, "finish_reason", r#""tool_calls""#))
}

/// Returns whether a message or a delta has calls.
fn has_calls(message: Object<'_>) -> bool {
    let calls = message.get_all(["tool_calls", "function_call"]);
    calls
        .into_iter()
        .flatten()
        .any(|calls| !matches!(calls, "null" | "[]"))
}

fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_string(&mut json, text);
    json
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.collect();
    format!("[{}]", items.join(","))
}

/// Rewrites the events of a streamed completion whose texts have calls. All other events keep their bytes.
#[derive(Debug)]
pub(super) struct CompletionText {
    expected: ExpectedCalls,
    decoder: SseDecoder,
    /// Scanners by the index of the choice; `None` if the choice has no calls in its text.
    choices: BTreeMap<usize, Option<TextScanner>>,
    /// The first chunk without its choices, for chunks of the gateway.
    template: Option<String>,
    /// Whether an event could not be read, after which all bytes pass.
    is_unread: bool,
}

/// Maximum number of bytes of arguments in a chunk.
const MAX_ARGUMENTS: usize = 16 << 10;

impl CompletionText {
    pub(super) fn new(expected: ExpectedCalls) -> Self {
        Self {
            expected,
            decoder: SseDecoder::new(),
            choices: BTreeMap::new(),
            template: None,
            is_unread: false,
        }
    }

    /// Takes bytes of the stream, and appends the bytes for the client.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.decoder.push(bytes);
        self.edit(out);
    }

    /// Ends the stream. The text that is held leaves unchanged.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.decoder.finish();
        self.edit(out);
        self.release(out);
    }

    fn edit(&mut self, out: &mut Vec<u8>) {
        let mut decoder = std::mem::take(&mut self.decoder);
        while let Some(frame) = decoder.next_frame() {
            let data = match frame {
                _ if self.is_unread => None,
                Frame::Event(event) if event.ended() => event.data(),
                Frame::Ignored(_) => None,
                _ => {
                    // An event that is cut off or too large may contain anything.
                    self.release(out);
                    self.is_unread = true;
                    None
                }
            };
            let edited = data.and_then(|data| {
                let data = std::str::from_utf8(&data).ok()?;
                if data.trim_ascii() == "[DONE]" {
                    self.release(out);
                    return None;
                }
                self.edit_chunk(data)
            });
            match edited {
                None => out.extend_from_slice(frame.raw()),
                Some(chunks) => chunks.iter().for_each(|chunk| push_event(out, chunk)),
            }
        }
        self.decoder = decoder;
    }

    /// Returns the chunks in place of a chunk; `None` if the chunk stays.
    fn edit_chunk(&mut self, data: &str) -> Option<Vec<String>> {
        let chunk = Object::parse(data).ok()?;
        let choices = chunk.get("choices")?;
        if self.template.is_none() {
            let template = set_field(data, "choices", "[]");
            self.template = Some(match Object::from_json(&template)?.get("usage") {
                Some(_) => set_field(&template, "usage", "null"),
                None => template,
            });
        }
        let mut edit = ChunkEdit::default();
        for choice in walk::items(choices) {
            let edited = self.edit_choice(choice, &mut edit.before);
            edit.is_changed |= edited.is_some();
            edit.choices.push(edited.unwrap_or_else(|| choice.to_owned()));
        }
        if !edit.is_changed && edit.before.is_empty() {
            return None;
        }
        let mut chunks = edit.before;
        let choices = list(edit.choices.into_iter());
        chunks.push(set_field(data, "choices", &choices));
        Some(chunks)
    }

    /// Returns a choice of a chunk with another text; `None` if the choice stays. Chunks before it are appended to `before`.
    fn edit_choice(&mut self, choice: &str, before: &mut Vec<String>) -> Option<String> {
        let object = Object::from_json(choice)?;
        let index = object
            .get("index")
            .and_then(|index| index.parse().ok())
            .unwrap_or(0);
        let delta = object
            .get("delta")
            .filter(|delta| delta.starts_with('{'))
            .unwrap_or("{}");
        let fields = Object::from_json(delta)?;
        let expected = &self.expected;
        let entry = self
            .choices
            .entry(index)
            .or_insert_with(|| Some(expected.scanner()));
        let mut scanner = entry.take()?;
        let content = fields.get("content").filter(|content| *content != "null");
        let decoded = content.map(walk::string);
        let piece = match decoded {
            Some(None) => {
                // Half a character, or parts in place of a text: the text is not read.
                let held = scanner.release();
                before.extend(self.text_chunk(index, &held));
                return None;
            }
            piece => piece.flatten().unwrap_or_default(),
        };
        let mut text = scanner.push(&piece).to_owned();
        let finish_reason = object.text("finish_reason").filter(|reason| !reason.is_empty());
        if has_calls(fields) {
            text.push_str(&scanner.release());
        } else if finish_reason.as_deref() == Some("stop") {
            let mut recovered = scanner.finish();
            text.push_str(&recovered.text);
            let calls = self.expected.accepted(&mut recovered);
            if !calls.is_empty() {
                before.extend(self.text_chunk(index, &text));
                self.push_calls(index, &calls, before);
                let mut choice = set_field(choice, "finish_reason", r#""tool_calls""#);
                if content.is_some() {
                    choice = set_field(&choice, "delta", &set_field(delta, "content", "\"\""));
                }
                return Some(choice);
            }
        } else if finish_reason.is_some() {
            text.push_str(&scanner.release());
        } else {
            self.choices.insert(index, Some(scanner));
        }
        if text == piece {
            return None;
        }
        let delta = set_field(delta, "content", &quoted(&text));
        Some(set_field(choice, "delta", &delta))
    }

    /// Releases the text that is held. The rest of the stream is not read.
    fn release(&mut self, out: &mut Vec<u8>) {
        let mut held = Vec::new();
        for (index, scanner) in &mut self.choices {
            if let Some(scanner) = scanner.take() {
                held.push((*index, scanner.release()));
            }
        }
        for (index, text) in held {
            if let Some(chunk) = self.text_chunk(index, &text) {
                push_event(out, &chunk);
            }
        }
    }

    /// Returns the chunk of a text; `None` for an empty one.
    fn text_chunk(&self, index: usize, text: &str) -> Option<String> {
        (!text.is_empty()).then(|| self.chunk(index, &json!({ "content": text })))
    }

    fn push_calls(&self, index: usize, calls: &[RecoveredCall], chunks: &mut Vec<String>) {
        for (at, RecoveredCall { name, arguments, .. }) in calls.iter().enumerate() {
            let mut rest = arguments.as_str();
            let mut is_first = true;
            while is_first || !rest.is_empty() {
                let mut end = rest.len().min(MAX_ARGUMENTS);
                while !rest.is_char_boundary(end) {
                    end -= 1;
                }
                let (piece, after) = rest.split_at(end);
                let call = if is_first {
                    let function = json!({ "name": name, "arguments": piece });
                    json!({ "index": at, "id": random::call_id(), "type": "function", "function": function })
                } else {
                    json!({ "index": at, "function": { "arguments": piece } })
                };
                chunks.push(self.chunk(index, &json!({ "tool_calls": [call] })));
                (rest, is_first) = (after, false);
            }
        }
    }

    /// Returns a chunk with one choice.
    fn chunk(&self, index: usize, delta: &Value) -> String {
        let choice = json!([{ "index": index, "delta": delta, "finish_reason": null }]);
        let template = self.template.as_deref().unwrap_or("{}");
        set_field(template, "choices", &choice.to_string())
    }
}

/// Changes of a chunk.
#[derive(Debug, Default)]
struct ChunkEdit {
    /// Chunks that are sent first.
    before: Vec<String>,
    choices: Vec<String>,
    is_changed: bool,
}

fn push_event(out: &mut Vec<u8>, chunk: &str) {
    out.extend_from_slice(b"data: ");
    // Line breaks are white space in JSON, and end the data of an event.
    out.extend(
        chunk
            .bytes()
            .map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }),
    );
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests;
