//! Tools of a source: those that are left out, repairs of definitions, and renamed properties.

use serde_json::{Value, json};
use tests::runtime::block_on;
use tests::warnings::warnings_of;
use tool_runtime::format::mcp;
use tool_runtime::testing::run_in;
use tool_runtime::{Context, LeftOut, ToolDefinition, ToolRegistry};

fn definition(name: &str, schema: Value) -> ToolDefinition {
    ToolDefinition::new(name, "Listed.", schema)
}

async fn echo(name: String, arguments: Value, _: Context) -> String {
    format!("{name} {arguments}")
}

fn names(registry: &ToolRegistry) -> Vec<&str> {
    let definitions = registry.tool_definitions().into_iter();
    definitions.map(|definition| &*definition.name).collect()
}

fn reasons(left_out: &[LeftOut]) -> Vec<(&str, &str, String)> {
    let reasons = left_out.iter();
    reasons
        .map(|tool| (tool.name.as_str(), tool.error.code(), tool.to_string()))
        .collect()
}

/// One unusable tool takes no other tool away.
#[test]
fn unusable_tools_are_left_out_with_their_reason() {
    let object =
        |property: &str, schema: Value| json!({ "type": "object", "properties": { property: schema } });
    let table = [
        (
            definition(
                "remote",
                object("x", json!({ "$ref": "https://example.com/x.json" })),
            ),
            "invalid_schema",
            "the schema of `remote` is invalid at `/properties/x/$ref`",
        ),
        (
            definition("word", object("x", json!({ "type": "int8x" }))),
            "invalid_schema",
            "the schema of `word` is invalid at `/properties/x/type`",
        ),
        (
            definition(
                "dialect",
                json!({ "$schema": "https://example.com/own", "type": "object" }),
            ),
            "invalid_schema",
            "the schema of `dialect` is invalid at `/$schema`: unknown dialect `https://example.com/own`; expected a dialect of \
             json-schema.org",
        ),
        (
            definition("text", json!({ "type": "string" })),
            "invalid_schema",
            "the schema of `text` is invalid",
        ),
        (
            definition(
                "key",
                json!({ "type": "object", "properties": { "$top": {}, "b": {} }, "dependentRequired": { "b": ["$top"] } }),
            ),
            "invalid_schema",
            "the schema of `key` is invalid at `/properties/$top`: the Messages API refuses the property key `$top`",
        ),
        (
            definition(
                "key_of_an_alternative",
                json!({ "anyOf": [object("a b", json!({})), object("c", json!({}))] }),
            ),
            "invalid_schema",
            "the schema of `key_of_an_alternative` is invalid: the Messages API refuses the property key `a b`",
        ),
        (
            definition("good", json!({ "type": "object" })),
            "duplicate",
            "a tool named `good` is already registered",
        ),
        (
            definition("", json!({ "type": "object" })),
            "invalid_name",
            "invalid tool name ``",
        ),
    ];
    let good = [
        definition("good", json!({ "type": "object" })),
        definition("other.one", json!({})),
    ];
    let listed = good
        .into_iter()
        .chain(table.iter().map(|(definition, ..)| definition.clone()));
    let mut registry = ToolRegistry::new();
    let mut left_out = Vec::new();
    let (_, warnings) = warnings_of(|| left_out = registry.register_usable(listed, echo));
    assert_eq!(names(&registry), ["good", "other_one"]);
    let reasons = reasons(&left_out);
    assert_eq!(reasons.len(), table.len());
    for ((definition, code, start), (name, found, reason)) in table.iter().zip(&reasons) {
        assert_eq!((name, found), (&definition.name.as_str(), code));
        assert!(reason.starts_with(start), "{reason}");
        assert!(
            warnings
                .iter()
                .any(|warning| warning == &format!("a tool was left out: {reason}"))
        );
    }
    // All or none.
    for (definition, ..) in &table {
        let mut strict = ToolRegistry::new();
        let good = ToolDefinition::new("good", "Listed.", json!({ "type": "object" }));
        if strict.register_source([good, definition.clone()], echo).is_err() {
            assert!(names(&strict).is_empty());
        }
    }
}

#[test]
fn known_dialects_are_usable() {
    for dialect in [
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft-07/schema",
        "http://json-schema.org/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
        "https://spec.openapis.org/oas/3.1/dialect/base",
        "",
    ] {
        let listed = definition("tool", json!({ "$schema": dialect, "type": "object" }));
        assert!(
            ToolRegistry::new().register_usable([listed], echo).is_empty(),
            "{dialect}"
        );
    }
}

/// Mistakes that do not concern calls are repaired.
#[test]
fn definitions_of_a_source_are_repaired() {
    let mut wrong_output = definition("wrong_output", json!({ "type": "object", "properties": {} }));
    wrong_output.output_schema = Some(json!({ "type": "objekt" }));
    let table = [
        (
            definition("empty", json!({})),
            json!({ "type": "object", "properties": {} }),
        ),
        (
            definition(
                "null",
                json!({ "type": "object", "properties": null, "required": null }),
            ),
            json!({ "type": "object", "properties": {} }),
        ),
        (
            definition("no_type", json!({ "properties": { "child": { "$ref": "#" } } })),
            json!({ "type": "object", "properties": { "child": { "$ref": "#" } } }),
        ),
        (
            wrong_output.clone(),
            json!({ "type": "object", "properties": {} }),
        ),
    ];
    for usable in [true, false] {
        let mut registry = ToolRegistry::new();
        let listed = table.iter().map(|(definition, _)| definition.clone());
        let (_, warnings) = warnings_of(|| {
            if usable {
                assert!(registry.register_usable(listed, echo).is_empty());
            } else {
                registry.register_source(listed, echo).unwrap();
            }
        });
        let shown = registry.tool_definitions().into_iter().zip(&table);
        for (shown, (_, expected)) in shown {
            assert_eq!((&shown.input_schema, &shown.output_schema), (expected, &None));
        }
        let of_output =
            "the output schema was left out: the output schema of `wrong_output` is invalid at `/type`";
        assert!(
            warnings.iter().any(|warning| warning.starts_with(of_output)),
            "{warnings:?}"
        );
    }
    // A definition of the host itself.
    let error = ToolRegistry::new()
        .register_dynamic(wrong_output, async |_, _| "")
        .unwrap_err();
    assert_eq!(error.code(), "invalid_output_schema");
}

/// The model sends keys that the API accepts, and the handler receives the source's keys.
#[test]
fn refused_property_keys_are_renamed_for_the_model() {
    let schema = json!({
        "type": "object",
        "properties": { "$top": { "type": "integer" }, "filter[id]": { "type": "string" }, "plain": {} },
        "required": ["$top"],
    });
    let mut with_examples = definition("list", schema.clone());
    with_examples.input_examples = vec![json!({ "$top": 5 })];
    let mut registry = ToolRegistry::new();
    let (_, warnings) = warnings_of(|| {
        let handler = async |_: String, arguments: Value, _: Context| arguments;
        registry
            .register_source([with_examples.clone()], handler)
            .unwrap();
    });
    assert_eq!(
        warnings,
        [
            "`$top` was renamed to `_top`, since the Messages API refuses the property key; the tool receives the original key, \
             at `/properties/$top` of the schema",
            "`filter[id]` was renamed to `filter_id_`, since the Messages API refuses the property key; the tool receives the \
             original key, at `/properties/filter[id]` of the schema",
        ]
    );
    let renamed = json!({
        "type": "object",
        "properties": { "_top": { "type": "integer" }, "filter_id_": { "type": "string" }, "plain": {} },
        "required": ["_top"],
    });
    let shown = registry.tool_definitions()[0];
    assert_eq!(shown.input_schema, renamed);
    assert_eq!(shown.input_examples, [json!({ "_top": 5 })]);
    // A client of this registry as a server sends the arguments back.
    assert_eq!(mcp::tool(shown)["inputSchema"], renamed);
    block_on(run_in(
        &registry,
        "list",
        r#"{ "filter_id_": "7", "_top": "3", "other": 1 }"#,
    ))
    .assert_text(r#"{"filter[id]":"7","$top":3,"other":1}"#);
    let failed = block_on(registry.execute_tool("1", "list", "{}"));
    assert!(
        failed.text().unwrap().contains("missing_required:_top at /_top"),
        "{failed:?}"
    );

    let mut source = ToolRegistry::new();
    assert!(
        source
            .register_usable([definition("list", schema.clone())], echo)
            .is_empty()
    );
    let mut outer = ToolRegistry::new();
    outer.nest("docs", source).unwrap();
    block_on(run_in(&outer, "docs__list", r#"{ "_top": 3 }"#)).assert_text(r#"list {"$top":3}"#);

    let mut unchanged = ToolRegistry::new().with_schema_corrections(false);
    unchanged
        .register_source([definition("list", schema.clone())], echo)
        .unwrap();
    assert_eq!(
        unchanged.tool_definitions()[0].input_schema["properties"],
        schema["properties"]
    );
}

#[test]
fn nested_tools_with_a_taken_name_are_left_out() {
    let source = |names: &[&str]| {
        let mut registry = ToolRegistry::new();
        let listed = names
            .iter()
            .map(|name| definition(name, json!({ "type": "object" })));
        registry.register_source(listed, echo).unwrap();
        registry
    };
    let mut registry = source(&["docs__read"]);
    let left_out = registry.nest_usable("docs", source(&["read", "write"])).unwrap();
    assert_eq!(
        reasons(&left_out),
        [(
            "read",
            "duplicate",
            "a tool named `docs__read` is already registered; give one of the two another `name`, or a prefix".to_owned(),
        )]
    );
    assert_eq!(names(&registry), ["docs__read", "docs__write"]);
    block_on(run_in(&registry, "docs__read", "{}")).assert_text("docs__read {}");
    block_on(run_in(&registry, "docs__write", "{}")).assert_text("write {}");
    assert_eq!(
        registry.nest_usable("a b", source(&[])).unwrap_err().code(),
        "invalid_prefix"
    );
    assert_eq!(
        registry.nest("docs", source(&["write"])).unwrap_err().code(),
        "duplicate"
    );
}
