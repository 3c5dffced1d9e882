//! A user whose types and definitions have rules between arguments, and formats.

#![deny(warnings)]

use tool_runtime::schemars::JsonSchema;
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::tool;

/// Destination of a parcel.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(
    crate = "tool_runtime::schemars",
    extend("not" = { "required": ["locker", "street"] }),
    extend("dependentRequired" = { "street": ["city"] })
)]
pub struct Address {
    /// The number of a locker.
    pub locker: Option<u32>,
    /// A street.
    pub street: Option<String>,
    /// A city.
    pub city: Option<String>,
    /// Recipient of a mail.
    #[schemars(extend("format" = "email"))]
    pub mail: Option<String>,
}

/// Send a parcel.
#[tool]
pub async fn send_parcel(
    /// Where to.
    to: Address,
) -> String {
    format!("{to:?}")
}

#[cfg(test)]
mod tests {
    use tool_runtime::serde_json::{Value, json};
    use tool_runtime::testing::run_in;
    use tool_runtime::{Context, ToolDefinition, ToolRegistry};

    use super::send_parcel;

    #[tokio::test]
    async fn rules_of_a_type_are_enforced() {
        let mut registry = ToolRegistry::new().with_formats_enforced(true);
        registry.register::<send_parcel>().unwrap();
        run_in(
            &registry,
            "send_parcel",
            r#"{"to": {"locker": "7", "mail": "a@example.org"}}"#,
        )
        .await
        .assert_text(r#"Address { locker: Some(7), street: None, city: None, mail: Some("a@example.org") }"#);
        let refused = |arguments: Value| registry.execute_tool("id", "send_parcel", arguments.to_string());
        let result =
            refused(json!({ "to": { "locker": 7, "street": "High Street", "mail": "nobody" } })).await;
        assert_eq!(
            result.text(),
            Some(
                "`send_parcel` was not called because of invalid arguments:\n\
                 - constraint_violated at /to: `locker` and `street` exclude each other; leave one of them out\n\
                 - constraint_violated at /to/mail: invalid value \"nobody\"; expected an email address, for example name@example.org, or leave it out\n\
                 - missing_required:city at /to/city: missing required property; expected a string (since `street` was sent)"
            ),
        );
    }

    #[tokio::test]
    async fn rules_of_a_definition_are_enforced() {
        let definition = ToolDefinition::new(
            "pay",
            "Pay.",
            json!({
                "type": "object",
                "properties": { "method": { "enum": ["card", "cash"] }, "card": { "type": "string" } },
                "if": { "properties": { "method": { "const": "card" } }, "required": ["method"] },
                "then": { "required": ["card"] }
            }),
        );
        let mut registry = ToolRegistry::new();
        registry
            .register_dynamic(definition, async |arguments: Value, _: Context| arguments)
            .unwrap();
        let result = registry.execute_tool("id", "pay", r#"{"method": "card"}"#).await;
        assert_eq!(
            result.text(),
            Some(
                "`pay` was not called because of invalid arguments:\n\
                 - missing_required:card at /card: missing required parameter; expected a string (since `method` is \"card\")"
            ),
        );
    }
}
