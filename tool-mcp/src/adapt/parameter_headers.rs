//! Headers of a call over HTTP, in which a server wants the values of arguments: `x-mcp-header` of its schemas (SEP-2243).

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

const KEYWORD: &str = "x-mcp-header";

/// Header with the value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParameterHeader {
    /// Keys from the arguments to the value.
    path: Vec<String>,
    name: HeaderName,
}

impl ParameterHeader {
    /// Adds the header, if the arguments have a value for it.
    pub(crate) fn insert(&self, arguments: &Value, headers: &mut HeaderMap) {
        let value = self
            .path
            .iter()
            .try_fold(arguments, |value, key| value.get(key.as_str()));
        let text = match value {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
            _ => return,
        };
        headers.insert(self.name.clone(), encode(&text));
    }
}

/// Returns the value of a header. Base64 replaces a text that a header cannot have, or that looks like Base64 of this form.
pub(crate) fn encode(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let plain = is_plain.then(|| HeaderValue::from_str(text).ok()).flatten();
    plain.unwrap_or_else(|| {
        let encoded = format!("=?base64?{}?=", STANDARD.encode(text));
        // Base64 is a valid value.
        HeaderValue::from_str(&encoded).unwrap_or(HeaderValue::from_static(""))
    })
}

/// Returns the headers that a schema requests.
///
/// # Errors
///
/// Returns the reason, if a request is invalid. A client must then leave out the tool, since a server could be called with other values
/// than an intermediary has checked.
pub(crate) fn parameter_headers(schema: &Value) -> Result<Vec<ParameterHeader>, String> {
    let Value::Object(schema) = schema else {
        return Ok(Vec::new());
    };
    let mut reader = SchemaReader::default();
    reader.read(schema, true)?;
    Ok(reader.headers)
}

#[derive(Default)]
struct SchemaReader {
    headers: Vec<ParameterHeader>,
    /// Names in lower case.
    names: HashSet<String>,
    path: Vec<String>,
}

impl SchemaReader {
    /// Reads a schema. `is_property` is whether the schema is the root, or a property that is reached through `properties` alone.
    fn read(&mut self, schema: &Map<String, Value>, is_property: bool) -> Result<(), String> {
        for (key, value) in schema {
            match (key.as_str(), value) {
                (KEYWORD, name) => {
                    if !is_property || self.path.is_empty() {
                        let place = self.path.join(".");
                        return Err(format!(
                            "invalid `{KEYWORD}` at `{place}`; expected it in a property that is reached through `properties`"
                        ));
                    }
                    self.add(name, schema)?;
                }
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        self.path.push(name.clone());
                        self.read_value(property, is_property)?;
                        self.path.pop();
                    }
                }
                (
                    "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties",
                    Value::Object(schemas),
                ) => {
                    for schema in schemas.values() {
                        self.read_value(schema, false)?;
                    }
                }
                // Values, and names of properties.
                ("default" | "const" | "enum" | "examples" | "dependentRequired", _) => {}
                (_, value) => self.read_value(value, false)?,
            }
        }
        Ok(())
    }

    fn read_value(&mut self, value: &Value, is_property: bool) -> Result<(), String> {
        match value {
            Value::Object(schema) => self.read(schema, is_property),
            Value::Array(schemas) => schemas
                .iter()
                .try_for_each(|schema| self.read_value(schema, false)),
            _ => Ok(()),
        }
    }

    fn add(&mut self, name: &Value, schema: &Map<String, Value>) -> Result<(), String> {
        let place = self.path.join(".");
        let header = name.as_str().filter(|name| !name.is_empty());
        let header = header.and_then(|name| format!("mcp-param-{name}").parse::<HeaderName>().ok());
        let Some(header) = header else {
            return Err(format!(
                "invalid `{KEYWORD}` {name} at `{place}`; expected the name of a header"
            ));
        };
        if !schema.get("type").is_some_and(is_primitive) {
            return Err(format!(
                "invalid `{KEYWORD}` at `{place}`; expected a property of type string, integer or boolean"
            ));
        }
        if !self.names.insert(header.as_str().to_owned()) {
            return Err(format!("duplicate `{KEYWORD}` {name} at `{place}`"));
        }
        self.headers.push(ParameterHeader {
            path: self.path.clone(),
            name: header,
        });
        Ok(())
    }
}

fn is_primitive(found: &Value) -> bool {
    match found {
        Value::String(name) => matches!(name.as_str(), "string" | "integer" | "boolean"),
        // `null` has no header.
        Value::Array(types) => {
            let mut others = types.iter().filter(|found| *found != "null");
            others.next().is_some_and(is_primitive) && others.next().is_none()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        for header in parameter_headers(schema).unwrap() {
            header.insert(arguments, &mut headers);
        }
        headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect()
    }

    #[test]
    fn primitive_arguments_become_headers() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": ["integer", "null"], "x-mcp-header": "Count" },
            "dry": { "type": "boolean", "x-mcp-header": "Dry-Run" },
            "place": { "type": "object", "properties": { "city": { "type": "string", "x-mcp-header": "City" } } },
            "x-mcp-header": { "type": "string" }
        }, "examples": [{ "x-mcp-header": 1 }] });
        let arguments = json!({ "region": "eu", "count": 3, "dry": true, "place": { "city": "Köln" } });
        let wanted = [
            ("mcp-param-region", "eu"),
            ("mcp-param-count", "3"),
            ("mcp-param-dry-run", "true"),
            ("mcp-param-city", "=?base64?S8O2bG4=?="),
        ];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut found = sent(&schema, &arguments);
        found.sort_by_key(|(name, _)| wanted.iter().position(|(wanted, _)| wanted == name));
        assert_eq!(found, wanted);
        assert_eq!(
            sent(&schema, &json!({ "count": null, "place": 1, "dry": [] })),
            []
        );
        assert_eq!(sent(&json!({}), &json!({})), []);
    }

    #[test]
    fn values_that_a_header_cannot_have_are_base64() {
        for (text, wanted) in [
            ("a b", "a b"),
            ("", ""),
            (" a", "=?base64?IGE=?="),
            ("a\r\nb: c", "=?base64?YQ0KYjogYw==?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ] {
            assert_eq!(encode(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn rejects_invalid_headers() {
        let property = |property: Value| json!({ "properties": { "a": property } });
        for schema in [
            json!({ "x-mcp-header": "A" }),
            property(json!({ "type": "string", "x-mcp-header": "" })),
            property(json!({ "type": "string", "x-mcp-header": 1 })),
            property(json!({ "type": "string", "x-mcp-header": "a b" })),
            property(json!({ "type": "string", "x-mcp-header": "a\r\nb" })),
            property(json!({ "type": "number", "x-mcp-header": "A" })),
            property(json!({ "type": "object", "x-mcp-header": "A" })),
            property(json!({ "type": ["string", "integer"], "x-mcp-header": "A" })),
            property(json!({ "x-mcp-header": "A" })),
            property(json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "A" } })),
            property(json!({ "anyOf": [{ "type": "string", "x-mcp-header": "A" }] })),
            json!({ "$defs": { "a": { "properties": { "b": { "type": "string", "x-mcp-header": "A" } } } } }),
            json!({ "properties": {
                "a": { "type": "string", "x-mcp-header": "A" },
                "b": { "type": "string", "x-mcp-header": "a" }
            } }),
        ] {
            parameter_headers(&schema).unwrap_err();
        }
    }
}
