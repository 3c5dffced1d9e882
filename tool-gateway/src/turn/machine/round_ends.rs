//! [`RoundEnds`]: fields from the ends of all rounds, for the end of the client's message.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::wire::fields::{ObjectText, RawFields};
use crate::wire::object::{Object, set_field};
use crate::wire::usage;

/// Fields from the ends of all earlier rounds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RoundEnds {
    /// The usage of each round.
    iterations: Vec<Value>,
    /// The last container of the upstream's code execution.
    container: Option<ObjectText>,
    /// The edits of all rounds to the context.
    context_management: Option<ObjectText>,
}

impl RoundEnds {
    /// Adds the end of a round. The entries of its iterations move out of `usage`.
    pub(super) fn push(&mut self, usage: &mut Map<String, Value>, end: &RawFields) {
        self.iterations.extend(usage::take_iterations(usage));
        let delta = end.get("delta").and_then(|delta| Object::parse(delta).ok());
        let container = delta.as_ref().and_then(|delta| delta.get("container"));
        if let Some(container) = container.and_then(ObjectText::new) {
            self.container = Some(container);
        }
        if let Some(later) = end.get("context_management").and_then(ObjectText::new) {
            self.context_management = Some(match &self.context_management {
                Some(before) => with_edits_of(before, &later),
                None => later,
            });
        }
    }

    pub(super) fn container(&self) -> Option<&ObjectText> {
        self.container.as_ref()
    }

    /// Adds the fields to the end of the client's message. `sum` is the usage of all rounds.
    pub(super) fn write(&self, end: &mut RawFields, sum: &Map<String, Value>) {
        // Clients require a stop reason, even if the upstream sent none.
        let delta = end
            .get("delta")
            .unwrap_or(r#"{"stop_reason":null,"stop_sequence":null}"#);
        let delta = match &self.container {
            Some(container) => set_field(delta, "container", container.as_str()),
            None => delta.to_owned(),
        };
        end.set("delta", delta);
        if let Some(edits) = &self.context_management {
            end.set("context_management", edits.as_str());
        }
        end.set("usage", usage::with_iterations(sum, &self.iterations));
    }
}

/// Merges two objects: their lists of edits are joined, and other fields come from the later object.
fn with_edits_of(before: &ObjectText, later: &ObjectText) -> ObjectText {
    const EDITS: &str = "applied_edits";
    let edits = |object: &ObjectText| -> Vec<Box<RawValue>> {
        let list = object.object().get(EDITS).map(serde_json::from_str);
        list.and_then(Result::ok).unwrap_or_default()
    };
    let all = [edits(before), edits(later)].concat();
    let mut merged = RawFields::from(before.object());
    merged.merge(later.object().into());
    if !all.is_empty() {
        let all: Vec<&str> = all.iter().map(|edit| edit.get()).collect();
        merged.set(EDITS, format!("[{}]", all.join(",")));
    }
    merged.into_object()
}
