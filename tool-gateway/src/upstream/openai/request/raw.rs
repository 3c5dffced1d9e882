//! [`raw`]: parts of a request that keep their text.

use serde_json::value::RawValue;

/// Returns a part of the request as JSON; `None` for an invalid part.
pub(super) fn raw(text: &str) -> Option<&RawValue> {
    serde_json::from_str(text).ok()
}
