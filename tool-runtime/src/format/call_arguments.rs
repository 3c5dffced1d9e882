//! The arguments of a call, in the form in which an API takes them back.

use serde_json::{Map, Value};
use tool_repair::{Status, repair};

/// The object that a text of arguments holds, repaired if that is no guess. A blank text is an empty object.
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

/// The text of the object that a text of arguments holds; `{}` for one that cannot be read, since servers refuse any other
/// text in the history.
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

/// The text of arguments for a call: `{}` if it is blank.
pub(super) fn called(text: String) -> String {
    if text.trim().is_empty() {
        "{}".to_owned()
    } else {
        text
    }
}
