//! [`EchoedThinking`]: thinking of earlier messages, which goes back to its server.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::chat::{ChatPart, EchoedReasoning, PartContent, ThinkingPart, ThinkingText};
use crate::upstream::openai::profile::{Profile, ThinkingBack};
use crate::upstream::openai::signature::{DroppedThinking, ReasoningField, ThinkingSigner};
use crate::wire::object::Object;

/// Opens the thinking blocks of a conversation.
#[derive(Debug)]
pub(super) struct EchoedThinking {
    pub(super) signer: ThinkingSigner,
    /// Reasons for blocks that are not sent.
    pub(super) dropped: Vec<DroppedThinking>,
}

/// Thinking of the open assistant message.
#[derive(Debug, Default)]
pub(super) struct MessageThinking {
    pub(super) reasoning: EchoedReasoning,
    /// `extra_content` for the next calls, by the name of the tool.
    extra_contents: BTreeMap<String, Box<RawValue>>,
}

impl EchoedThinking {
    pub(super) fn new(signer: ThinkingSigner) -> Self {
        Self {
            signer,
            dropped: Vec::new(),
        }
    }

    /// Adds a thinking block to its message. Thinking that belongs into the content is returned as part.
    pub(super) fn push(
        &mut self,
        block: Object<'_>,
        profile: &Profile,
        message: &mut MessageThinking,
    ) -> Option<ChatPart> {
        if profile.back == ThinkingBack::None {
            return None;
        }
        let text = block.text("thinking").unwrap_or_default();
        let signature = block.text("signature").unwrap_or_default();
        let opened = match self.signer.open(&signature, &text) {
            Ok(opened) => opened,
            Err(reason) => {
                self.dropped.push(reason);
                return None;
            }
        };
        // An equal name is the next call's.
        message.extra_contents.extend(opened.extra_contents);
        let EchoedReasoning {
            reasoning_content,
            reasoning,
            reasoning_details,
        } = &mut message.reasoning;
        reasoning_details.extend(opened.details);
        let part = |thinking| Some(ChatPart::from(PartContent::Thinking { thinking }));
        let text = opened.text;
        match opened.field? {
            ReasoningField::ReasoningContent => {
                reasoning_content.get_or_insert_default().push_str(&text);
                None
            }
            ReasoningField::Reasoning => {
                reasoning.get_or_insert_default().push_str(&text);
                None
            }
            // The details have the text.
            ReasoningField::ReasoningDetails => None,
            ReasoningField::Content => part(ThinkingPart::Texts([ThinkingText { text }])),
            ReasoningField::Thinking => part(ThinkingPart::Text(text)),
            field @ (ReasoningField::ThinkTag
            | ReasoningField::ThinkingTag
            | ReasoningField::ReasoningTag) => {
                let tags = field.tags()?;
                let (opening, closing) = (tags.opening, tags.closing);
                Some(ChatPart::text(format!("{opening}{text}{closing}")))
            }
        }
    }
}

impl MessageThinking {
    /// Takes the `extra_content` of the next call of a tool.
    pub(super) fn take_extra_content(&mut self, tool: &str) -> Option<Box<RawValue>> {
        self.extra_contents.remove(tool)
    }
}
