//! The field `context_management` of a request.

use serde_json::value::RawValue;

use super::object::{Object, set_field};

/// Removes the edits that the API accepts only with thinking. Returns `None` if nothing is left.
pub(crate) fn without_clear_thinking(context_management: &str) -> Option<String> {
    let fields = Object::parse(context_management).unwrap_or_default();
    let edits = fields.get("edits").map(serde_json::from_str::<Vec<&RawValue>>);
    let Some(Ok(edits)) = edits else {
        return Some(context_management.to_owned());
    };
    let is_kept = |edit: &&&RawValue| {
        let edit = Object::parse(edit.get()).unwrap_or_default();
        !edit
            .string("type")
            .is_some_and(|kind| kind.starts_with("clear_thinking"))
    };
    let kept: Vec<&str> = edits.iter().filter(is_kept).map(|edit| edit.get()).collect();
    if kept.is_empty() && !edits.is_empty() {
        return None;
    }
    Some(set_field(
        context_management,
        "edits",
        &format!("[{}]", kept.join(",")),
    ))
}
