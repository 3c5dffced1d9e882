//! Definitions of tools.

use serde_json::{Map, Value};

use crate::format::fields::{FormatError, text};
use crate::wire::definition::{Hints, ToolDefinition};

/// Converts to a member of `tools` in the result of `tools/list`. Only an output schema of an object is included:
/// this revision supports no other.
///
/// ```
/// use tool_runtime::{ToolDefinition, format::mcp, serde_json::json};
///
/// let schema = json!({ "type": "object", "properties": {} });
/// let mut now = ToolDefinition::new("now", "Tell the time.", schema.clone());
/// now.hints.read_only = Some(true);
/// assert_eq!(
///     mcp::tool(&now),
///     json!({
///         "name": "now",
///         "description": "Tell the time.",
///         "inputSchema": schema,
///         "annotations": { "readOnlyHint": true },
///     }),
/// );
/// ```
pub fn tool(definition: &ToolDefinition) -> Value {
    let hints = &definition.hints;
    let mut tool = Map::new();
    tool.insert("name".to_owned(), definition.name.as_str().into());
    if let Some(title) = &hints.title
        && !is_among_annotations(definition, title)
    {
        tool.insert("title".to_owned(), title.as_str().into());
    }
    tool.insert("description".to_owned(), definition.description.as_str().into());
    tool.insert("inputSchema".to_owned(), definition.input_schema.clone());
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            tool.insert(name.to_owned(), value);
        }
    };
    add("outputSchema", object_schema(definition));
    add("annotations", annotations(definition));
    add("icons", definition.icons.clone());
    add("_meta", definition.meta.clone());
    let known: Vec<String> = tool.keys().cloned().collect();
    let is_written =
        |name: &String, value: &Value| known.contains(name) || (name == "title" && value.is_string());
    let rest = definition
        .mcp
        .iter()
        .filter(|(name, value)| !is_written(name, value));
    tool.extend(rest.map(|(name, value)| (name.clone(), value.clone())));
    Value::Object(tool)
}

/// Returns the output schema, if it is the schema of an object. This revision supports no other: clients reject the
/// whole list of tools.
fn object_schema(definition: &ToolDefinition) -> Option<Value> {
    let schema = definition.output_schema.as_ref()?;
    (schema.get("type")? == "object").then(|| schema.clone())
}

/// Returns whether only the annotations had the title.
fn is_among_annotations(definition: &ToolDefinition, title: &str) -> bool {
    let annotations = definition.mcp.get("annotations");
    let is_there = annotations.and_then(|annotations| annotations.get("title")?.as_str()) == Some(title);
    is_there && !definition.mcp.contains_key("title")
}

/// Returns the annotations: the hints, and other annotations of the original definition.
fn annotations(definition: &ToolDefinition) -> Option<Value> {
    let rest = definition.mcp.get("annotations");
    let hints = &definition.hints;
    let values = [
        hints.read_only,
        hints.destructive,
        hints.idempotent,
        hints.open_world,
    ];
    let mut annotations: Map<_, _> = HINTS
        .into_iter()
        .zip(values)
        .filter_map(|(name, hint)| Some((name.to_owned(), Value::Bool(hint?))))
        .collect();
    if annotations.is_empty() {
        return rest.cloned();
    }
    for (name, value) in rest.and_then(Value::as_object).into_iter().flatten() {
        annotations.entry(name.as_str()).or_insert_with(|| value.clone());
    }
    Some(annotations.into())
}

/// Names of [`Hints`], without the title.
const HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// Converts a tool from the list of an MCP server to a definition for
/// [`register_dynamic`](crate::ToolRegistry::register_dynamic). Fields that only MCP has (`outputSchema`, `icons`,
/// `_meta`, annotations, and others) are preserved: [`tool`] includes them, the formats of other APIs do not.
///
/// ```
/// use tool_runtime::{format::mcp, serde_json::json};
///
/// let listed = json!({
///     "name": "now",
///     "title": "Clock",
///     "inputSchema": { "type": "object" },
///     "annotations": { "readOnlyHint": true },
/// });
/// let definition = mcp::definition(&listed).unwrap();
/// assert_eq!((definition.name.as_str(), definition.hints.read_only), ("now", Some(true)));
///
/// let error = mcp::definition(&json!({ "name": "now" })).unwrap_err();
/// assert!(error.to_string().contains("`inputSchema`"), "{error}");
/// ```
///
/// # Errors
///
/// Returns an error if there is no `name` or no `inputSchema`.
pub fn definition(tool: &Value) -> Result<ToolDefinition, FormatError> {
    // PHP serializes an empty object as a list, which registration accepts as an object.
    let is_empty_list = |schema: &Value| schema.as_array().is_some_and(Vec::is_empty);
    let schema = tool.get("inputSchema");
    let schema = schema.filter(|schema| schema.is_object() || is_empty_list(schema));
    let schema = schema.ok_or(FormatError::Missing {
        subject: "an MCP tool",
        field: "inputSchema",
        wanted: "a JSON Schema",
    })?;
    let description = tool
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut definition = ToolDefinition::new(text(tool, "an MCP tool", "name")?, description, schema.clone());
    let annotations = tool.get("annotations");
    let annotation = |name| annotations.and_then(|hints| hints.get(name));
    let [read_only, destructive, idempotent, open_world] =
        HINTS.map(|name| annotation(name).and_then(Value::as_bool));
    let title = |title: Option<&Value>| title.and_then(Value::as_str).map(str::to_owned);
    definition.hints = Hints {
        title: title(tool.get("title")).or_else(|| title(annotation("title"))),
        read_only,
        destructive,
        idempotent,
        open_world,
        deferred: None,
    };
    definition.output_schema = tool.get("outputSchema").cloned();
    definition.icons = tool.get("icons").cloned();
    definition.meta = tool.get("_meta").cloned();
    definition.mcp = rest(tool);
    Ok(definition)
}

/// Returns the fields of a listed tool that the definition has no field for.
fn rest(tool: &Value) -> Map<String, Value> {
    const KNOWN: [&str; 5] = ["name", "inputSchema", "outputSchema", "icons", "_meta"];
    let mut rest = tool.as_object().cloned().unwrap_or_default();
    rest.retain(|name, value| {
        !(KNOWN.contains(&name.as_str()) || name == "description" && value.is_string())
    });
    if let Some(Value::Object(annotations)) = rest.get_mut("annotations")
        && !annotations.is_empty()
    {
        annotations.retain(|name, value| !(HINTS.contains(&name.as_str()) && value.is_boolean()));
        if annotations.is_empty() {
            rest.shift_remove("annotations");
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::{anthropic, openai};

    #[test]
    fn tool_round_trips() {
        let listed = json!({
            "name": "forget",
            "title": "Forget it",
            "description": "Forget everything.",
            "inputSchema": { "type": "object", "properties": {} },
            "outputSchema": { "type": "object", "properties": { "forgotten": { "type": "integer" } } },
            "annotations": {
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false,
            },
            "icons": [{ "src": "https://example.com/forget.png", "mimeType": "image/png" }],
            "_meta": { "com.example/cost": 3 },
        });
        let definition_of_listed = definition(&listed).unwrap();
        assert_eq!(tool(&definition_of_listed).to_string(), listed.to_string());
        assert_eq!(definition_of_listed.hints.open_world, Some(false));
        let empty = definition(&json!({ "name": "forget", "inputSchema": [] })).unwrap();
        assert_eq!(empty.input_schema, json!([]), "corrected when it is registered");
        let refused = definition(&json!({ "name": "forget" })).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "an MCP tool needs `inputSchema`, a JSON Schema"
        );
    }

    #[test]
    fn keeps_unknown_fields_of_a_tool() {
        for annotations in [
            json!({ "title": "Orders", "readOnlyHint": true }),
            json!({ "readOnlyHint": true, "x-own": { "a": [1] } }),
            json!({ "readOnlyHint": "maybe", "destructiveHint": null, "title": 7 }),
            json!({}),
            json!(null),
        ] {
            let listed = json!({
                "name": "order",
                "title": "Order",
                "description": "Order it.",
                "inputSchema": { "type": "object" },
                "annotations": annotations,
                "execution": { "taskSupport": "optional" },
            });
            assert_eq!(tool(&definition(&listed).unwrap()), listed);
        }
    }

    #[test]
    fn writes_the_title_where_it_was_read() {
        for title in [None, Some("Order"), Some("Other")] {
            let mut listed = json!({
                "name": "order",
                "description": "Order it.",
                "inputSchema": { "type": "object" },
                "annotations": { "title": "Order", "readOnlyHint": true },
            });
            if let Some(title) = title {
                listed["title"] = title.into();
            }
            let mut read = definition(&listed).unwrap();
            assert_eq!(read.hints.title.as_deref(), title.or(Some("Order")));
            assert_eq!(tool(&read), listed);
            read.hints.title = Some("Buy".to_owned());
            assert_eq!(tool(&read)["title"], "Buy");
        }
    }

    #[test]
    fn omits_mcp_fields_for_other_apis() {
        let listed = json!({
            "name": "forget",
            "description": "Forget everything.",
            "inputSchema": { "type": "object", "properties": {} },
            "outputSchema": { "type": "object" },
            "annotations": { "openWorldHint": true, "x-own": 1 },
            "execution": {},
            "icons": [{ "src": "https://example.com/forget.png" }],
            "_meta": { "com.example/cost": 3 },
        });
        let listed = definition(&listed).unwrap();
        let schema = json!({ "type": "object", "properties": {} });
        let plain = ToolDefinition::new("forget", "Forget everything.", schema);
        assert_eq!(anthropic::tool(&listed), anthropic::tool(&plain));
        assert_eq!(openai::chat::tool(&listed), openai::chat::tool(&plain));
        assert_eq!(openai::responses::tool(&listed), openai::responses::tool(&plain));
        let strict = |definition| anthropic::strict_tool(definition).unwrap().tool;
        assert_eq!(strict(&listed), strict(&plain));
    }
}
