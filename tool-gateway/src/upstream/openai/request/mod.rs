//! Requests of the Messages API as requests of Chat Completions. The entry is [`translate`].

// A module uses only modules that are declared before it.
mod raw;
mod chat;
mod conversation;
mod tools;

use std::borrow::Cow;

use serde_json::value::RawValue;

use self::chat::{ChatRequest, ChatStreamOptions};
use self::conversation::Conversation;
use self::raw::raw;
use super::profile::{MaxField, Profile};
use super::response::expected::ExpectedResponse;
use crate::wire::error::ApiError;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;
use crate::wire::walk;

/// A translated request of a turn.
#[derive(Debug)]
pub(super) struct ChatTurn {
    /// Body of the request of Chat Completions.
    pub(super) body: String,
    /// Facts for reading the response.
    pub(super) response: ExpectedResponse,
}

/// Translates a request. The error names the field that this upstream cannot receive.
pub(super) fn translate(request: &MessagesRequest, profile: &Profile) -> Result<ChatTurn, ApiError> {
    let model = request
        .get("model")
        .and_then(walk::string)
        .ok_or_else(|| ApiError::invalid("model: expected a string"))?;
    let mut conversation = Conversation::default();
    if let Some(system) = system_prompt(request.get("system")) {
        conversation.push_system(system);
    }
    conversation.push_messages(request)?;
    let tools = request.tools().enumerate();
    let tools = tools
        .map(|(at, tool)| tools::tool(at, tool))
        .collect::<Result<Vec<_>, _>>()?;
    let has_tools = !tools.is_empty();
    let max_tokens = field(request, "max_tokens");
    let is_max = |max_field| max_tokens.filter(|_| profile.max_field == max_field);
    let is_stream = request.is_stream();
    let chat = ChatRequest {
        model: Cow::Borrowed(&model),
        tools,
        messages: conversation.into_messages(),
        tool_choice: tools::choice(request.get("tool_choice").filter(|_| has_tools))?,
        max_tokens: is_max(MaxField::MaxTokens),
        max_completion_tokens: is_max(MaxField::MaxCompletionTokens),
        stop: field(request, "stop_sequences"),
        temperature: field(request, "temperature"),
        top_p: field(request, "top_p"),
        top_k: field(request, "top_k").filter(|_| profile.top_k),
        stream: is_stream,
        stream_options: is_stream.then_some(ChatStreamOptions { include_usage: true }),
    };
    let body = serde_json::to_string(&chat)
        .map_err(|error| ApiError::invalid(format!("the request cannot be translated: {error}")))?;
    let response = ExpectedResponse {
        model: model.clone().into_owned(),
        served_model: model.clone().into_owned(),
        input_tokens: estimated_tokens(body.len()),
        stop_sequences: stop_sequences(request),
        ..ExpectedResponse::default()
    };
    Ok(ChatTurn { body, response })
}

/// Returns the stop sequences of a request.
fn stop_sequences(request: &MessagesRequest) -> Vec<String> {
    let sequences = walk::items(request.get("stop_sequences").unwrap_or_default());
    sequences
        .filter_map(|sequence| walk::string(sequence).map(Cow::into_owned))
        .collect()
}

/// Estimates the tokens of a text by its bytes: 3.5 bytes a token.
fn estimated_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.saturating_mul(2).div_ceil(7)).unwrap_or(u64::MAX)
}

/// Returns the text of the system prompt, whose blocks are joined by a blank line.
fn system_prompt(system: Option<&str>) -> Option<String> {
    let system = system?;
    if let Some(text) = walk::string(system) {
        return Some(text.into_owned()).filter(|text| !text.trim().is_empty());
    }
    let blocks = walk::items(system).filter_map(|block| Object::from_json(block)?.string("text"));
    let texts: Vec<String> = blocks.collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Returns a field of the request, unless it is null.
fn field<'r>(request: &'r MessagesRequest, name: &str) -> Option<&'r RawValue> {
    raw(request.get(name).filter(|value| *value != "null")?)
}
