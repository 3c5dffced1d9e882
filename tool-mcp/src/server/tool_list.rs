//! Tools of a registry in the forms of `tools/list`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value};
use tool_runtime::format::mcp;
use tool_runtime::{ToolDefinition, ToolRegistry};

/// Number of tools of a page.
pub(crate) const PAGE: usize = 100;
/// Keyword that maps an argument to an HTTP header. This server reads arguments only from the body.
const HEADER_KEYWORD: &str = "x-mcp-header";

/// Registry with the listed forms of its tools.
#[derive(Debug, Clone)]
pub(crate) struct ToolList {
    pub(crate) registry: ToolRegistry,
    /// Tools with any output schema.
    modern: Vec<Value>,
    /// Tools whose output schemas describe objects: older clients refuse a list with another output schema.
    legacy: Vec<Value>,
    /// Digest of the definitions.
    pub(crate) digest: u64,
}

impl ToolList {
    pub(crate) fn new(registry: ToolRegistry) -> Self {
        let modern: Vec<Value> = registry.tool_definitions().into_iter().map(modern_form).collect();
        let legacy = modern.iter().map(legacy_form).collect();
        let mut hasher = DefaultHasher::new();
        for tool in &modern {
            tool.to_string().hash(&mut hasher);
        }
        Self {
            registry,
            modern,
            legacy,
            digest: hasher.finish(),
        }
    }

    /// Returns the tools of a page, and the offset of the next one.
    pub(crate) fn page(&self, offset: usize, is_modern: bool) -> (&[Value], Option<usize>) {
        let tools = if is_modern { &self.modern } else { &self.legacy };
        let rest = tools.get(offset..).unwrap_or_default();
        match rest.get(..PAGE) {
            Some(page) if page.len() < rest.len() => (page, Some(offset + PAGE)),
            _ => (rest, None),
        }
    }

    /// Returns whether a repeated call of a tool has no further effect.
    #[cfg(feature = "http")]
    pub(crate) fn is_repeatable(&self, name: &str) -> bool {
        let tool = self.registry.get_tool(name);
        tool.is_some_and(|tool| {
            let hints = &tool.definition().hints;
            hints.read_only == Some(true) || hints.idempotent == Some(true)
        })
    }
}

/// Returns the form for clients of 2026-07-28.
fn modern_form(definition: &ToolDefinition) -> Value {
    let mut tool = mcp::tool(definition);
    if let Value::Object(tool) = &mut tool {
        if let Some(schema) = &definition.output_schema {
            tool.insert("outputSchema".to_owned(), schema.clone());
        }
        if let Some(schema) = tool.get_mut("inputSchema") {
            remove_header_keyword(schema);
        }
    }
    tool
}

/// Returns the form for clients of earlier revisions.
fn legacy_form(tool: &Value) -> Value {
    let mut tool = tool.clone();
    if let Value::Object(tool) = &mut tool
        && tool
            .get("outputSchema")
            .is_some_and(|schema| schema.get("type").is_none_or(|kind| kind != "object"))
    {
        tool.shift_remove("outputSchema");
    }
    tool
}

/// Removes the keyword from a schema and its subschemas, but not from values or the names of properties.
fn remove_header_keyword(schema: &mut Value) {
    match schema {
        Value::Object(schema) => {
            schema.shift_remove(HEADER_KEYWORD);
            for (keyword, value) in schema.iter_mut() {
                match keyword.as_str() {
                    "enum" | "const" | "default" | "examples" => {}
                    "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                        let schemas = value.as_object_mut().into_iter().flat_map(Map::values_mut);
                        schemas.for_each(remove_header_keyword);
                    }
                    _ => remove_header_keyword(value),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(remove_header_keyword),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_output_schemas_of_other_types_for_modern_clients_only() {
        let schema = json!({ "type": "object", "properties": {} });
        let mut registry = ToolRegistry::new();
        for (name, output) in [
            ("rows", json!({ "type": "array" })),
            ("row", json!({ "type": "object" })),
        ] {
            let mut definition = ToolDefinition::new(name, "", schema.clone());
            definition.output_schema = Some(output);
            registry.register_dynamic(definition, async |_, _| "").unwrap();
        }
        let list = ToolList::new(registry);
        let has_output = |is_modern| {
            let (tools, next) = list.page(0, is_modern);
            assert_eq!(next, None);
            tools
                .iter()
                .map(|tool| tool.get("outputSchema").is_some())
                .collect::<Vec<_>>()
        };
        assert_eq!(has_output(true), [true, true]);
        assert_eq!(has_output(false), [false, true]);
    }

    #[test]
    fn removes_the_header_keyword_from_schemas_alone() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "region": { "type": "string", "x-mcp-header": "Region", "default": { "x-mcp-header": 1 } },
                "x-mcp-header": { "type": "object", "properties": { "a": { "x-mcp-header": "A" } } },
            },
            "anyOf": [{ "x-mcp-header": "B" }],
        });
        remove_header_keyword(&mut schema);
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "region": { "type": "string", "default": { "x-mcp-header": 1 } },
                    "x-mcp-header": { "type": "object", "properties": { "a": {} } },
                },
                "anyOf": [{}],
            })
        );
    }

    #[test]
    fn pages_have_a_hundred_tools() {
        for count in [0, 99, 100, 101, 200, 250] {
            let mut registry = ToolRegistry::new();
            for number in 0..count {
                let definition = ToolDefinition::new(format!("t{number}"), "", json!({ "type": "object" }));
                registry.register_dynamic(definition, async |_, _| "").unwrap();
            }
            let list = ToolList::new(registry);
            let (mut offset, mut seen) = (Some(0), 0);
            while let Some(from) = offset {
                let (page, next) = list.page(from, true);
                assert!(page.len() == PAGE || next.is_none(), "{count} from {from}");
                seen += page.len();
                offset = next;
            }
            assert_eq!(seen, count);
        }
    }
}
