//! Arguments are read in two ways, straight from the text while all is exact and through a tree otherwise: both give
//! the same values.

#![allow(clippy::unwrap_used, reason = "a test")]

use serde_json::Value;
use tool_runtime::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tool_runtime::serde::Deserialize;
use tool_runtime::{ToolCall, ToolOutcome, ToolRegistry, tool};

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(future)
}

/// Answers with raw JSON.
#[tool]
async fn raw(
    /// Anything.
    any: Raw,
) -> String {
    any.0.get().to_owned()
}

#[derive(Deserialize)]
#[serde(crate = "tool_runtime::serde")]
struct Raw(Box<serde_json::value::RawValue>);

impl JsonSchema for Raw {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Raw".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

#[test]
fn raw_text_is_checked_like_any_other() {
    let mut registry = ToolRegistry::new();
    registry.register::<raw>().unwrap();
    let read = |any: &str| wait(registry.call(ToolCall::new("id", "raw", format!(r#"{{"any":{any}}}"#))));
    assert_eq!(read(r#"{"a": 1.50}"#).result.text(), Some(r#"{"a":1.50}"#));
    assert_eq!(codes(&read(r#"{"a":1,"a":2}"#)), ["duplicate_key /any/a"]);
    assert_eq!(codes(&read("5")), ["!unsupported_object_literal /any"]);
    assert_eq!(
        codes(&read(r#"{"a":1e400}"#)),
        ["!unsupported_number_literal /any/a"]
    );
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(500), "]".repeat(500));
    assert_eq!(codes(&read(&deep)), ["!too_deep "]);
}

fn codes(outcome: &ToolOutcome) -> Vec<String> {
    let errors = outcome
        .errors
        .iter()
        .map(|issue| format!("!{} {}", issue.code, issue.path));
    let warnings = outcome
        .warnings
        .iter()
        .map(|issue| format!("{} {}", issue.code, issue.path));
    errors.chain(warnings).collect()
}
