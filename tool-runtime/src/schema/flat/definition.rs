//! The flat form of definitions, which is also their serialized form.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::flat_schema::FlatSchema;
use crate::wire::definition::ToolDefinition;

impl ToolDefinition {
    /// Returns the definition as models see it. The Messages API and OpenAI's APIs refuse every request with a tool
    /// whose schema has `anyOf`, `oneOf`, `allOf` or `$ref` at the root, so such a schema becomes one object: with the
    /// properties of all alternatives, those `required` that all alternatives require, and the rest as a sentence of
    /// the description. Calls are checked against the complete schema.
    ///
    /// The formats of these APIs, and the serialized definition, have this form. [MCP's](crate::format::mcp::tool)
    /// has the complete schema.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, serde_json::json};
    ///
    /// let find = ToolDefinition::new("find", "Find a page.", json!({
    ///     "type": "object",
    ///     "properties": { "id": { "type": "integer" }, "title": { "type": "string" } },
    ///     "anyOf": [{ "required": ["id"] }, { "required": ["title"] }],
    /// }));
    /// let shown = find.flattened();
    /// assert_eq!(
    ///     shown.input_schema,
    ///     json!({
    ///         "type": "object",
    ///         "properties": { "id": { "type": "integer" }, "title": { "type": "string" } },
    ///     }),
    /// );
    /// assert_eq!(shown.description, "Find a page.\n\nSend `id` or `title`.");
    /// assert_eq!(serde_json::to_value(&find).unwrap(), serde_json::to_value(&*shown).unwrap());
    /// ```
    #[must_use]
    pub fn flattened(&self) -> Cow<'_, Self> {
        let Some(FlatSchema { schema, rules }) = FlatSchema::new(&self.input_schema) else {
            return Cow::Borrowed(self);
        };
        let mut flat = self.clone();
        flat.input_schema = schema;
        if !rules.is_empty() {
            if !flat.description.is_empty() {
                flat.description.push_str("\n\n");
            }
            flat.description.push_str(&rules);
        }
        Cow::Owned(flat)
    }
}

/// The fields of the Messages API, in its order.
#[derive(Serialize)]
struct SerializedDefinition<'d> {
    name: &'d str,
    description: &'d str,
    input_schema: &'d Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    input_examples: &'d [Value],
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<&'d Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    defer_loading: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    eager_input_streaming: Option<bool>,
    #[serde(flatten)]
    rest: &'d Map<String, Value>,
}

impl Serialize for ToolDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = self.flattened();
        SerializedDefinition {
            name: &shown.name,
            description: &shown.description,
            input_schema: &shown.input_schema,
            strict: shown.strict,
            input_examples: &shown.input_examples,
            cache_control: shown.cache_control.as_ref(),
            defer_loading: shown.defer_loading,
            eager_input_streaming: shown.eager_input_streaming,
            rest: &shown.rest,
        }
        .serialize(serializer)
    }
}
