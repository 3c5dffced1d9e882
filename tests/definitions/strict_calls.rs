//! Calls of models that received the strict form of a tool.

use serde_json::json;
use tool_runtime::ToolRegistry;

use crate::definitions::sample_tools;

/// A strict model sends `null` for an omitted property.
#[tokio::test]
async fn null_for_an_optional_property_means_absent() {
    let mut registry = ToolRegistry::new();
    registry.register::<sample_tools::create_event>().unwrap();
    let with_nulls = json!({
        "title": "Tea",
        "start": "2026-11-21T16:00:00Z",
        "minutes": null,
        "guests": [{ "fullName": "Ada", "email": null, "companions": null }],
        "link": null,
    });
    let without = json!({
        "title": "Tea", "start": "2026-11-21T16:00:00Z", "guests": [{ "fullName": "Ada" }],
    });
    let nulls = registry
        .execute_tool("call_1", "create_event", with_nulls.to_string())
        .await;
    assert!(!nulls.is_error, "{nulls:?}");
    assert_eq!(
        nulls,
        registry
            .execute_tool("call_1", "create_event", without.to_string())
            .await
    );
}
