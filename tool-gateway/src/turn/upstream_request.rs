//! Body of an upstream request: the client's body with the true transcript, the definitions of the tools, and a `tool_choice` that does not
//! force a tool in every round.

use serde_json::Value;

use crate::turn::ownership::ClassifiedTools;
use crate::wire::request::MessagesRequest;

/// Builds the body. `messages` is the text of the list without brackets; `is_after_internal` is whether the model answers calls that the
/// gateway ran.
pub(crate) fn body(
    request: &MessagesRequest,
    messages: &str,
    tools: &ClassifiedTools,
    is_after_internal: bool,
) -> String {
    let mut changes = Vec::new();
    if let Some(definitions) = &tools.definitions {
        changes.push(("tools", definitions.as_str()));
    }
    let choice = request.get("tool_choice").filter(|_| is_after_internal);
    let choice = choice.and_then(auto);
    if let Some(choice) = &choice {
        changes.push(("tool_choice", choice));
    }
    request.with(messages, &changes)
}

/// Replaces a forced `tool_choice` by `auto`, since the model would be forced in every round.
fn auto(choice: &str) -> Option<String> {
    let mut choice: Value = serde_json::from_str(choice).ok()?;
    let fields = choice.as_object_mut()?;
    if !matches!(fields.get("type")?.as_str()?, "any" | "tool") {
        return None;
    }
    fields.insert("type".to_owned(), "auto".into());
    fields.shift_remove("name");
    Some(choice.to_string())
}
