//! Schemas with a composition at the root: shown flat to models, complete in MCP's form, and enforced completely.

use serde_json::{Map, Value, json};
use tests::dynamic_tool::{self, prepare};
use tests::random::Random;
use tests::runtime::block_on;
use tests::warnings::warnings_of;
use tool_runtime::format::{anthropic, mcp, openai};
use tool_runtime::issue::Code;
use tool_runtime::{Policy, ToolDefinition, ToolRegistry};

/// A schema of a server, whose alternatives require different parameters.
fn find() -> Value {
    json!({
        "type": "object",
        "properties": { "id": { "type": "integer" }, "title": { "type": "string" } },
        "anyOf": [{ "required": ["id"] }, { "required": ["title"] }],
    })
}

#[test]
fn apis_see_the_flat_form_and_mcp_the_complete_schema() {
    let mut registry = ToolRegistry::new();
    let definition = ToolDefinition::new("find", "Find a page.", find());
    let (_, warnings) = warnings_of(|| {
        registry.register_dynamic(definition, async |_, _| "").unwrap();
    });
    assert_eq!(warnings, [""; 0]);
    let definition = registry.tool_definitions()[0];
    let flat = json!({ "type": "object", "properties": find()["properties"] });
    let description = "Find a page.\n\nSend `id` or `title`.";

    let tool = json!({ "name": "find", "description": description, "input_schema": flat });
    assert_eq!(anthropic::tool(definition), tool);
    assert_eq!(serde_json::to_value(definition).unwrap(), tool);
    let chat = openai::chat::tool(definition);
    assert_eq!(
        (&chat["function"]["parameters"], &chat["function"]["description"]),
        (&flat, &json!(description))
    );
    let responses = openai::responses::tool(definition);
    assert_eq!(
        (&responses["parameters"], &responses["description"]),
        (&flat, &json!(description))
    );
    let complete = mcp::tool(definition);
    assert_eq!(
        (&complete["inputSchema"], &complete["description"]),
        (&find(), &json!("Find a page."))
    );
}

#[test]
fn complete_schema_is_enforced() {
    let mut registry = ToolRegistry::new();
    let definition = ToolDefinition::new("find", "Find a page.", find());
    registry
        .register_dynamic(definition, async |arguments: Value, _| arguments)
        .unwrap();
    let call = |arguments: &str| block_on(registry.execute_tool("1", "find", arguments));
    assert_eq!(call(r#"{ "id": "7" }"#).text(), Some(r#"{"id":7}"#));
    assert!(call("{}").is_error);
}

/// The table of `docs/coercion.md`.
#[test]
fn document_shows_flat_forms() {
    let document = include_str!("../../docs/coercion.md");
    let (_, table) = document
        .split_once("| schema of all arguments | shown flat as | sentence |\n")
        .expect("the table");
    let rows: Vec<&str> = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert!(rows.len() > 4);
    for row in rows {
        let [written, shown, sentence] = row.trim_matches('|').split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let json = |cell: &str| serde_json::from_str::<Value>(cell.trim().trim_matches('`')).unwrap();
        let definition = ToolDefinition::new("tool", "", json(written));
        let flat = definition.flattened();
        assert_eq!(
            (&flat.input_schema, flat.description.as_str()),
            (&json(shown), sentence.trim())
        );
    }
}

/// Compositions of random parts at the root.
struct Schemas {
    random: Random,
    /// Whether each part declares all properties.
    declares_all: bool,
}

impl Schemas {
    fn property(&mut self) -> Value {
        let schemas = [
            json!({ "type": "string" }),
            json!({ "type": "integer" }),
            json!({ "type": ["string", "null"] }),
            json!({ "const": "a" }),
            json!({ "const": "b" }),
            json!({ "enum": ["a", "b"] }),
            json!({}),
            json!(true),
            json!(false),
            json!({ "type": "integer", "minimum": 2 }),
            json!({ "anyOf": [{ "type": "integer" }, { "type": "boolean" }] }),
            json!({ "$ref": "#/$defs/P" }),
        ];
        self.random.pick(&schemas).clone()
    }

    fn part(&mut self, depth: usize) -> Value {
        let mut part = Map::new();
        if self.random.one_in(2) {
            part.insert("type".to_owned(), json!("object"));
        }
        if !self.declares_all && self.random.one_in(12) {
            return self
                .random
                .pick(&[json!(true), json!(false), json!({ "type": "null" })])
                .clone();
        }
        let mut properties = Map::new();
        for name in NAMES {
            if self.declares_all || self.random.one_in(3) {
                properties.insert((*name).to_owned(), self.property());
            }
        }
        let required: Vec<&str> = NAMES.iter().copied().filter(|_| self.random.one_in(5)).collect();
        if !required.is_empty() {
            part.insert("required".to_owned(), json!(required));
        }
        if !properties.is_empty() {
            part.insert("properties".to_owned(), properties.into());
        }
        if self.random.one_in(6) {
            part.insert(
                "additionalProperties".to_owned(),
                self.random
                    .pick(&[json!(false), json!({ "type": "integer" })])
                    .clone(),
            );
        }
        if depth > 0 && self.random.one_in(2) {
            let keyword = ["anyOf", "oneOf", "allOf"][self.random.below(3)];
            let parts: Vec<Value> = (0..=self.random.below(3)).map(|_| self.part(depth - 1)).collect();
            part.insert(keyword.to_owned(), parts.into());
        }
        if depth > 0 && self.random.one_in(5) {
            part.insert("$ref".to_owned(), json!("#/$defs/R"));
        }
        part.into()
    }

    fn root(&mut self) -> Value {
        let mut root = self.part(2);
        if !root.is_object() {
            root = json!({});
        }
        root["anyOf"] = json!([self.part(1), self.part(1)]);
        root["$defs"] = json!({ "P": { "type": ["integer", "string"] }, "R": self.part(1) });
        root
    }

    fn arguments(&mut self) -> Value {
        let values = [
            json!("a"),
            json!("b"),
            json!(1),
            json!(2),
            json!(null),
            json!(true),
        ];
        let mut arguments = Map::new();
        for name in NAMES.iter().chain(&["other"]) {
            if self.random.one_in(2) {
                arguments.insert((*name).to_owned(), self.random.pick(&values).clone());
            }
        }
        arguments.into()
    }
}

const NAMES: &[&str] = &["a", "b", "c", "kind"];

/// The flat form has no composition at the root, and excludes no arguments that the schema allows. An alternative that
/// does not declare a property allows any value for it; the flat form has the values of the other alternatives.
#[test]
fn flat_forms_of_random_schemas_allow_all_valid_arguments() {
    let mut valid = [0; 2];
    for seed in 0..200 {
        let declares_all = seed % 2 == 0;
        let mut schemas = Schemas {
            random: Random::new(seed),
            declares_all,
        };
        let schema = schemas.root();
        let Ok(complete) = dynamic_tool::try_registry(&schema) else {
            continue;
        };
        let shown = complete.tool_definitions()[0]
            .flattened()
            .into_owned()
            .input_schema;
        for keyword in ["anyOf", "oneOf", "allOf", "$ref"] {
            assert_eq!(shown.get(keyword), None, "{schema}\nas {shown}");
        }
        assert_eq!(shown["type"], "object");
        let flat = dynamic_tool::registry(&shown);
        assert_eq!(flat.tool_definitions()[0].flattened().input_schema, shown);
        for _ in 0..40 {
            let arguments = schemas.arguments();
            let is_valid = |registry| {
                let mut errors = prepare(registry, arguments.clone(), Policy::Strict).errors;
                errors.retain(|error| {
                    declares_all || matches!(error.code, Code::MissingRequired | Code::UnknownParameter)
                });
                errors.is_empty()
            };
            if prepare(&complete, arguments.clone(), Policy::Strict)
                .errors
                .is_empty()
            {
                valid[usize::from(declares_all)] += 1;
                assert!(is_valid(&flat), "{arguments}\nby {shown}\nof {schema}");
            }
        }
    }
    assert!(
        valid.iter().all(|count| *count > 40),
        "too few arguments were valid: {valid:?}"
    );
}
