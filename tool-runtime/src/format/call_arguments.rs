//! Arguments of a call, in the form that an API accepts in the history.

use serde_json::{Map, Value};
use tool_repair::{Status, repair};

/// Parses a text of arguments as an object; repaired if the repair is certain. A blank text is an empty object.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    if text.trim().is_empty() {
        return Some(Map::new());
    }
    if let Ok(object) = serde_json::from_str(text) {
        return Some(object);
    }
    let repaired = repair(text);
    let is_repaired = repaired.status == Status::Repaired;
    serde_json::from_str(&repaired.text).ok().filter(|_| is_repaired)
}

/// Returns the text of arguments for the history: the text of an object; `{}` for unparsable arguments, since servers
/// reject any other text.
pub(super) fn sent_back(text: &str) -> String {
    let is_object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).is_ok();
    if is_object(text) {
        return text.to_owned();
    }
    let repaired = repair(text);
    if repaired.status == Status::Repaired && is_object(&repaired.text) {
        return repaired.text.into_owned();
    }
    "{}".to_owned()
}

/// Returns the text of arguments for a call; `{}` for a blank text.
pub(super) fn called(text: String) -> String {
    if text.trim().is_empty() {
        "{}".to_owned()
    } else {
        text
    }
}
