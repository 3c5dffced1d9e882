//! Body of an upstream request: the client's body with the true transcript, the definitions of the tools, a `tool_choice` that does not
//! force a tool in every round, the container of the last round, and without thinking after thinking blocks were removed.

use crate::turn::ownership::ClassifiedTools;
use crate::turn::round_messages::RoundMessages;
use crate::wire::context_management::without_clear_thinking;
use crate::wire::fields::ObjectText;
use crate::wire::object::{Change, Object, set_field};
use crate::wire::request::MessagesRequest;

/// Round of a turn, for the body of its request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskedRound<'r> {
    pub(crate) messages: RoundMessages<'r>,
    /// Whether the model answers calls that the gateway ran.
    pub(crate) is_after_internal: bool,
    /// Container of the upstream's code execution in earlier rounds.
    pub(crate) container: Option<&'r ObjectText>,
    /// Whether thinking is off, since thinking blocks were removed from the messages after the user's last text.
    pub(crate) is_thinking_off: bool,
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
    let mut left_out = Vec::new();
    let edits = request
        .get("context_management")
        .filter(|_| round.is_thinking_off);
    let edits = edits.map(without_clear_thinking);
    if round.is_thinking_off {
        left_out.push("thinking");
    }
    match &edits {
        Some(Some(edits)) => changes.push(("context_management", edits)),
        Some(None) => left_out.push("context_management"),
        None => {}
    }
    request.with(&round.messages, &changes, &left_out)
}

/// Returns whether a request asks for thinking.
pub(crate) fn asks_for_thinking(request: &MessagesRequest) -> bool {
    let thinking = request
        .get("thinking")
        .and_then(|thinking| Object::parse(thinking).ok());
    thinking.is_some_and(|thinking| !thinking.is("type", "disabled"))
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
    let choice = Object::from_json(choice)?;
    if !matches!(&*choice.text("type")?, "any" | "tool") {
        return None;
    }
    let mut text = String::new();
    choice.write(&mut text, |name, _| match name {
        "type" => Some(Change::To("\"auto\"")),
        "name" => None,
        _ => Some(Change::Keep),
    });
    Some(text)
}
