//! [`Pins`]: accepted definitions with their digests. With a file of pins, a tool that is new or differs is not offered.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::ToolDefinition;
use tool_runtime::definition::Hints;
use tool_runtime::format::mcp;

/// Fields of a definition that are pinned.
const FIELDS: [&str; 6] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
];

/// Accepted definitions by server, and by the server's name of the tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Pins(BTreeMap<String, BTreeMap<String, Pin>>);

/// Accepted definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pin {
    /// BLAKE3 of the definition in the form of RFC 8785, in hexadecimal digits.
    blake3: String,
    definition: Value,
}

impl Pin {
    fn new(definition: &ToolDefinition) -> Self {
        let mut form = mcp::tool(definition);
        let fields = FIELDS.into_iter().filter_map(|field| {
            let value = form.get_mut(field)?.take();
            Some((field.to_owned(), value))
        });
        let definition = Value::Object(fields.collect::<Map<_, _>>());
        // Numbers that RFC 8785 cannot write are in no JSON text.
        let text = serde_json_canonicalizer::to_vec(&definition).unwrap_or_default();
        Self {
            blake3: blake3::hash(&text).to_hex().to_string(),
            definition,
        }
    }

    /// Returns the fields in which this definition differs from another one.
    fn changes(&self, other: &Self) -> Vec<&'static str> {
        let differs = |field: &&str| self.definition.get(field) != other.definition.get(field);
        FIELDS.into_iter().filter(differs).collect()
    }
}

impl Pins {
    /// Reads a file of pins.
    ///
    /// # Errors
    ///
    /// Returns the reason if the file cannot be read, or is invalid.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let path = path.display();
            format!(
                "{path} cannot be read: {error}; write the file with `tool-gateway tools --config FILE --pin`"
            )
        })?;
        serde_json::from_str(&text).map_err(|error| format!("{} is invalid: {error}", path.display()))
    }

    /// Writes a file of pins.
    ///
    /// # Errors
    ///
    /// Returns the reason if the file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        std::fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }

    /// Accepts the definition of a server's tool.
    pub(crate) fn insert(&mut self, server: &str, definition: &ToolDefinition) {
        let tools = self.0.entry(server.to_owned()).or_default();
        tools.insert(definition.name.clone(), Pin::new(definition));
    }

    /// Checks the definition of a server's tool.
    ///
    /// # Errors
    ///
    /// Returns the reason if the definition is not pinned, or differs from its pin.
    pub(crate) fn check(&self, server: &str, definition: &ToolDefinition) -> Result<(), String> {
        let Some(pinned) = self.0.get(server).and_then(|tools| tools.get(&definition.name)) else {
            return Err("missing in the pins".to_owned());
        };
        let found = Pin::new(definition);
        if found.blake3 == pinned.blake3 {
            return Ok(());
        }
        let changes = found.changes(pinned);
        if changes.is_empty() {
            return Err("differs from its pin".to_owned());
        }
        Err(format!("differs from its pin in `{}`", changes.join("`, `")))
    }

    /// Returns the pinned definitions of a server.
    pub(crate) fn definitions(&self, server: &str, trusts_hints: bool) -> Vec<ToolDefinition> {
        let pins = self.0.get(server).into_iter().flat_map(BTreeMap::values);
        pins.filter_map(|pin| {
            let mut definition = mcp::definition(&pin.definition).ok()?;
            if !trusts_hints {
                // The operator does not trust the server's hints, which only clients of MCP see then.
                let title = definition.hints.title.take();
                definition.hints = Hints::default();
                definition.hints.title = title;
                let annotations = pin.definition.get("annotations");
                let annotations = annotations.map(|hints| ("annotations".to_owned(), hints.clone()));
                definition.mcp.extend(annotations);
            }
            Some(definition)
        })
        .collect()
    }

    /// Returns the differences to other pins, a line for each tool.
    pub(crate) fn differences(&self, after: &Self) -> Vec<String> {
        let all = |pins: &Self| -> BTreeMap<(String, String), Pin> {
            let tools = pins.0.iter().flat_map(|(server, tools)| {
                let key = |tool: &String| (server.clone(), tool.clone());
                tools.iter().map(move |(tool, pin)| (key(tool), pin.clone()))
            });
            tools.collect()
        };
        let (before, after) = (all(self), all(after));
        let mut lines = Vec::new();
        for ((server, tool), pin) in &after {
            match before.get(&(server.clone(), tool.clone())) {
                None => lines.push(format!("server `{server}`: {tool}: added")),
                Some(pinned) if pinned.blake3 != pin.blake3 => {
                    let changes = pin.changes(pinned).join("`, `");
                    lines.push(format!("server `{server}`: {tool}: changed in `{changes}`"));
                }
                Some(_) => {}
            }
        }
        let removed = before.keys().filter(|key| !after.contains_key(*key));
        lines.extend(removed.map(|(server, tool)| format!("server `{server}`: {tool}: removed")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(description: &str, schema: Value) -> ToolDefinition {
        ToolDefinition::new("log", description, schema)
    }

    #[test]
    fn a_definition_is_accepted_if_its_pinned_fields_are_equal() {
        let object = json!({ "type": "object", "properties": { "n": { "maximum": 10 } } });
        let pinned = definition("Show.", object.clone());
        let mut pins = Pins::default();
        pins.insert("git", &pinned);
        let mut extended = pinned.clone();
        extended.mcp.insert("x-other".to_owned(), json!(1));
        let mut annotated = pinned.clone();
        annotated.hints.read_only = Some(true);
        // The order of members, and the spelling of numbers, have no meaning.
        let other_order = json!({ "properties": { "n": { "maximum": 10.0 } }, "type": "object" });
        for (server, found, expected) in [
            ("git", pinned.clone(), Ok(())),
            ("git", extended, Ok(())),
            ("git", definition("Show.", other_order), Ok(())),
            (
                "git",
                definition("Send.", object.clone()),
                Err("differs from its pin in `description`"),
            ),
            (
                "git",
                definition("Send.", json!({})),
                Err("differs from its pin in `description`, `inputSchema`"),
            ),
            ("git", annotated, Err("differs from its pin in `annotations`")),
            ("hub", pinned, Err("missing in the pins")),
            (
                "git",
                ToolDefinition::new("push", "Push.", object),
                Err("missing in the pins"),
            ),
        ] {
            let checked = pins.check(server, &found);
            assert_eq!(checked, expected.map_err(str::to_owned), "{found:?}");
        }
    }

    #[test]
    fn differences_name_tools_and_fields() {
        let pins = |tools: &[(&str, &str)]| {
            let mut pins = Pins::default();
            for (name, description) in tools {
                pins.insert("git", &ToolDefinition::new(*name, *description, json!({})));
            }
            pins
        };
        let before = pins(&[("log", "Show."), ("push", "Push.")]);
        let after = pins(&[("log", "Send."), ("pull", "Pull.")]);
        assert_eq!(
            before.differences(&after),
            [
                "server `git`: log: changed in `description`",
                "server `git`: pull: added",
                "server `git`: push: removed",
            ]
        );
        assert!(before.differences(&before).is_empty());
    }
}
