//! What a registry takes and refuses, and its subsets.

use serde_json::json;
use tool_runtime::{RawArguments, RegistryError, State, ToolCall, ToolDefinition, ToolRegistry, tool};

use crate::tools::{definition, registry};

#[test]
fn a_registry_is_clone_send_and_sync() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    check::<ToolRegistry>();
}

#[test]
fn the_same_name_twice_is_refused_and_changes_nothing() {
    let mut registry = registry();
    let before = registry.tool_definitions().len();
    let error = registry
        .register_dynamic(definition("answer"), async |_, _| "43")
        .unwrap_err();
    assert!(matches!(&error, RegistryError::Duplicate { tool } if tool == "answer"));
    assert_eq!(
        error.to_string(),
        "a tool named `answer` is already registered; give one of the two another `name`"
    );
    assert_eq!(registry.tool_definitions().len(), before);
}

#[test]
fn a_name_that_the_api_would_refuse_is_refused() {
    for name in ["", "has space", "emoji🦀", "dot.ted", &"x".repeat(65)] {
        let error = ToolRegistry::new()
            .register_dynamic(definition(name), async |_, _| "")
            .unwrap_err();
        assert!(matches!(error, RegistryError::InvalidName(_)), "{name}");
    }
    assert!(
        ToolRegistry::new()
            .register_dynamic(definition(&"x".repeat(64)), async |_, _| "")
            .is_ok()
    );
}

#[tokio::test]
async fn a_clone_does_not_see_later_changes() {
    let mut registry = registry();
    let clone = registry.clone();
    let definition = registry.unregister("answer").unwrap();
    assert_eq!(definition.name, "answer");
    assert!(registry.unregister("answer").is_none());
    assert!(registry.execute_tool("1", "answer", "{}").await.is_error);
    assert_eq!(clone.execute_tool("1", "answer", "{}").await.text(), Some("42"));
}

#[tokio::test]
async fn a_subset_has_what_it_names_in_the_order_of_registration() {
    let subset = registry().only(["hang", "answer", "unheard_of"]);
    let names: Vec<_> = subset
        .tool_definitions()
        .into_iter()
        .map(|definition| definition.name.as_str())
        .collect();
    assert_eq!(names, ["answer", "hang"]);
    assert_eq!(subset.execute_tool("1", "answer", "{}").await.text(), Some("42"));
    assert_eq!(
        subset.execute_tool("1", "fail", "{}").await.text(),
        Some("Tool 'fail' not found")
    );
}

#[test]
fn an_invalid_schema_is_refused_with_its_place() {
    for (schema, place) in [
        (
            json!({ "type": "object", "properties": { "a": { "type": "strnig" } } }),
            "/properties/a/type",
        ),
        (
            json!({ "type": "object", "properties": { "a\nb": { "type": "strnig" } } }),
            "/properties/a\nb/type",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "$ref": "https://example.com/a.json" } } }),
            "/properties/a/$ref",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/missing" } } }),
            "/properties/a/$ref",
        ),
        (
            json!({ "type": "object", "items": { "$id": "Item", "items": { "$ref": "#/$defs/a" } }, "$defs": { "a": {} } }),
            "/items/items/$ref",
        ),
        (json!({ "type": "array" }), ""),
        (json!(7), ""),
    ] {
        let definition = ToolDefinition::new("t", "", schema.clone());
        let error = ToolRegistry::new()
            .register_dynamic(definition, async |_, _| "")
            .unwrap_err();
        let RegistryError::InvalidSchema { tool, path, .. } = &error else {
            panic!("{schema}: {error:?}")
        };
        assert_eq!((tool.as_str(), path.as_str()), ("t", place), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

/// Each part has a name, and refers to the others by it.
#[test]
fn a_schema_whose_parts_have_names_is_followed() {
    let schema = json!({
        "$id": "https://example.org/tree", "type": "object",
        "properties": { "root": { "$ref": "node" } },
        "$defs": {
            "node": { "$id": "node", "type": "object", "properties": {
                "value": { "$ref": "#/$defs/value" },
                "next": { "$ref": "https://example.org/node#" },
            }, "required": ["value"], "$defs": { "value": { "type": "integer" } } },
            "value": { "type": "string" },
        },
    });
    let mut registry = ToolRegistry::new();
    let definition = ToolDefinition::new("t", "", schema);
    registry.register_dynamic(definition, async |_, _| "").unwrap();
    let arguments = r#"{ "root": { "value": "1", "next": { "value": "one" } } }"#;
    let request = registry.request(ToolCall::new("toolu_1", "t", arguments));
    assert_eq!(request.arguments["root"]["value"], 1);
    let refused: Vec<_> = request
        .errors
        .iter()
        .map(|error| format!("{}@{}", error.code, error.path))
        .collect();
    assert_eq!(refused, ["unsupported_integer_literal@/root/next/value"]);
}

#[test]
fn a_request_is_read_without_running_anything() {
    let request = registry().request(ToolCall::new("toolu_1", "panic", r#"{"unheard":"of"}"#));
    assert_eq!(request.tool_use_id, "toolu_1");
    assert!(request.errors.is_empty());
    assert_eq!(
        serde_json::to_value(&request.arguments).unwrap(),
        json!({ "unheard": "of" })
    );
    assert_eq!(
        request
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .len(),
        1
    );

    let request = registry().request(ToolCall::new("toolu_1", "nope", "{}"));
    assert_eq!(
        request.errors[0].to_string(),
        "unknown_tool:nope: Tool 'nope' not found"
    );
}

/// Wait a while.
#[tool(input_examples = [{ "seconds": 11 }])]
async fn wrong_example(
    /// How long.
    #[arg(range = 1..=10)]
    seconds: u8,
) -> u8 {
    seconds
}

/// The macro looks at literal patterns only.
const UNCLOSED: &str = "(";

/// Wait a while.
#[tool]
async fn wrong_pattern(
    /// Until when.
    #[arg(pattern = UNCLOSED)]
    until: String,
) -> String {
    until
}

const MANY: u8 = 11;

/// Wait a while.
#[tool]
async fn wrong_parameter_example(
    /// How long.
    #[arg(range = 1..=10, example = MANY)]
    seconds: u8,
) -> u8 {
    seconds
}

/// Wait a while.
#[tool]
async fn wrong_default(
    /// How long.
    #[arg(default = MANY, range = 1..=10)]
    seconds: u8,
) -> u8 {
    seconds
}

/// Wait a while.
#[tool]
async fn wants_state(_limits: State<Vec<u8>>) {}

/// Say how long to wait.
#[tool]
async fn with_default(
    /// How long.
    #[arg(default = 7)]
    seconds: u8,
) -> u8 {
    seconds
}

#[test]
fn what_does_not_fit_together_is_refused_and_nothing_is_registered() {
    let mut registry = ToolRegistry::new();
    let refused = [
        registry.register::<wrong_example>().unwrap_err().to_string(),
        registry.register::<wrong_default>().unwrap_err().to_string(),
        registry.register::<wants_state>().unwrap_err().to_string(),
        registry
            .register::<wrong_parameter_example>()
            .unwrap_err()
            .to_string(),
    ];
    assert_eq!(
        refused,
        [
            "example 0 of `wrong_example` is refused: constraint_violated at /seconds: 11 is not allowed; \
             send an integer from 1 to 10",
            "the parameter `seconds` of `wrong_default` is refused: its default is wrong: constraint_violated \
             at /seconds: 11 is not allowed; send an integer from 1 to 10",
            "`wants_state` takes `_limits: State<alloc::vec::Vec<u8>>`, and the registry has none; \
             call `.with_state(..)` before you register it",
            "the parameter `seconds` of `wrong_parameter_example` is refused: its example is wrong: \
             constraint_violated at /seconds: 11 is not allowed; send an integer from 1 to 10",
        ],
    );
    let refused = registry.register::<wrong_pattern>().unwrap_err().to_string();
    let expected = "the parameter `until` of `wrong_pattern` is refused: its `pattern` cannot be read as a regular expression";
    assert!(refused.starts_with(expected), "{refused}");
    assert!(registry.tool_definitions().is_empty());
}

#[test]
fn a_family_is_registered_whole_or_not_at_all() {
    let mut registry = ToolRegistry::new();
    let family = tool_runtime::tool_set![with_default, wants_state];
    assert!(registry.register_all(family).is_err());
    assert!(registry.get_tool("with_default").is_none());
}

#[test]
fn defaults_are_shown_only_on_request() {
    let shown = |registry: ToolRegistry| {
        let mut registry = registry;
        registry.register::<with_default>().unwrap();
        registry.tool_definitions()[0].input_schema["properties"]["seconds"]
            .get("default")
            .cloned()
    };
    assert_eq!(shown(ToolRegistry::new()), None);
    assert_eq!(
        shown(ToolRegistry::new().with_defaults_in_schemas(true)),
        Some(json!(7))
    );
}

#[tokio::test]
async fn warnings_go_behind_the_answer_on_request() {
    let mut registry = ToolRegistry::new().with_warnings_in_results(true);
    registry.register::<with_default>().unwrap();
    let result = registry
        .execute_tool("1", "with_default", r#"{"seconds":"9"}"#)
        .await;
    assert_eq!(
        result.text(),
        Some(
            "9\n\nNote on the arguments of this call:\n\
             - string_literal_converted_to_integer at /seconds: \"9\" was read as 9"
        ),
    );
    let result = registry
        .execute_tool("1", "with_default", r#"{"seconds":9}"#)
        .await;
    assert_eq!(result.text(), Some("9"));
}

/// Tell the limit.
#[tool]
async fn limit(limit: State<u8>) -> u8 {
    *limit
}

#[tokio::test]
async fn a_second_state_of_one_type_replaces_the_first() {
    let mut registry = ToolRegistry::new().with_state(1_u8).with_state(2_u8);
    assert_eq!(registry.state::<u8>().as_deref(), Some(&2));
    registry.register::<limit>().unwrap();
    assert_eq!(registry.execute_tool("1", "limit", "{}").await.text(), Some("2"));
}

#[test]
fn a_request_shows_the_arguments_as_they_came() {
    let sent: [(RawArguments, _); 3] = [
        (r#"{ "a": 1.50 }"#.into(), json!(r#"{ "a": 1.50 }"#)),
        (json!({ "a": [1, null] }).into(), json!({ "a": [1, null] })),
        (b"{\"a\": \"\xff\"}"[..].into(), json!("{\"a\": \"\u{fffd}\"}")),
    ];
    for (input, shown) in sent {
        for name in ["answer", "nope"] {
            let request = registry().request(ToolCall::new("toolu_1", name, input.clone()));
            assert_eq!(request.raw_arguments, input);
            assert_eq!(serde_json::to_value(request).unwrap()["raw_arguments"], shown);
        }
    }
}
