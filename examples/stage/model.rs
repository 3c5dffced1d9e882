//! A model with scripted answers.

use std::collections::VecDeque;

use tool_runtime::ToolDefinition;
use tool_runtime::message::{Block, Message, MessageContent};
use tool_runtime::serde_json::{Value, from_value, json};

/// Returns one answer after the other for any input. Like the API, it requires that each of its calls has a result before it continues.
pub struct ScriptedModel {
    script: VecDeque<Message>,
}

/// A response of the API.
pub struct Answer {
    pub message: Message,
    pub stop_reason: &'static str,
}

impl ScriptedModel {
    /// Answers, each of which is the `content` of a message: an array of blocks.
    pub fn new(script: impl IntoIterator<Item = Value>) -> Self {
        let message = |content| from_value(json!({ "role": "assistant", "content": content }));
        Self {
            script: script
                .into_iter()
                .map(|content| message(content).expect("an array of blocks"))
                .collect(),
        }
    }

    /// Returns the next answer. A real client would send the definitions and the messages to the API here.
    pub fn answer(&mut self, _definitions: &[&ToolDefinition], messages: &[Message]) -> Answer {
        if let [.., request_message, result_message] = messages {
            assert_eq!(
                ids(request_message, "tool_use", "id"),
                ids(result_message, "tool_result", "tool_use_id")
            );
        }
        let message = self.script.pop_front().expect("the script has another answer");
        let stop_reason = match ids(&message, "tool_use", "id").len() {
            0 => "end_turn",
            _ => "tool_use",
        };
        Answer { message, stop_reason }
    }
}

/// Returns the blocks of a message.
pub fn blocks(message: &Message) -> &[Block] {
    match &message.content {
        MessageContent::Blocks(blocks) => blocks,
        MessageContent::Text(_) => &[],
    }
}

fn ids<'a>(message: &'a Message, kind: &str, field: &str) -> Vec<&'a str> {
    let of_kind = blocks(message).iter().filter(|block| block.kind() == kind);
    of_kind.filter_map(|block| block.str(field)).collect()
}
