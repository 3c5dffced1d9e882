//! JsonObject and JsonArray: values of any depth.

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

/// Take a list of anything.
#[tool]
async fn take_all(
    /// Anything.
    values: Vec<Value>,
) -> Value {
    Value::Array(values)
}

#[tokio::test]
async fn complex_json_object() {
    let updates = json!({
        "config.timeout": 5000,
        "config.retries": 3,
        "nested": { "key": "value", "list": [1, null, { "deeper": true }] }
    });
    testing::run::<update_multiple>(json!({ "updates": updates }))
        .await
        .assert_json(updates)
        .assert_silent();
}

#[tokio::test]
async fn complex_json_array() {
    let values = json!([1, "two", null, [3.5], { "four": [] }]);
    testing::run::<take_all>(json!({ "values": values }).to_string())
        .await
        .assert_json(values)
        .assert_silent();
}
