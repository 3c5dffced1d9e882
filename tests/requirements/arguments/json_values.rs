//! Parameters that accept any JSON object or array.

use serde_json::{Map, Value, json};
use tool_runtime::{testing, tool};

/// Update many settings at once.
#[tool]
async fn update_multiple(
    /// Setting to value.
    updates: Map<String, Value>,
) -> Value {
    Value::Object(updates)
}

/// Accept a list of any values.
#[tool]
async fn take_all(
    /// Any value.
    values: Vec<Value>,
) -> Value {
    Value::Array(values)
}

/// R-COE-18
#[tokio::test]
async fn accepts_a_json_object_at_any_depth() {
    let updates = json!({
        "config.timeout": 5000,
        "config.retries": 3,
        "nested": { "key": "value", "list": [1, null, { "deeper": true }] }
    });
    testing::run::<update_multiple>(json!({ "updates": updates }))
        .await
        .assert_json(updates)
        .assert_no_warnings();
}

/// R-COE-19
#[tokio::test]
async fn accepts_a_json_array_at_any_depth() {
    let values = json!([1, "two", null, [3.5], { "four": [] }]);
    testing::run::<take_all>(json!({ "values": values }).to_string())
        .await
        .assert_json(values)
        .assert_no_warnings();
}
