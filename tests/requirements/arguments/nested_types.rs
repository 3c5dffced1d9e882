//! Optional parameters and nested structs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{ToolRegistry, testing, tool};

/// Change the configuration.
#[tool]
async fn update_config(
    /// The settings to change.
    settings: ConfigSettings,
    /// Recipient of the message.
    notify: Option<String>,
) -> Value {
    json!([settings, notify])
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct ConfigSettings {
    /// Waiting time in seconds.
    timeout: i64,
    /// Number of retries.
    retries: i64,
}

/// R-DEF-9, R-COE-12
#[tokio::test]
async fn optional_parameter_is_left_out_of_required() {
    let mut registry = ToolRegistry::new();
    registry.register::<update_config>().unwrap();
    let schema = &registry
        .get_tool("update_config")
        .unwrap()
        .definition()
        .input_schema;
    assert_eq!(schema["required"], json!(["settings"]));
    assert_eq!(
        schema["properties"]["notify"]["type"], "string",
        "shown as its type, not as nullable"
    );
    for notify in [json!({}), json!({ "notify": null })] {
        let mut input = json!({ "settings": { "timeout": 1, "retries": 2 } });
        input
            .as_object_mut()
            .unwrap()
            .extend(notify.as_object().unwrap().clone());
        testing::run::<update_config>(input)
            .await
            .assert_text(r#"[{"timeout":1,"retries":2},null]"#)
            .assert_no_warnings();
    }
}

/// R-DEF-8, R-COE-20
#[tokio::test]
async fn nested_object_describes_and_checks_its_fields() {
    let mut registry = ToolRegistry::new();
    registry.register::<update_config>().unwrap();
    let schema = &registry
        .get_tool("update_config")
        .unwrap()
        .definition()
        .input_schema;
    assert_eq!(
        schema["properties"]["settings"],
        json!({
            "type": "object",
            "description": "The settings to change.",
            "properties": {
                "timeout": { "type": "integer", "description": "Waiting time in seconds." },
                "retries": { "type": "integer", "description": "Number of retries." },
            },
            "required": ["timeout", "retries"],
        }),
    );
    testing::run::<update_config>(r#"{ "settings": { "timeout": "30" } }"#)
        .await
        .assert_refused(["missing_required at /settings/retries"]);
    testing::run::<update_config>(r#"{ "settings": { "timeout": "30", "retries": 3.0 } }"#)
        .await
        .assert_text(r#"[{"timeout":30,"retries":3},null]"#)
        .assert_warnings([
            "string_literal_converted_to_integer at /settings/timeout",
            "number_coerced_to_integer at /settings/retries",
        ]);
}
