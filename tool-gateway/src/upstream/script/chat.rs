//! Messages of a script in the form of `OpenAI`'s Chat Completions: as one object, or as the chunks of a stream.

use bytes::Bytes;
use serde_json::{Value, json};

use super::block::ScriptBlock;
use super::rendered::{Response, pieces};
use super::turn::ScriptMessage;

/// A message of the script as a completion. Thinking and blocks of the server's tools are omitted, since completions have no form for them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion<'a> {
    message: &'a ScriptMessage,
    response: Response<'a>,
}

impl<'a> Completion<'a> {
    pub(super) fn new(message: &'a ScriptMessage, response: Response<'a>) -> Self {
        Self { message, response }
    }

    /// Returns the completion as one object.
    pub(super) fn json(&self) -> Bytes {
        let texts: Vec<String> = self.texts().collect();
        let calls: Vec<Value> = self
            .calls()
            .map(|call| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                json!({"id": call.id, "type": "function", "function": function})
            })
            .collect();
        let content = (!texts.is_empty()).then(|| texts.concat());
        let mut message = json!({"role": "assistant", "content": content});
        if let (false, Some(members)) = (calls.is_empty(), message.as_object_mut()) {
            members.insert("tool_calls".to_owned(), calls.into());
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": self.finish_reason()});
        let completion = self.object("chat.completion", &[choice], Some(self.usage()));
        completion.to_string().into()
    }

    /// Returns the chunks up to the last piece of a text or of arguments.
    pub(super) fn opening_events(&self) -> Vec<Bytes> {
        let size = self.message.delta_size;
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        for block in self.message.blocks.iter().filter(|block| block.kind() == "text") {
            let texts = block.deltas.iter().flat_map(|deltas| pieces(deltas, size));
            deltas.extend(texts.map(|piece| json!({"content": piece})));
        }
        for (index, call) in self.calls().enumerate() {
            let function = json!({"name": call.name, "arguments": ""});
            deltas.push(json!({"tool_calls": [
                {"index": index, "id": call.id, "type": "function", "function": function}
            ]}));
            let texts = call.block.deltas.iter().flat_map(|deltas| pieces(deltas, size));
            deltas.extend(
                texts
                    .filter(|piece| !piece.is_empty())
                    .map(|piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})),
            );
        }
        deltas
            .into_iter()
            .map(|delta| {
                let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
                event(&self.object("chat.completion.chunk", &[choice], None))
            })
            .collect()
    }

    /// Returns the chunk with the finish reason, the chunk with the usage if the request asks for it, and `[DONE]`.
    pub(super) fn closing_events(&self, includes_usage: bool) -> Vec<Bytes> {
        let choice = json!({"index": 0, "delta": {}, "finish_reason": self.finish_reason()});
        let mut events = vec![event(&self.object("chat.completion.chunk", &[choice], None))];
        if includes_usage {
            let chunk = self.object("chat.completion.chunk", &[], Some(self.usage()));
            events.push(event(&chunk));
        }
        events.push(Bytes::from_static(b"data: [DONE]\n\n"));
        events
    }

    fn object(&self, object: &str, choices: &[Value], usage: Option<Value>) -> Value {
        let id = self.message.id.clone();
        let mut completion = json!({
            "id": id.unwrap_or_else(|| format!("chatcmpl-script-{:04}", self.response.number)),
            "object": object,
            "created": CREATED,
            "model": self.message.model.as_deref().unwrap_or(self.response.model),
            "choices": choices,
        });
        if let (Some(usage), Some(members)) = (usage, completion.as_object_mut()) {
            members.insert("usage".to_owned(), usage);
        }
        completion
    }

    fn texts(&self) -> impl Iterator<Item = String> {
        let texts = self.message.blocks.iter().filter(|block| block.kind() == "text");
        texts.filter_map(|block| block.complete.string("text").ok())
    }

    fn calls(&self) -> impl Iterator<Item = ScriptCall<'_>> {
        let blocks = self.message.blocks.iter().enumerate();
        blocks
            .filter(|(_, block)| block.is_tool_use)
            .map(|(index, block)| ScriptCall {
                id: block
                    .complete
                    .string("id")
                    .unwrap_or_else(|_| format!("call_script_{:04}_{index}", self.response.number)),
                name: block.complete.string("name").unwrap_or_default(),
                arguments: block.deltas.iter().map(|deltas| deltas.text.as_str()).collect(),
                block,
            })
    }

    /// Returns the finish reason by its name in this API.
    fn finish_reason(&self) -> &'static str {
        match self.message.stop_reason.as_str() {
            "tool_use" => "tool_calls",
            "max_tokens" | "model_context_window_exceeded" => "length",
            "refusal" => "content_filter",
            _ => "stop",
        }
    }

    fn usage(&self) -> Value {
        let written = |name: &str| self.message.usage.members.get(name)?.parse::<usize>().ok();
        let prompt = written("input_tokens").unwrap_or(self.response.input_tokens);
        let deltas = self.message.blocks.iter().flat_map(|block| &block.deltas);
        let bytes: usize = deltas.map(|deltas| deltas.text.len()).sum();
        let completion = written("output_tokens").unwrap_or((bytes / 4).max(1));
        json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
    }
}

/// A call of a client's tool.
struct ScriptCall<'a> {
    id: String,
    name: String,
    arguments: String,
    block: &'a ScriptBlock,
}

/// The first of January 2026, in seconds.
const CREATED: u64 = 1_767_225_600;

fn event(chunk: &Value) -> Bytes {
    format!("data: {chunk}\n\n").into()
}
