//! Properties of every definition in the format of every API: a strict form is in the published subset, or does not exist.

use tool_runtime::format::openai::{chat, responses};
use tool_runtime::format::{anthropic, mcp};
use tool_runtime::serde_json::{self, Value};
use tool_runtime::{ToolDefinition, ToolRegistry};

use super::subset;

/// Checks any JSON as a schema, and any text as a description, separated by a NUL.
pub fn definitions(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (schema, description) = text.split_once('\0').unwrap_or((&text, ""));
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return;
    };
    let definition = ToolDefinition::new("tool", description, schema.clone());
    let shown = definition.flattened().input_schema.clone();
    let composition = ["anyOf", "oneOf", "allOf", "$ref"]
        .into_iter()
        .find(|keyword| schema.get(keyword).is_some());
    if composition.is_none() {
        assert_eq!(shown, schema);
    }
    assert_eq!(anthropic::tool(&definition)["input_schema"], shown);
    assert_eq!(chat::tool(&definition)["function"]["parameters"], shown);
    assert_eq!(responses::tool(&definition)["parameters"], shown);
    let listed = mcp::tool(&definition);
    assert_eq!(listed["inputSchema"], schema);
    if let Ok(read) = mcp::definition(&listed) {
        assert_eq!(mcp::tool(&read), listed, "read back");
    }
    let strict = chat::strict_tool(&definition);
    let also = responses::strict_tool(&definition);
    assert_eq!(strict.is_ok(), also.is_ok(), "{schema}");
    let anthropic = anthropic::strict_tool(&definition);
    // An invalid schema is never registered, in any form.
    if refusal(&schema).is_some() {
        return;
    }
    if composition.is_some() {
        let again = ToolDefinition::new("tool", "", shown.clone());
        assert_eq!(again.flattened().input_schema, shown, "flat form of {schema}");
        assert_eq!(refusal(&shown), None, "{shown}\nof {schema}");
    }
    if let (Ok(strict), Ok(also)) = (strict, also) {
        let parameters = &strict.tool["function"]["parameters"];
        assert_eq!(*parameters, also.tool["parameters"], "{schema}");
        sound(&schema, parameters, &subset::violations(parameters));
    }
    if let Ok(strict) = anthropic {
        let parameters = &strict.tool["input_schema"];
        sound(&schema, parameters, &subset::anthropic_violations(parameters));
    }
}

/// Checks that a strict form is in its subset, and is a valid schema.
fn sound(schema: &Value, strict: &Value, violations: &[String]) {
    assert_eq!(violations, [""; 0], "of {schema}\nas {strict}");
    assert_eq!(refusal(strict), None, "{strict}\nof {schema}");
}

/// Returns the reason why a schema is invalid.
fn refusal(schema: &Value) -> Option<String> {
    let mut registry = ToolRegistry::new().with_schema_corrections(false);
    let definition = ToolDefinition::new("tool", "Described.", schema.clone());
    let added = registry.register_dynamic(definition, async |arguments: Value, _| arguments);
    added.err().map(|refused| refused.to_string())
}
