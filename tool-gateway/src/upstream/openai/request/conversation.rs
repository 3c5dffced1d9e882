//! The messages of a conversation.

use std::borrow::Cow;
use std::mem;

use super::chat::{CalledFunction, ChatCall, ChatContent, ChatMessage, ChatPart, ImageUrl};
use crate::wire::block::BlockText;
use crate::wire::error::ApiError;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

/// Builds the messages of Chat Completions from the messages of a request. Neighbours of one role are merged.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    messages: Vec<ChatMessage<'static>>,
    /// Parts of the open user message.
    parts: Vec<ChatPart>,
    /// Texts of the open assistant message.
    texts: Vec<String>,
    calls: Vec<ChatCall<'static>>,
    /// Results in the open user message, which precede its parts.
    results: Vec<ToolResult>,
}

/// The result of a call.
#[derive(Debug)]
struct ToolResult {
    id: String,
    content: String,
}

impl Conversation {
    /// Adds a system prompt.
    pub(super) fn push_system(&mut self, content: String) {
        self.messages.push(ChatMessage::System { content });
    }

    /// Adds the messages of a request.
    pub(super) fn push_messages(&mut self, request: &MessagesRequest) -> Result<(), ApiError> {
        let mut last = None;
        for (at, message) in request.messages.iter().enumerate() {
            if last.is_some_and(|role| role != &message.role) {
                self.close();
            }
            last = Some(&message.role);
            for (index, block) in request.blocks(message).enumerate() {
                let place = BlockPlace {
                    message: at,
                    block: index,
                };
                match &message.role {
                    Role::User => self.push_user_block(&block, place)?,
                    Role::Assistant => self.push_assistant_block(&block, place)?,
                    role => {
                        return Err(ApiError::invalid(format!(
                            "messages.{at}.role: unknown role `{}`; expected `user` or `assistant`",
                            role.as_str()
                        )));
                    }
                }
            }
        }
        self.close();
        Ok(())
    }

    /// Returns the messages.
    pub(super) fn into_messages(self) -> Vec<ChatMessage<'static>> {
        self.messages
    }

    fn push_user_block(&mut self, block: &BlockText<'_>, place: BlockPlace) -> Result<(), ApiError> {
        let object = block.object();
        let kind = object.text("type").unwrap_or_default();
        match &*kind {
            "tool_result" => {
                let id = object
                    .string("tool_use_id")
                    .ok_or_else(|| place.error("missing `tool_use_id`"))?;
                let content = result_text(object, place)?;
                self.results.push(ToolResult { id, content });
            }
            _ => self.parts.push(part(object, &kind, place)?),
        }
        Ok(())
    }

    fn push_assistant_block(&mut self, block: &BlockText<'_>, place: BlockPlace) -> Result<(), ApiError> {
        let object = block.object();
        let kind = object.text("type").unwrap_or_default();
        match &*kind {
            "text" => self.texts.push(object.string("text").unwrap_or_default()),
            "tool_use" => self.calls.push(call(object, place)?),
            "thinking" | "redacted_thinking" => {}
            kind => return Err(place.unknown(kind)),
        }
        Ok(())
    }

    /// Ends the open message.
    fn close(&mut self) {
        for ToolResult { id, content } in mem::take(&mut self.results) {
            self.messages.push(ChatMessage::Tool {
                tool_call_id: Cow::Owned(id),
                content,
            });
        }
        let parts = mem::take(&mut self.parts);
        if let Some(content) = content(parts) {
            self.messages.push(ChatMessage::User { content });
        }
        let texts: Vec<String> = mem::take(&mut self.texts);
        let tool_calls = mem::take(&mut self.calls);
        let content = (!texts.is_empty()).then(|| texts.join("\n\n"));
        if content.is_some() || !tool_calls.is_empty() {
            self.messages.push(ChatMessage::Assistant { content, tool_calls });
        }
    }
}

/// Place of a block in the request, for errors.
#[derive(Debug, Clone, Copy)]
struct BlockPlace {
    message: usize,
    block: usize,
}

impl BlockPlace {
    fn error(self, message: &str) -> ApiError {
        ApiError::invalid(format!(
            "messages.{}.content.{}: {message}",
            self.message, self.block
        ))
    }

    fn unknown(self, kind: &str) -> ApiError {
        self.error(&format!(
            "blocks of type `{kind}` cannot be sent to this upstream; remove the block"
        ))
    }
}

/// Converts a block of a user message, or of a result.
fn part(block: Object<'_>, kind: &str, place: BlockPlace) -> Result<ChatPart, ApiError> {
    match kind {
        "text" => Ok(ChatPart::Text {
            text: block.string("text").unwrap_or_default(),
        }),
        "image" => {
            let source = block.get("source").and_then(Object::from_json);
            let url = source.and_then(|source| match &*source.text("type")? {
                "base64" => Some(format!(
                    "data:{};base64,{}",
                    source.text("media_type")?,
                    source.text("data")?
                )),
                "url" => source.string("url"),
                _ => None,
            });
            let url = url.ok_or_else(|| place.error("source: expected an image in base64, or its URL"))?;
            Ok(ChatPart::ImageUrl {
                image_url: ImageUrl { url },
            })
        }
        kind => Err(place.unknown(kind)),
    }
}

/// Returns the content of these parts; `None` if it would be empty.
fn content(parts: Vec<ChatPart>) -> Option<ChatContent> {
    if parts.is_empty() {
        return None;
    }
    let texts = parts.iter().map(|part| match part {
        ChatPart::Text { text } => Some(text.as_str()),
        ChatPart::ImageUrl { .. } => None,
    });
    let texts: Option<Vec<&str>> = texts.collect();
    Some(match texts {
        Some(texts) => ChatContent::Text(texts.join("\n\n")),
        None => ChatContent::Parts(parts),
    })
}

/// Converts a call.
fn call(block: Object<'_>, place: BlockPlace) -> Result<ChatCall<'static>, ApiError> {
    let id = block.string("id").ok_or_else(|| place.error("missing `id`"))?;
    let name = block
        .string("name")
        .ok_or_else(|| place.error("missing `name`"))?;
    let arguments = block.get("input").unwrap_or("{}").to_owned();
    Ok(ChatCall {
        id: Cow::Owned(id),
        function: CalledFunction {
            name: Cow::Owned(name),
            arguments: Cow::Owned(arguments),
        },
    })
}

/// Returns the text of a result.
fn result_text(block: Object<'_>, place: BlockPlace) -> Result<String, ApiError> {
    let content = block.get("content").unwrap_or("null");
    if let Some(text) = block.string("content") {
        return Ok(text);
    }
    let mut texts = Vec::new();
    for item in crate::wire::walk::items(content) {
        let item = Object::from_json(item).ok_or_else(|| place.error("content: expected content blocks"))?;
        let kind = item.text("type").unwrap_or_default();
        match part(item, &kind, place)? {
            ChatPart::Text { text } => texts.push(text),
            ChatPart::ImageUrl { .. } => return Err(place.unknown(&kind)),
        }
    }
    Ok(texts.join("\n"))
}
