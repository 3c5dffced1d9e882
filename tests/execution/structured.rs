//! Answers with a structured value beside their text.

use serde_json::{Value, json};
use tool_runtime::format::{anthropic, mcp, openai};
use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tool_runtime::serde::{Serialize, Serializer};
use tool_runtime::{
    RegistryError, Structured, ToolCall, ToolDefinition, ToolError, ToolOutput, ToolRegistry, testing, tool,
};
use tower::{ServiceExt as _, service_fn};
use tower_layer::layer_fn;

/// Place of a book.
#[derive(Serialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "camelCase")]
#[schemars(crate = "tool_runtime::schemars")]
struct Place {
    /// The room.
    room_number: u8,
    /// Share of the used shelf, from 0 to 1.
    filled: f32,
    /// Name of the reader.
    reader: Option<String>,
    /// Neighbouring book.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<Place>,
}

fn place() -> Place {
    Place {
        room_number: 2,
        filled: 0.1,
        reader: None,
        beside: Vec::new(),
    }
}

/// Find a book.
#[tool]
async fn find() -> Structured<Place> {
    Structured(Place {
        beside: vec![place()],
        ..place()
    })
}

/// Find a book, or not.
#[tool]
async fn search(
    /// Whether to find it.
    found: bool,
) -> Result<Structured<Place>, ToolError> {
    if found {
        Ok(Structured(place()))
    } else {
        Err(ToolError::retry("no such book"))
    }
}

/// Find a book slowly.
#[tool(blocking)]
fn leaf_through() -> Structured<Place> {
    Structured(place())
}

/// A number that is serialized as a string.
struct Lie;

impl Serialize for Lie {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({ "count": "many" }).serialize(serializer)
    }
}

impl JsonSchema for Lie {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Lie".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "properties": { "count": { "type": "integer" } }, "required": ["count"] })
    }
}

/// Count the books.
#[tool]
async fn count() -> Structured<Lie> {
    Structured(Lie)
}

/// List numbers.
#[tool]
async fn numbers() -> Structured<Vec<u8>> {
    Structured(vec![1])
}

/// List places.
#[tool]
async fn places() -> Structured<Vec<Place>> {
    Structured(vec![Place {
        beside: vec![place()],
        ..place()
    }])
}

/// Return the weather, or fail.
#[tool]
async fn weather() -> Structured<Option<f64>> {
    Structured(None)
}

/// A list of strings whose schema declares numbers.
struct Lies;

impl Serialize for Lies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ["many"].serialize(serializer)
    }
}

impl JsonSchema for Lies {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Lies".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<u8>::json_schema(generator)
    }
}

/// List numbers.
#[tool]
async fn lies() -> Structured<Lies> {
    Structured(Lies)
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry
        .register_all(tool_runtime::tool_set![find, search, leaf_through])
        .unwrap();
    registry
}

#[test]
fn definition_has_the_output_schema() {
    let registry = registry();
    for definition in registry.tool_definitions() {
        let schema = definition.output_schema.as_ref().unwrap();
        assert_eq!(schema["type"], "object");
        assert_eq!(
            schema["required"],
            json!(["roomNumber", "filled", "reader"]),
            "{schema}"
        );
        assert_eq!(schema["properties"]["roomNumber"]["description"], "The room.");
        let text = schema.to_string();
        assert!(!text.contains("x-") && !text.contains("$schema"), "{text}");
        assert_eq!(mcp::tool(definition)["outputSchema"], *schema);
        let others = [
            anthropic::tool(definition),
            openai::chat::tool(definition),
            openai::responses::tool(definition),
        ];
        for other in others {
            assert!(!other.to_string().contains("roomNumber"), "{other}");
        }
    }
}

#[tokio::test]
async fn result_has_text_and_value() {
    let registry = registry();
    let result = registry.execute_tool("1", "find", "{}").await;
    let text = r#"{"roomNumber":2,"filled":0.1,"reader":null,"beside":[{"roomNumber":2,"filled":0.1,"reader":null}]}"#;
    assert_eq!(result.text(), Some(text));
    assert_eq!(
        result.structured.as_deref(),
        Some(&serde_json::from_str::<Value>(text).unwrap())
    );
    assert_eq!(
        mcp::result(&result).unwrap()["structuredContent"]["beside"][0]["filled"],
        0.1
    );
    let of_anthropic = serde_json::to_value(&result).unwrap();
    assert_eq!(
        of_anthropic,
        json!({ "type": "tool_result", "tool_use_id": "1", "content": text })
    );
    for name in ["find", "leaf_through"] {
        testing::run_in(&registry, name, "{}").await.assert_no_warnings();
    }
    let failed = registry
        .execute_tool("2", "search", json!({ "found": false }))
        .await;
    assert!(failed.is_error && failed.structured.is_none());
    assert_eq!(mcp::result(&failed).unwrap().get("structuredContent"), None);
    let found = registry
        .execute_tool("3", "search", json!({ "found": true }))
        .await;
    assert_eq!(found.structured.unwrap()["roomNumber"], 2);
}

#[tokio::test]
async fn layers_see_and_change_the_value() {
    let raise = |inner: ToolService| {
        service_fn(move |call: ToolCall| {
            let inner = inner.clone();
            async move {
                let mut outcome = inner.oneshot(call).await?;
                if let Some(place) = outcome.result.structured.as_deref_mut() {
                    assert_eq!(place["roomNumber"], 2);
                    place["roomNumber"] = 3.into();
                }
                Ok::<_, BoxError>(outcome)
            }
        })
    };
    let registry = registry().layer(layer_fn(raise));
    for name in ["find", "leaf_through"] {
        let outcome = testing::run_in(&registry, name, "{}").await;
        assert_eq!(outcome.result.structured.as_ref().unwrap()["roomNumber"], 3);
        assert!(outcome.result.text().unwrap().starts_with(r#"{"roomNumber":2"#));
    }
}

#[tokio::test]
async fn nested_calls_keep_the_value() {
    let mut outer = ToolRegistry::new();
    outer.nest("library", registry()).unwrap();
    assert!(outer.tool_definitions()[0].output_schema.is_some());
    let outcome = testing::run_in(&outer, "library__find", "{}").await;
    assert_eq!(outcome.result.structured.as_ref().unwrap()["roomNumber"], 2);
}

#[tokio::test]
#[should_panic(expected = "the structured value does not match the tool's output schema")]
async fn testing_fails_on_a_value_that_does_not_match() {
    testing::run::<count>("{}").await;
}

#[tokio::test]
#[should_panic(expected = "/count")]
async fn testing_names_the_place_in_a_dynamic_tool() {
    let mut definition = ToolDefinition::new("tell", "Tell.", json!({ "type": "object" }));
    definition.output_schema =
        Some(json!({ "type": "object", "properties": { "count": { "type": "integer" } } }));
    let mut registry = ToolRegistry::new();
    let wrong = async |_, _| ToolOutput::text("many").with_structured(json!({ "count": "many" }));
    registry.register_dynamic(definition, wrong).unwrap();
    testing::run_in(&registry, "tell", "{}").await;
}

#[test]
fn rejects_invalid_output_schemas() {
    let mut registry = ToolRegistry::new();
    let mut definition = ToolDefinition::new("tell", "Tell.", json!({ "type": "object" }));
    definition.output_schema = Some(json!({ "type": "object", "properties": { "a": { "type": "strnig" } } }));
    let error = registry
        .register_dynamic(definition, async |_, _| "")
        .unwrap_err();
    assert!(
        matches!(&error, RegistryError::InvalidOutputSchema { path, .. } if path.starts_with("/properties/a")),
        "{error}"
    );
    assert!(registry.tool_definitions().is_empty());
}

#[tokio::test]
async fn values_may_be_of_any_type() {
    let mut registry = ToolRegistry::new();
    registry
        .register_all(tool_runtime::tool_set![numbers, places, weather])
        .unwrap();
    let schema = |name: &str| {
        let definition = registry.get_tool(name).unwrap().definition();
        // Has the form of the protocol revisions that accept only objects.
        assert_eq!(mcp::tool(definition).get("outputSchema"), None);
        definition.output_schema.clone().unwrap()
    };
    assert_eq!(schema("numbers")["type"], "array");
    // Of a recursive type.
    assert!(schema("places").to_string().contains("\"roomNumber\""));
    assert_eq!(schema("weather")["type"], json!(["number", "null"]));
    for (name, text, value) in [("numbers", "[1]", json!([1])), ("weather", "null", Value::Null)] {
        let outcome = testing::run_in(&registry, name, "{}").await.assert_text(text);
        let result = registry.execute_tool("toolu_01", name, "{}").await;
        assert_eq!(result.structured.as_deref(), Some(&value));
        assert_eq!(
            mcp::result(&result).unwrap(),
            json!({ "content": [{ "type": "text", "text": text }] })
        );
        drop(outcome);
    }
    // The recursive schema is checked, too.
    testing::run_in(&registry, "places", "{}").await;
}

#[tokio::test]
#[should_panic(expected = "at /0: ")]
async fn testing_names_the_place_in_a_list() {
    testing::run::<lies>("{}").await;
}

#[tokio::test]
async fn references_from_the_root_are_followed_in_any_schema() {
    let schema = json!({
        "type": "array",
        "items": { "anyOf": [{ "$ref": "#/$defs/number" }, { "$ref": "#" }, { "const": { "$ref": "#" } }] },
        "$defs": { "number": { "type": "integer" } },
    });
    for (value, is_valid) in [
        (json!([1, [2, [3]], { "$ref": "#" }]), true),
        (json!([1, [2, ["x"]]]), false),
        (json!({ "a": 1 }), false),
    ] {
        let mut definition = ToolDefinition::new("tell", "Tell.", json!({ "type": "object" }));
        definition.output_schema = Some(schema.clone());
        let mut registry = ToolRegistry::new();
        let answer = value.clone();
        registry
            .register_dynamic(definition, move |_, _| {
                std::future::ready(ToolOutput::text("told").with_structured(answer.clone()))
            })
            .unwrap();
        let tested = tokio::spawn(async move {
            testing::run_in(&registry, "tell", "{}").await;
        });
        assert_eq!(tested.await.is_ok(), is_valid, "{value}");
    }
}
