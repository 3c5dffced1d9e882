//! Declared tools for the recovery of calls in text: their names, and the kinds of their parameters by their schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tool_repair::calls::{Declared, ParameterKind};

use crate::registry::ToolRegistry;
use crate::wire::definition::ToolDefinition;

/// Names and schemas of tools, for [`repair::calls`](crate::repair::calls).
///
/// ```
/// use tool_runtime::serde_json::json;
/// use tool_runtime::DeclaredTools;
/// use tool_runtime::repair::calls::{Formats, recover};
///
/// let schema = json!({"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}});
/// let tools: DeclaredTools = [("read", schema)].into_iter().collect();
/// let text = "<function=read>\n<parameter=path>\n007\n</parameter>\n<parameter=line>\n7\n</parameter>\n</function>";
/// let recovered = recover(text, &tools, Formats::ALL);
/// assert_eq!(recovered.calls[0].arguments, r#"{"path": "007", "line": 7}"#);
/// ```
#[derive(Debug, Clone, Default)]
pub struct DeclaredTools {
    schemas: BTreeMap<String, Value>,
}

impl<N: Into<String>> FromIterator<(N, Value)> for DeclaredTools {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(tools: I) -> Self {
        let schemas = tools.into_iter().map(|(name, schema)| (name.into(), schema));
        Self {
            schemas: schemas.collect(),
        }
    }
}

impl<'d> FromIterator<&'d ToolDefinition> for DeclaredTools {
    fn from_iter<I: IntoIterator<Item = &'d ToolDefinition>>(definitions: I) -> Self {
        let tools = definitions.into_iter();
        tools
            .map(|tool| (&*tool.name, tool.input_schema.clone()))
            .collect()
    }
}

impl Declared for DeclaredTools {
    fn is_declared(&self, name: &str) -> bool {
        self.schemas.contains_key(name)
    }

    fn begins_name(&self, start: &str) -> bool {
        // Names that begin with `start` are adjacent, and the first is not before `start` itself.
        let mut names = self
            .schemas
            .range::<str, _>((std::ops::Bound::Included(start), std::ops::Bound::Unbounded));
        names.next().is_some_and(|(name, _)| name.starts_with(start))
    }

    fn parameter(&self, tool: &str, parameter: &str) -> ParameterKind {
        let schema = self.schemas.get(tool);
        schema.map_or(ParameterKind::Other, |schema| kind(schema, parameter))
    }
}

/// The tools of the registry.
///
/// ```
/// use tool_runtime::repair::calls::{Formats, recover};
/// use tool_runtime::{ToolRegistry, tool};
///
/// /// Read a file.
/// #[tool]
/// async fn read(
///     /// Path of the file
///     path: String,
///     /// First line
///     line: Option<u32>,
/// ) {
/// }
///
/// let mut registry = ToolRegistry::new();
/// registry.register::<read>()?;
/// let recovered = recover("read(path='a.rs', line=7)", &registry, Formats::ALL);
/// assert_eq!(recovered.calls[0].arguments, r#"{"path": "a.rs", "line": 7}"#);
/// # Ok::<_, tool_runtime::RegistryError>(())
/// ```
impl Declared for ToolRegistry {
    fn is_declared(&self, name: &str) -> bool {
        self.get_tool(name).is_some()
    }

    fn begins_name(&self, start: &str) -> bool {
        let definitions = self.tool_definitions();
        definitions.iter().any(|tool| tool.name.starts_with(start))
    }

    fn parameter(&self, tool: &str, parameter: &str) -> ParameterKind {
        let schema = self.get_tool(tool).map(|tool| &tool.definition().input_schema);
        schema.map_or(ParameterKind::Other, |schema| kind(schema, parameter))
    }
}

/// Returns the kind of a parameter by the types that its schema accepts.
fn kind(schema: &Value, parameter: &str) -> ParameterKind {
    let property = object(schema, schema, MAX_DEPTH)
        .and_then(|keywords| keywords.get("properties")?.as_object()?.get(parameter));
    let types = property.map_or(AcceptedTypes::ANY, |property| {
        AcceptedTypes::from_schema(property, schema, MAX_DEPTH)
    });
    if types == AcceptedTypes::STRING {
        ParameterKind::Text
    } else if types == AcceptedTypes(AcceptedTypes::STRING.0 | AcceptedTypes::NULL.0) {
        ParameterKind::NullableText
    } else if types != AcceptedTypes::ANY && types.0 & AcceptedTypes::CONTAINER.0 != 0 {
        ParameterKind::Container
    } else {
        ParameterKind::Other
    }
}

/// Types that a schema accepts, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AcceptedTypes(u8);

impl AcceptedTypes {
    const STRING: Self = Self(1);
    const NULL: Self = Self(2);
    /// Arrays and objects.
    const CONTAINER: Self = Self(4);
    const NUMBER: Self = Self(8);
    const BOOLEAN: Self = Self(16);
    const ANY: Self = Self(31);

    fn from_schema(schema: &Value, root: &Value, depth: usize) -> Self {
        let Some(keywords) = object(schema, root, depth) else {
            return Self::ANY;
        };
        let mut types = match keywords.get("type") {
            Some(Value::String(name)) => Self::named(name),
            Some(Value::Array(names)) => Self::union(names.iter().filter_map(Value::as_str).map(Self::named)),
            _ => Self::ANY,
        };
        if keywords.get("nullable") == Some(&Value::Bool(true)) {
            types.0 |= Self::NULL.0;
        }
        if let Some(value) = keywords.get("const") {
            types.0 &= Self::from_value(value).0;
        }
        if let Some(Value::Array(values)) = keywords.get("enum") {
            types.0 &= Self::union(values.iter().map(Self::from_value)).0;
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(schemas)) = keywords.get(keyword) {
                types.0 &= Self::union(
                    schemas
                        .iter()
                        .map(|schema| Self::from_schema(schema, root, depth - 1)),
                )
                .0;
            }
        }
        if let Some(Value::Array(schemas)) = keywords.get("allOf") {
            for schema in schemas {
                types.0 &= Self::from_schema(schema, root, depth - 1).0;
            }
        }
        types
    }

    fn union(types: impl Iterator<Item = Self>) -> Self {
        Self(types.fold(0, |all, types| all | types.0))
    }

    fn named(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "null" => Self::NULL,
            "array" | "object" => Self::CONTAINER,
            "integer" | "number" => Self::NUMBER,
            "boolean" => Self::BOOLEAN,
            _ => Self::ANY,
        }
    }

    fn from_value(value: &Value) -> Self {
        match value {
            Value::String(_) => Self::STRING,
            Value::Null => Self::NULL,
            Value::Array(_) | Value::Object(_) => Self::CONTAINER,
            Value::Number(_) => Self::NUMBER,
            Value::Bool(_) => Self::BOOLEAN,
        }
    }
}

/// Returns the keywords of a schema, after its references in the document.
fn object<'s>(schema: &'s Value, root: &'s Value, depth: usize) -> Option<&'s Map<String, Value>> {
    let mut schema = schema;
    for _ in 0..depth {
        let keywords = schema.as_object()?;
        let Some(Value::String(reference)) = keywords.get("$ref") else {
            return Some(keywords);
        };
        schema = root.pointer(reference.strip_prefix('#')?)?;
    }
    None
}

/// Maximum number of nested schemas and references.
const MAX_DEPTH: usize = 16;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_decide_the_kind() {
        use ParameterKind::{Container, NullableText, Other, Text};
        for (property, expected) in [
            (json!({"type": "string"}), Text),
            (json!({"enum": ["a", "b"]}), Text),
            (json!({"const": "a"}), Text),
            (json!({"type": ["string", "null"]}), NullableText),
            (json!({"type": "string", "nullable": true}), NullableText),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
                NullableText,
            ),
            (json!({"enum": ["a", null]}), NullableText),
            (json!({"$ref": "#/$defs/name"}), Text),
            (
                json!({"allOf": [{"$ref": "#/$defs/name"}], "description": "a"}),
                Text,
            ),
            (json!({"type": "array"}), Container),
            (json!({"type": ["string", "object"]}), Container),
            (
                json!({"oneOf": [{"type": "integer"}, {"type": "array"}]}),
                Container,
            ),
            (json!({"type": "integer"}), Other),
            (json!({"type": ["string", "integer"]}), Other),
            (json!({}), Other),
            (json!(true), Other),
            (json!({"$ref": "#/$defs/endless"}), Other),
            (
                json!({"anyOf": [{"$ref": "#/properties/p"}, {"type": "string"}]}),
                Other,
            ),
        ] {
            let schema = json!({
                "type": "object",
                "properties": {"p": property},
                "$defs": {"name": {"type": "string"}, "endless": {"$ref": "#/$defs/endless"}},
            });
            let tools: DeclaredTools = [("tool", schema)].into_iter().collect();
            assert_eq!(tools.parameter("tool", "p"), expected, "{property}");
            assert_eq!(tools.parameter("tool", "q"), Other);
        }
    }

    #[test]
    fn names_are_compared_byte_for_byte() {
        let tools: DeclaredTools = ["ab", "abc", "b.c"]
            .map(|name| (name, json!({})))
            .into_iter()
            .collect();
        assert!(tools.is_declared("abc") && !tools.is_declared("ABC") && !tools.is_declared("a"));
        assert!(
            tools.begins_name("a")
                && tools.begins_name("abc")
                && tools.begins_name("b.")
                && tools.begins_name("")
        );
        assert!(!tools.begins_name("abcd") && !tools.begins_name("c") && !tools.begins_name("B"));
    }
}
