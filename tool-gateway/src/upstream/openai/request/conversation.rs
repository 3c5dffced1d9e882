//! The messages of a conversation.

use std::collections::{HashMap, VecDeque};
use std::mem;

use super::chat::{CalledFunction, ChatCall, ChatContent, ChatMessage, ChatPart, PartContent};
use super::echoed_thinking::{EchoedThinking, MessageThinking};
use super::ids::ChatCallIds;
use super::parts::PartReader;
use super::place::BlockPlace;
use super::raw::raw;
use super::server_calls;
use crate::upstream::openai::names::ChatNames;
use crate::upstream::openai::profile::{IdScheme, MidSystem, Profile, SystemRole, ToolImages};
use crate::upstream::openai::signature::ThinkingSigner;
use crate::wire::block::BlockText;
use crate::wire::error::ApiError;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;
use crate::wire::walk;

/// Builds the messages of Chat Completions from the messages of a request. Neighbours of one role are merged.
#[derive(Debug)]
pub(super) struct Conversation<'p> {
    pub(super) reader: PartReader<'p>,
    pub(super) thinking: EchoedThinking,
    ids: ChatCallIds,
    messages: Vec<ChatMessage>,
    /// Calls of the last assistant message, which need results.
    calls: Vec<OpenCall>,
    /// Index of the message with these calls.
    calls_at: usize,
    user: UserGroup,
    assistant: AssistantGroup,
}

/// A call without a result.
#[derive(Debug)]
struct OpenCall {
    /// Id in the request.
    sent: String,
    id: String,
    name: String,
}

/// Parts of the open user message.
#[derive(Debug, Default)]
struct UserGroup {
    is_open: bool,
    /// Results by the id in the request.
    results: HashMap<String, VecDeque<Vec<ChatPart>>>,
    items: Vec<UserItem>,
}

#[derive(Debug)]
enum UserItem {
    Part(ChatPart),
    System(ChatContent),
}

/// Parts of the open assistant message.
#[derive(Debug, Default)]
struct AssistantGroup {
    parts: Vec<ChatPart>,
    calls: Vec<ChatCall>,
    thinking: MessageThinking,
    last: LastBlock,
}

/// The block before a text of an assistant message.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum LastBlock {
    /// Text, or a block of another message.
    #[default]
    Text,
    /// Thinking or a call. A server of Chat Completions had one text on both sides of it.
    Other,
}

impl<'p> Conversation<'p> {
    pub(super) fn new(reader: PartReader<'p>, ids: IdScheme, signer: ThinkingSigner) -> Self {
        Self {
            reader,
            thinking: EchoedThinking::new(signer),
            ids: ChatCallIds::new(ids),
            messages: Vec::new(),
            calls: Vec::new(),
            calls_at: 0,
            user: UserGroup::default(),
            assistant: AssistantGroup::default(),
        }
    }

    fn profile(&self) -> &'p Profile {
        self.reader.profile
    }

    /// Adds the system prompt.
    pub(super) fn push_system(&mut self, content: ChatContent) {
        if !content.is_blank() {
            let message = system_message(self.profile().role, content);
            self.messages.push(message);
        }
    }

    /// Adds the messages of a request.
    pub(super) fn push_messages(
        &mut self,
        request: &MessagesRequest,
        names: &mut ChatNames,
    ) -> Result<(), ApiError> {
        for (at, message) in request.messages.iter().enumerate() {
            let place = |block| BlockPlace { message: at, block };
            let blocks = request.blocks(message).enumerate();
            match &message.role {
                Role::User => {
                    self.close_assistant();
                    self.user.is_open = true;
                    for (index, block) in blocks {
                        self.push_user_block(&block, place(index))?;
                    }
                }
                Role::System => {
                    self.close_assistant();
                    self.user.is_open = true;
                    let mut parts = Vec::new();
                    for (index, block) in blocks {
                        self.reader.read(block.object(), place(index), &mut parts)?;
                    }
                    self.push_mid_system(parts);
                }
                Role::Assistant => {
                    self.close_user()?;
                    self.assistant.last = LastBlock::Text;
                    for (index, block) in blocks {
                        self.push_assistant_block(&block, place(index), names)?;
                    }
                }
                Role::Other(name) => {
                    let name = name.as_str();
                    return Err(ApiError::invalid(format!(
                        "messages.{at}.role: unknown role `{name}`; expected `user`, `assistant` or `system`"
                    )));
                }
            }
        }
        self.close_assistant();
        self.close_user()
    }

    /// Returns whether the last message is the assistant's.
    pub(super) fn ends_with_assistant(&self) -> bool {
        matches!(self.messages.last(), Some(ChatMessage::Assistant { .. }))
    }

    /// Returns the messages.
    pub(super) fn into_messages(mut self) -> Vec<ChatMessage> {
        let profile = self.profile();
        for message in &mut self.messages {
            if let ChatMessage::Assistant {
                reasoning,
                tool_calls,
                ..
            } = message
            {
                if profile.empty_reasoning && reasoning.is_empty() {
                    reasoning.reasoning_content = Some(String::new());
                }
                if profile.call_signatures {
                    sign_calls(tool_calls);
                }
            }
        }
        self.messages
    }

    fn push_mid_system(&mut self, parts: Vec<ChatPart>) {
        let content = ChatContent::from_parts(parts, "\n\n");
        if content.is_blank() {
            return;
        }
        let item = match (self.profile().mid_system, content) {
            (MidSystem::Keep, content) => UserItem::System(content),
            (MidSystem::User, ChatContent::Text(text)) => {
                let text = format!("<system-reminder>\n{text}\n</system-reminder>");
                UserItem::Part(ChatPart::text(text))
            }
            (MidSystem::User, ChatContent::Parts(parts)) => {
                let texts = parts.into_iter().map(UserItem::Part);
                return self.user.items.extend(texts);
            }
        };
        self.user.items.push(item);
    }

    fn push_user_block(&mut self, block: &BlockText<'_>, place: BlockPlace) -> Result<(), ApiError> {
        let object = block.object();
        if !object.is("type", "tool_result") {
            let mut parts = Vec::new();
            self.reader.read(object, place, &mut parts)?;
            self.user.items.extend(parts.into_iter().map(UserItem::Part));
            return Ok(());
        }
        let id = object
            .string("tool_use_id")
            .ok_or_else(|| place.error("missing `tool_use_id`"))?;
        let expected = self.calls.iter().filter(|call| call.sent == id).count();
        let found = self.user.results.get(&id).map_or(0, VecDeque::len);
        if expected == 0 {
            return Err(place.error(&format!(
                "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a \
                 corresponding `tool_use` block in the previous message."
            )));
        }
        if found == expected {
            return Err(place.error(&format!(
                "each `tool_use` must have a single result. Found multiple `tool_result` blocks with id: {id}"
            )));
        }
        let parts = self.result_parts(object, place)?;
        self.user.results.entry(id).or_default().push_back(parts);
        Ok(())
    }

    /// Returns the parts of a result.
    fn result_parts(&mut self, block: Object<'_>, place: BlockPlace) -> Result<Vec<ChatPart>, ApiError> {
        let content = block.get("content").unwrap_or("null");
        let mut parts = Vec::new();
        if let Some(text) = walk::string(content) {
            parts.push(ChatPart::text(text));
        }
        for item in walk::items(content) {
            let item =
                Object::from_json(item).ok_or_else(|| place.error("content: expected content blocks"))?;
            self.reader.read(item, place, &mut parts)?;
        }
        if block.get("is_error") == Some("true") {
            mark_error(&mut parts);
        }
        if let Some(last) = parts.last_mut() {
            self.reader.set_cache_control(block, last);
        }
        Ok(parts)
    }

    fn push_assistant_block(
        &mut self,
        block: &BlockText<'_>,
        place: BlockPlace,
        names: &mut ChatNames,
    ) -> Result<(), ApiError> {
        let object = block.object();
        let kind = object.text("type").unwrap_or_default();
        match &*kind {
            "text" => {
                let text = object.string("text").unwrap_or_default();
                if !text.is_empty() {
                    let mut part = ChatPart::text(text);
                    self.reader.set_cache_control(object, &mut part);
                    self.assistant.push(part);
                }
            }
            "tool_use" => {
                let text = |name: &str| {
                    object
                        .string(name)
                        .ok_or_else(|| place.error(&format!("missing `{name}`")))
                };
                let (sent, name) = (text("id")?, text("name")?);
                let function = names.function_name(&name).into_owned();
                let id = self.ids.next(&sent, &function);
                self.assistant.calls.push(ChatCall {
                    id: id.clone(),
                    function: CalledFunction {
                        name: function.clone(),
                        arguments: object.get("input").unwrap_or("{}").to_owned(),
                    },
                    extra_content: self.assistant.thinking.take_extra_content(&name),
                });
                self.calls_at = place.message;
                self.calls.push(OpenCall {
                    sent,
                    id,
                    name: function,
                });
                self.assistant.last = LastBlock::Other;
            }
            "thinking" | "redacted_thinking" => {
                let profile = self.profile();
                let part = self.thinking.push(object, profile, &mut self.assistant.thinking);
                self.assistant.parts.extend(part);
                self.assistant.last = LastBlock::Other;
            }
            kind => {
                let text = server_calls::text(object, kind, place)?;
                self.assistant.last = LastBlock::Text;
                self.assistant.push(ChatPart::text(text));
            }
        }
        Ok(())
    }

    /// Ends the open assistant message.
    fn close_assistant(&mut self) {
        let AssistantGroup {
            parts,
            calls,
            thinking: MessageThinking { reasoning, .. },
            ..
        } = mem::take(&mut self.assistant);
        let content = ChatContent::from_parts(parts, "");
        let content = Some(content).filter(|content| !content.is_blank());
        if content.is_some() || !calls.is_empty() {
            // An empty user message between two messages is skipped.
            if let Some(ChatMessage::Assistant {
                reasoning: thought_before,
                content: before,
                tool_calls,
            }) = self.messages.last_mut()
                && tool_calls.is_empty()
            {
                thought_before.append(reasoning);
                *before = ChatContent::joined(before.take(), content);
                *tool_calls = calls;
                return;
            }
            self.messages.push(ChatMessage::Assistant {
                reasoning,
                content,
                tool_calls: calls,
            });
        }
    }

    /// Ends the open user message. The results are first, in the order of the calls.
    fn close_user(&mut self) -> Result<(), ApiError> {
        let UserGroup {
            is_open,
            mut results,
            items,
        } = mem::take(&mut self.user);
        if !is_open && self.calls.is_empty() {
            return Ok(());
        }
        let mut missing = Vec::new();
        let mut images = Vec::new();
        for call in mem::take(&mut self.calls) {
            match results.get_mut(&call.sent).and_then(VecDeque::pop_front) {
                Some(parts) => self.push_result(&call, parts, &mut images),
                None => missing.push(call.sent),
            }
        }
        if !missing.is_empty() {
            return Err(ApiError::invalid(format!(
                "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
                 block must have a corresponding `tool_result` block in the next message.",
                self.calls_at,
                missing.join(", ")
            )));
        }
        let mut parts = images;
        for item in items {
            match item {
                UserItem::Part(part) => parts.push(part),
                UserItem::System(content) => {
                    self.push_user(mem::take(&mut parts));
                    let message = system_message(self.profile().role, content);
                    self.messages.push(message);
                }
            }
        }
        self.push_user(parts);
        Ok(())
    }

    fn push_user(&mut self, parts: Vec<ChatPart>) {
        let content = ChatContent::from_parts(parts, "\n\n");
        if content.is_blank() {
            return;
        }
        // An empty assistant message between two messages is skipped.
        if let Some(ChatMessage::User { content: before }) = self.messages.last_mut() {
            let first = mem::replace(before, ChatContent::Text(String::new()));
            if let Some(joined) = ChatContent::joined(Some(first), Some(content)) {
                *before = joined;
            }
            return;
        }
        self.messages.push(ChatMessage::User { content });
    }

    /// Adds the result of a call. Parts other than text move to `images` if the server accepts only text in results.
    fn push_result(&mut self, call: &OpenCall, parts: Vec<ChatPart>, images: &mut Vec<ChatPart>) {
        let mut kept = Vec::new();
        for part in parts {
            let kind = match &part.content {
                PartContent::Text { .. } | PartContent::Thinking { .. } => None,
                PartContent::ImageUrl { .. } => Some(("image", "Image")),
                PartContent::File { .. } => Some(("document", "Document")),
            };
            let Some((kind, title)) = kind.filter(|_| self.profile().tool_images == ToolImages::User) else {
                kept.push(part);
                continue;
            };
            // Each image has a text before it.
            let number = images.len() / 2 + 1;
            kept.push(ChatPart::text(format!("[{kind} {number}]")));
            let OpenCall { name, id, .. } = call;
            images.push(ChatPart::text(format!("{title} {number}, from {name} ({id}):")));
            images.push(part);
        }
        self.messages.push(ChatMessage::Tool {
            tool_call_id: call.id.clone(),
            content: ChatContent::from_parts(kept, "\n"),
        });
    }
}

impl AssistantGroup {
    /// Adds a text. A server of Chat Completions had one text on both sides of thinking and calls, which other texts are not.
    fn push(&mut self, part: ChatPart) {
        if self.last == LastBlock::Text
            && let Some(PartContent::Text { text }) = self.parts.last_mut().map(|last| &mut last.content)
        {
            text.push_str("\n\n");
        }
        self.last = LastBlock::Text;
        self.parts.push(part);
    }
}

/// Signature that Google accepts for calls of other models, <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const UNCHECKED_SIGNATURE: &str = r#"{"google":{"thought_signature":"skip_thought_signature_validator"}}"#;

/// Adds the unchecked signature to the calls of a message without signatures. Of parallel calls, the server signs the first one alone.
fn sign_calls(calls: &mut [ChatCall]) {
    if calls.iter().any(|call| call.extra_content.is_some()) {
        return;
    }
    for call in calls {
        call.extra_content = raw(UNCHECKED_SIGNATURE).map(ToOwned::to_owned);
    }
}

fn system_message(role: SystemRole, content: ChatContent) -> ChatMessage {
    match role {
        SystemRole::System => ChatMessage::System { content },
        SystemRole::Developer => ChatMessage::Developer { content },
    }
}

/// Begins the text of a failed call with `Error: `, unless the text begins with this word.
fn mark_error(parts: &mut Vec<ChatPart>) {
    match parts.first_mut().map(|first| &mut first.content) {
        Some(PartContent::Text { text }) => {
            let start = text.trim_start().get(.."error".len());
            if !start.is_some_and(|start| start.eq_ignore_ascii_case("error")) {
                text.insert_str(0, "Error: ");
            }
        }
        _ => parts.insert(0, ChatPart::text("Error: ")),
    }
}
