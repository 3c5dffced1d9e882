//! Invalid items of lists and sets. Each invalid item is an error at its original index.

use std::collections::BTreeSet;

use serde::Deserialize;
use tool_runtime::schemars::JsonSchema;
use tool_runtime::{ToolCall, ToolDefinition, ToolRegistry, tool};

/// A number whose type rejects odd numbers.
#[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(try_from = "i32")]
#[schemars(with = "i32")]
struct Even(i32);

impl TryFrom<i32> for Even {
    type Error = &'static str;

    fn try_from(value: i32) -> Result<Self, Self::Error> {
        (value % 2 == 0).then_some(Self(value)).ok_or("odd")
    }
}

/// Accepts numbers.
#[tool]
async fn take_numbers(
    /// A list.
    #[arg(name = "list")]
    _list: Option<Vec<Even>>,
    /// A set.
    #[arg(name = "set")]
    _set: Option<BTreeSet<Even>>,
) {
}

async fn errors(input: &str) -> Vec<String> {
    let mut registry = ToolRegistry::new();
    registry.register::<take_numbers>().unwrap();
    let outcome = registry.call(ToolCall::new("1", "take_numbers", input)).await;
    outcome
        .errors
        .iter()
        .map(|error| format!("{}@{}", error.code, error.path))
        .collect()
}

#[tokio::test]
async fn error_of_a_type_is_in_the_order_of_items() {
    assert_eq!(
        errors(r#"{"list": [1, "x", 3]}"#).await,
        ["invalid_value@/list/0", "unsupported_integer_literal@/list/1"]
    );
    assert_eq!(
        errors(r#"{"set": [1], "list": [2, "x", 3]}"#).await,
        ["unsupported_integer_literal@/list/1", "invalid_value@/set/0"]
    );
}

#[tokio::test]
async fn set_with_an_invalid_item_keeps_its_indices() {
    assert_eq!(
        errors(r#"{"set": [4, 4, false]}"#).await,
        ["unsupported_integer_literal@/set/2"]
    );
    assert_eq!(
        errors(r#"{"set": [false, 4, 4]}"#).await,
        ["unsupported_integer_literal@/set/0"]
    );
}

#[tokio::test]
async fn error_of_a_type_after_removed_items_is_at_the_set() {
    assert_eq!(errors(r#"{"set": [2, 2, 1]}"#).await, ["invalid_value@/set"]);
}

#[test]
fn prepared_call_keeps_equal_invalid_items() {
    let schema = serde_json::json!({
        "type": "object",
        "properties": { "set": { "type": "array", "items": { "type": "integer" }, "uniqueItems": true } },
    });
    let mut registry = ToolRegistry::new();
    registry
        .register_dynamic(ToolDefinition::new("take", "Take.", schema), async |_, _| "")
        .unwrap();
    let request = registry.prepare(ToolCall::new("1", "take", r#"{"set": ["x", "x"]}"#));
    assert_eq!(request.arguments["set"], serde_json::json!(["x", "x"]));
    assert!(request.warnings.is_empty(), "{:?}", request.warnings);
}
