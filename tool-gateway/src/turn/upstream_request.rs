//! Body of an upstream request: the client's body with the true transcript, the definitions of the tools, a `tool_choice` that does not
//! force a tool in every round, and the container of the last round.

use serde_json::Value;

use crate::turn::ownership::ClassifiedTools;
use crate::wire::fields::ObjectText;
use crate::wire::object::set_field;
use crate::wire::request::MessagesRequest;

/// Round of a turn, for the body of its request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskedRound<'r> {
    /// Messages as the text of a list without brackets.
    pub(crate) messages: &'r str,
    /// Whether the model answers calls that the gateway ran.
    pub(crate) is_after_internal: bool,
    /// Container of the upstream's code execution in earlier rounds.
    pub(crate) container: Option<&'r ObjectText>,
}

/// Builds the body for a round.
pub(crate) fn body(request: &MessagesRequest, tools: &ClassifiedTools, round: &AskedRound<'_>) -> String {
    let mut changes = Vec::new();
    if let Some(definitions) = &tools.definitions {
        changes.push(("tools", definitions.as_str()));
    }
    let choice = request.get("tool_choice").filter(|_| round.is_after_internal);
    let choice = choice.and_then(auto);
    if let Some(choice) = &choice {
        changes.push(("tool_choice", choice));
    }
    let container = round
        .container
        .and_then(|sent| container(request.get("container"), sent));
    if let Some(container) = &container {
        changes.push(("container", container));
    }
    request.with(round.messages, &changes)
}

/// Returns the `container` of a request that continues in the container of a response: its id, as a part of the client's object if there is
/// one.
fn container(sent: Option<&str>, received: &ObjectText) -> Option<String> {
    let received = received.object();
    let id = received.get("id")?;
    let sent = sent.filter(|sent| sent.starts_with('{'));
    Some(sent.map_or_else(|| id.to_owned(), |sent| set_field(sent, "id", id)))
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
