//! The system prompt.

use super::chat::{ChatContent, ChatPart};
use super::parts::PartReader;
use crate::wire::object::Object;
use crate::wire::walk;

/// Beginning of Claude Code's billing header. The line is no prompt, and its changes would defeat prompt caches.
const BILLING_HEADER: &str = "x-anthropic-billing-header:";

/// Returns the content of the system prompt, whose blocks are joined by a blank line.
pub(super) fn content(
    system: Option<&str>,
    instruction: Option<String>,
    reader: &PartReader<'_>,
) -> ChatContent {
    let system = system.unwrap_or_default();
    let mut parts = Vec::new();
    if let Some(text) = walk::string(system) {
        parts.push(ChatPart::text(without_billing_header(&text)));
    }
    for block in walk::items(system).filter_map(Object::from_json) {
        if let Some(text) = block.text("text") {
            let mut part = ChatPart::text(without_billing_header(&text));
            reader.set_cache_control(block, &mut part);
            parts.push(part);
        }
    }
    parts.extend(instruction.map(ChatPart::text));
    parts.retain(|part| !part.is_blank());
    ChatContent::from_parts(parts, "\n\n")
}

fn without_billing_header(text: &str) -> &str {
    if !text.starts_with(BILLING_HEADER) {
        return text;
    }
    text.split_once('\n').map_or("", |(_, rest)| rest)
}
