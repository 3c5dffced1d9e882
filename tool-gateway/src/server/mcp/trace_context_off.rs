//! The trace of a call, in a program that was built without the feature `otlp`.

use serde_json::{Map, Value};

/// Returns no members.
pub(super) fn trace_context(_server: &str) -> Map<String, Value> {
    Map::new()
}
