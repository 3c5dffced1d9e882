//! Tools that a registry accepts and rejects, and subsets of registries.

use serde_json::json;
use tool_runtime::result::Failure;
use tool_runtime::{RawArguments, RegistryError, State, ToolCall, ToolDefinition, ToolRegistry, tool};

use crate::execution::tools::{definition, registry};

#[test]
fn registry_is_clone_send_and_sync() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    check::<ToolRegistry>();
}

/// R-REG-6
#[test]
fn rejects_duplicate_names() {
    let mut registry = registry();
    let before = registry.tool_definitions().len();
    let error = registry
        .register_dynamic(definition("answer"), async |_, _| "43")
        .unwrap_err();
    assert!(matches!(&error, RegistryError::Duplicate { tool } if tool == "answer"));
    assert_eq!(
        error.to_string(),
        "a tool named `answer` is already registered; give one of the two another `name`, or a prefix"
    );
    assert_eq!(registry.tool_definitions().len(), before);
}

#[test]
fn rejects_names_that_the_api_rejects() {
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
async fn clones_are_independent() {
    let mut registry = registry();
    let clone = registry.clone();
    let definition = registry.unregister("answer").unwrap();
    assert_eq!(definition.name, "answer");
    assert!(registry.unregister("answer").is_none());
    assert!(registry.execute_tool("1", "answer", "{}").await.is_error);
    assert_eq!(clone.execute_tool("1", "answer", "{}").await.text(), Some("42"));
}

#[tokio::test]
async fn subset_is_in_order_of_registration() {
    let subset = registry().subset(["hang", "answer", "unheard_of"]);
    let names: Vec<_> = subset
        .tool_definitions()
        .into_iter()
        .map(|definition| definition.name.as_str())
        .collect();
    assert_eq!(names, ["answer", "hang"]);
    assert_eq!(subset.execute_tool("1", "answer", "{}").await.text(), Some("42"));
    assert_eq!(
        subset.call(ToolCall::new("1", "fail", "{}")).await.failure,
        Some(Failure::NotFound)
    );
}

/// R-DEF-2
#[test]
fn rejects_invalid_schemas_with_their_path() {
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
            json!({ "type": "object", "properties": { "a": { "$ref": "#a" } },
                "$defs": { "a": { "$anchor": "a" }, "b": { "$anchor": "a" } } }),
            "/properties/a/$ref",
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

/// An inner `$id` changes the meaning of references, and only JSON Pointers, anchors and the root's `$id` are supported.
#[test]
fn rejects_references_that_depend_on_an_inner_id() {
    let tree = |reference: &str, inner: &str| {
        json!({
            "$id": "https://example.org/tree", "type": "object",
            "properties": { "root": { "$ref": reference } },
            "$defs": {
                "node": { "$id": "node", "$anchor": "n", "type": "object", "properties": { "next": { "$ref": inner } },
                    "$defs": { "value": { "type": "integer" } } },
                "value": { "type": "string" },
            },
        })
    };
    let whole = "https://example.org/tree#/$defs/node";
    let below = "/$defs/node/properties/next/$ref";
    let root = "/properties/root/$ref";
    let by_name = "put that schema into `$defs` and write `#/$defs/…`";
    let relative = "is relative to the `$id` at `/$defs/node`";
    for (schema, place, expected) in [
        (tree("node", whole), root, by_name),
        (tree("https://example.org/node#", whole), root, by_name),
        (tree("#n", whole), root, "names no schema of this document"),
        (tree("#/$defs/node", "node"), below, relative),
        (tree("#/$defs/node", "#/$defs/value"), below, relative),
        (tree("#/$defs/node", "#"), below, relative),
        (tree("#/$defs/node", "#n"), below, relative),
    ] {
        let definition = ToolDefinition::new("t", "", schema.clone());
        let error = ToolRegistry::new()
            .register_dynamic(definition, async |_, _| "")
            .unwrap_err();
        let RegistryError::InvalidSchema { path, reason, .. } = &error else {
            panic!("{schema}: {error:?}")
        };
        assert_eq!(path, place, "{error}");
        assert!(reason.contains(expected), "{error}");
    }
}

/// An `$id` is a name of a schema, at the root and inside. The anchors of draft-07 and the `id` of other generators are not names.
#[test]
fn accepts_ids_that_no_reference_depends_on() {
    let schema = json!({
        "$id": "https://example.org/tree", "type": "object",
        "properties": {
            "root": { "$ref": "#/$defs/node" },
            "same": { "$ref": "https://example.org/tree#/$defs/node" },
            "leaf": { "$ref": "#leaf" },
            "old": { "$ref": "#old" },
        },
        "$defs": {
            "node": { "$id": "node", "type": "object", "properties": {
                "value": { "type": "integer" },
                "next": { "$ref": "https://example.org/tree#/$defs/node" },
            }, "required": ["value"] },
            "leaf": { "$anchor": "leaf", "id": "Leaf", "type": "object", "properties": {
                "leaf": { "$ref": "#/$defs/leaf" }, "value": { "type": "integer" } } },
            "old": { "$id": "#old", "type": "array", "items": { "$ref": "#/$defs/node" } },
        },
    });
    let mut registry = ToolRegistry::new();
    let definition = ToolDefinition::new("t", "", schema);
    registry.register_dynamic(definition, async |_, _| "").unwrap();
    let arguments = r#"{ "root": { "value": "1", "next": { "value": "one" } }, "same": { "value": "2" },
        "leaf": { "leaf": { "value": "3" } }, "old": [{ "value": "4" }] }"#;
    let request = registry.prepare(ToolCall::new("toolu_1", "t", arguments));
    assert_eq!(request.arguments["root"]["value"], 1);
    assert_eq!(request.arguments["same"]["value"], 2);
    assert_eq!(request.arguments["leaf"]["leaf"]["value"], 3);
    assert_eq!(request.arguments["old"][0]["value"], 4);
    let refused: Vec<_> = request
        .errors
        .iter()
        .map(|error| format!("{}@{}", error.code, error.path))
        .collect();
    assert_eq!(refused, ["unsupported_integer_literal@/root/next/value"]);
}

#[test]
fn prepare_runs_nothing() {
    let request = registry().prepare(ToolCall::new("toolu_1", "panic", r#"{"unheard":"of"}"#));
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
}

/// Wait a while.
#[tool(input_examples = [{ "seconds": 11 }])]
async fn wrong_example(
    /// Duration.
    #[arg(range = 1..=10)]
    seconds: u8,
) -> u8 {
    seconds
}

/// The macro checks only literal patterns.
const UNCLOSED: &str = "(";

/// Wait a while.
#[tool]
async fn wrong_pattern(
    /// End of the wait.
    #[arg(pattern = UNCLOSED)]
    until: String,
) -> String {
    until
}

const MANY: u8 = 11;

/// Wait a while.
#[tool]
async fn wrong_parameter_example(
    /// Duration.
    #[arg(range = 1..=10, example = MANY)]
    seconds: u8,
) -> u8 {
    seconds
}

/// Wait a while.
#[tool]
async fn wrong_default(
    /// Duration.
    #[arg(default = MANY, range = 1..=10)]
    seconds: u8,
) -> u8 {
    seconds
}

/// Wait a while.
#[tool]
async fn wants_state(_limits: State<Vec<u8>>) {}

/// Return the time to wait.
#[tool]
async fn with_default(
    /// Duration.
    #[arg(default = 7)]
    seconds: u8,
) -> u8 {
    seconds
}

#[test]
fn rejects_inconsistent_tools() {
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
            "example 0 of `wrong_example` is refused: constraint_violated at /seconds: invalid value 11; \
             expected an integer from 1 to 10",
            "the parameter `seconds` of `wrong_default` is refused: its default is wrong: constraint_violated \
             at /seconds: invalid value 11; expected an integer from 1 to 10",
            "`wants_state` takes `_limits: State<alloc::vec::Vec<u8>>`, and the registry has none; \
             call `.with_state(..)` before you register it",
            "the parameter `seconds` of `wrong_parameter_example` is refused: its example is wrong: \
             constraint_violated at /seconds: invalid value 11; expected an integer from 1 to 10",
        ],
    );
    let refused = registry.register::<wrong_pattern>().unwrap_err().to_string();
    let expected = "the parameter `until` of `wrong_pattern` is refused: its `pattern` cannot be read as a regular expression";
    assert!(refused.starts_with(expected), "{refused}");
    assert!(registry.tool_definitions().is_empty());
}

#[test]
fn register_all_is_atomic() {
    let mut registry = ToolRegistry::new();
    let family = tool_runtime::tool_set![with_default, wants_state];
    assert!(registry.register_all(family).is_err());
    assert!(registry.get_tool("with_default").is_none());
}

/// R-DEF-11
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
async fn warnings_are_appended_on_request() {
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

/// Return the limit.
#[tool]
async fn limit(limit: State<u8>) -> u8 {
    *limit
}

#[tokio::test]
async fn second_state_of_a_type_replaces_the_first() {
    let mut registry = ToolRegistry::new().with_state(1_u8).with_state(2_u8);
    assert_eq!(registry.state::<u8>().as_deref(), Some(&2));
    registry.register::<limit>().unwrap();
    assert_eq!(registry.execute_tool("1", "limit", "{}").await.text(), Some("2"));
}

/// R-ARG-11
#[test]
fn prepared_call_has_the_raw_arguments() {
    let sent: [(RawArguments, _); 3] = [
        (r#"{ "a": 1.50 }"#.into(), json!(r#"{ "a": 1.50 }"#)),
        (json!({ "a": [1, null] }).into(), json!({ "a": [1, null] })),
        (b"{\"a\": \"\xff\"}"[..].into(), json!("{\"a\": \"\u{fffd}\"}")),
    ];
    for (input, shown) in sent {
        for name in ["answer", "nope"] {
            let request = registry().prepare(ToolCall::new("toolu_1", name, input.clone()));
            assert_eq!(request.raw_arguments, input);
            assert_eq!(serde_json::to_value(request).unwrap()["raw_arguments"], shown);
        }
    }
}

/// Returns the error of a schema, with its path.
fn refusal_of(schema: serde_json::Value) -> (String, String) {
    let definition = ToolDefinition::new("tool", "Does nothing.", schema);
    let error = ToolRegistry::new()
        .register_dynamic(definition, async |_, _| "")
        .unwrap_err();
    match error {
        RegistryError::InvalidSchema { path, reason, .. } => (path, reason),
        other => panic!("{other}"),
    }
}

#[test]
fn rejects_schemas_beyond_the_limits_with_their_path() {
    let unions = |count: usize| {
        (0..count).fold(
            json!({ "type": "string" }),
            |inner, place| json!({ "anyOf": [inner, { "type": "object", "required": [place.to_string()] }] }),
        )
    };
    let below = |schema: &serde_json::Value| {
        json!({
            "type": "object",
            "properties": {
                "a": { "type": "integer" },
                "b/c": { "type": "array", "items": { "$ref": "#/$defs/It" } },
            },
            "$defs": { "It": { "type": "object", "properties": { "deep": schema } } },
        })
    };
    let mut registry = ToolRegistry::new();
    let definition = ToolDefinition::new("tool", "Does nothing.", below(&unions(16)));
    registry.register_dynamic(definition, async |_, _| "").unwrap();
    let (path, reason) = refusal_of(below(&unions(18)));
    assert_eq!(path, "/properties/b~1c/items");
    assert!(reason.contains("more than 16 directly nested unions"), "{reason}");

    let schema = json!({ "type": "object", "properties": { "a": {}, "b": { "items": unions(18) } } });
    assert_eq!(refusal_of(schema).0, "/properties/b/items");

    let circle = json!({ "anyOf": [{ "$ref": "#/$defs/It/properties/deep" }, { "type": "object" }] });
    assert_eq!(refusal_of(below(&circle)).0, "/properties/b~1c/items");

    let deep = (0..200).fold(json!({}), |inner, _| json!({ "items": inner }));
    let (path, reason) = refusal_of(json!({ "type": "object", "properties": { "a": {}, "b": deep } }));
    assert!(path.starts_with("/properties/b/items/items/items"), "{path}");
    assert!(reason.contains("deeper than 128 levels"), "{reason}");
}

/// A value that its type rejects, although the schema allows it.
#[derive(tool_runtime::serde::Deserialize, tool_runtime::schemars::JsonSchema)]
#[serde(crate = "tool_runtime::serde", try_from = "String")]
#[schemars(crate = "tool_runtime::schemars", with = "String")]
struct Even;

impl TryFrom<String> for Even {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.len() % 2 {
            0 => Ok(Self),
            _ => Err("odd length"),
        }
    }
}

/// Accepts even values.
#[tool]
async fn take_even(
    /// A text.
    #[arg(name = "text")]
    _text: Even,
    /// A map.
    #[arg(name = "map")]
    _map: std::collections::BTreeMap<u32, i32>,
) -> &'static str {
    panic!("the function is not called")
}

#[tokio::test]
async fn prepared_call_has_the_errors_of_the_types() {
    let mut registry = ToolRegistry::new();
    registry.register::<take_even>().unwrap();
    for input in [
        r#"{"text":"abc","map":{}}"#,
        r#"{"text":"abcd","map":{"07":1}}"#,
        r#"{"text":"abcd","map":{"4294967296":1}}"#,
        r#"{"text":5,"map":{"x":1}}"#,
        r#"{"text":"abc"}"#,
    ] {
        let request = registry.prepare(ToolCall::new("1", "take_even", input));
        let outcome = registry.call(ToolCall::new("1", "take_even", input)).await;
        assert!(!request.errors.is_empty(), "{input}");
        assert_eq!(request.errors, outcome.errors, "{input}");
        assert_eq!(request.warnings, outcome.warnings, "{input}");
    }
    let request = registry.prepare(ToolCall::new(
        "1",
        "take_even",
        r#"{"text":"abcd","map":{"1":"1"}}"#,
    ));
    assert_eq!((request.errors.len(), request.warnings.len()), (0, 1));
}

/// A value whose deserialization panics.
#[derive(tool_runtime::serde::Deserialize, tool_runtime::schemars::JsonSchema)]
#[serde(crate = "tool_runtime::serde", from = "String")]
#[schemars(crate = "tool_runtime::schemars", with = "String")]
struct Panics;

impl From<String> for Panics {
    fn from(_: String) -> Self {
        panic!("cannot be read")
    }
}

/// Accepts values whose deserialization panics.
#[tool]
async fn take_panicking(
    /// A text.
    #[arg(name = "text")]
    _text: Panics,
    /// A number.
    #[arg(name = "number")]
    _number: u8,
) {
}

#[test]
fn prepared_call_has_the_errors_of_the_schema_if_a_type_panics() {
    let mut registry = ToolRegistry::new();
    registry.register::<take_panicking>().unwrap();
    let request = registry.prepare(ToolCall::new("1", "take_panicking", r#"{"text":"a"}"#));
    let errors: Vec<_> = request.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("missing_required:number"), "{errors:?}");
}
