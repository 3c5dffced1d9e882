//! Texts that mean a missing value, and errors that state whether a value is optional.

use serde_json::{Value, json};
use tests::dynamic_tool::POLICIES;
use tests::runtime::block_on;
use tool_runtime::{Patch, Policy, ToolCall, ToolRegistry, tool};
use uuid::Uuid;

use crate::coercion::table::Table;

/// Changes a task.
#[tool]
async fn change(
    /// Title.
    #[arg(length = 1..=80)]
    title: Patch<String>,
    /// Tags of the task.
    tags: Patch<Vec<String>>,
    /// Owner of the task.
    owner: Patch<Uuid>,
) -> String {
    let changes = [!title.is_keep(), !tags.is_keep(), !owner.is_keep()];
    changes.iter().filter(|is| **is).count().to_string()
}

/// Deletes files.
#[tool(destructive)]
async fn delete(
    /// Their names; all files without.
    names: Option<Vec<String>>,
    /// The folder; every folder without.
    #[arg(length = 1..)]
    folder: Option<String>,
    /// The owner; everybody without.
    owner: Option<Uuid>,
) -> String {
    [names.is_none(), folder.is_none(), owner.is_none()]
        .iter()
        .filter(|is| **is)
        .count()
        .to_string()
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register::<change>().unwrap();
    registry.register::<delete>().unwrap();
    registry
}

#[test]
fn patches_and_destructive_tools_keep_the_error() {
    let registry = registry();
    for (tool, parameter, text) in [
        ("change", "title", ""),
        ("change", "tags", ""),
        ("change", "tags", "null"),
        ("change", "owner", "None"),
        ("delete", "names", "null"),
        ("delete", "names", ""),
        ("delete", "folder", ""),
        ("delete", "owner", "undefined"),
    ] {
        for policy in POLICIES {
            let call = ToolCall::new("id", tool, json!({ parameter: text })).with_policy(policy);
            let outcome = block_on(registry.call(call));
            let paths: Vec<_> = outcome.errors.iter().map(|error| error.path.as_str()).collect();
            assert_eq!(paths, [format!("/{parameter}")], "{policy:?} {tool} {text:?}");
            let message = &outcome.errors[0].message;
            assert!(message.ends_with(" leave it out"), "{message}");
        }
    }
}

#[test]
fn dynamic_tools_with_the_hint_keep_the_error() {
    let schema =
        json!({ "type": "object", "properties": { "folder": { "type": "string", "minLength": 1 } } });
    for destructive in [None, Some(false), Some(true)] {
        let mut definition = tool_runtime::ToolDefinition::new("delete", "Deletes a folder.", schema.clone());
        definition.hints.destructive = destructive;
        let mut registry = ToolRegistry::new();
        registry
            .register_dynamic(definition, async |arguments: Value, _| arguments)
            .unwrap();
        let outcome = block_on(registry.call(ToolCall::new("id", "delete", json!({ "folder": "" }))));
        assert_eq!(
            outcome.result.is_error,
            destructive == Some(true),
            "{destructive:?}"
        );
    }
}

#[test]
fn errors_say_whether_a_value_may_be_left_out() {
    let table = Table::read();
    let (mut optional, mut required) = (0, 0);
    for policy in POLICIES {
        for row in &table.rows {
            let schema = &table.schemas[&row.schema].json;
            // A key that a condition requires is not in `required`.
            if ["if", "dependent", "not", "Of"]
                .iter()
                .any(|word| schema.to_string().contains(word))
            {
                continue;
            }
            let is_required = |name: &str| {
                let names = schema["required"].as_array().into_iter().flatten();
                names.into_iter().any(|required| required == name)
            };
            let registry = tests::dynamic_tool::registry(schema);
            let request = tests::dynamic_tool::prepare(&registry, row.sent.as_str(), policy);
            for error in &request.errors {
                let name = error.path.trim_start_matches('/');
                let is_declared = schema["properties"].get(name).is_some();
                let is_about_value = !matches!(
                    error.code.as_str(),
                    "missing_required" | "too_deep" | "too_complex"
                );
                let is_advised = error.message.ends_with(" leave it out");
                if is_declared && is_about_value {
                    assert_eq!(is_advised, !is_required(name), "{}: {error}", row.name);
                    optional += usize::from(is_advised);
                    let is_nothing = matches!(error.sent(), Some("" | "null" | "None"))
                        && error.code.as_str() != "null_not_allowed";
                    let is_advised = error.message.ends_with("; the parameter is required");
                    assert_eq!(
                        is_advised,
                        is_required(name) && is_nothing,
                        "{}: {error}",
                        row.name
                    );
                    required += usize::from(is_advised);
                }
            }
        }
    }
    assert!(optional > 50 && required > 40, "{optional} {required}");
}

#[test]
fn nested_properties_say_that_they_are_required() {
    let schema = json!({ "type": "object", "properties": { "opts": { "type": "object", "properties": {
        "mode": { "enum": ["a", "b"] }, "level": { "type": "integer" },
    }, "required": ["mode"] } } });
    let registry = tests::dynamic_tool::registry(&schema);
    let sent = json!({ "opts": { "mode": "", "level": "high" } });
    let request = tests::dynamic_tool::prepare(&registry, sent, Policy::Lenient);
    let messages: Vec<_> = request.errors.iter().map(|error| &*error.message).collect();
    assert_eq!(
        messages,
        [
            r#"invalid value ""; expected one of "a", "b"; the property is required"#,
            r#"invalid value "high"; expected an integer, or leave it out"#,
        ]
    );
}

/// Builds a property that rejects every text for a missing value, like a schema without `null`.
fn refusing() -> [Value; 9] {
    [
        json!({ "type": "array", "items": { "type": "string" } }),
        json!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "integer" }] }, "minItems": 1 }),
        json!({ "type": "array" }),
        json!({ "type": "string", "minLength": 12 }),
        json!({ "type": "string", "pattern": "^a" }),
        json!({ "type": "string", "enum": ["a", "b"] }),
        json!({ "type": "string", "format": "date" }),
        json!({ "type": "string", "format": "email", "maxLength": 90 }),
        json!({ "oneOf": [{ "const": "a" }, { "type": "string", "format": "uuid" }] }),
    ]
}

#[test]
fn null_words_are_null_or_missing_or_an_error() {
    for property in refusing() {
        for (is_required, is_nullable) in [(false, false), (false, true), (true, false), (true, true)] {
            let property = if is_nullable {
                json!({ "anyOf": [property, { "type": "null" }] })
            } else {
                property.clone()
            };
            let required: &[&str] = if is_required { &["x"] } else { &[] };
            let schema = json!({ "type": "object", "properties": { "x": property }, "required": required });
            let registry = tests::dynamic_tool::registry(&schema);
            for word in ["", " ", "null", "None", "UNDEFINED", " nil"] {
                let read = |policy| {
                    let request = tests::dynamic_tool::prepare(&registry, json!({ "x": word }), policy);
                    let errors = request.errors.iter().map(|error| error.path.clone());
                    let warnings = request.warnings.iter().map(|warning| warning.code.as_str());
                    match errors.collect::<Vec<_>>() {
                        errors if errors.is_empty() => {
                            Ok((Value::Object(request.arguments), warnings.collect::<Vec<_>>()))
                        }
                        errors => Err(errors),
                    }
                };
                let warnings = vec!["empty_string_treated_as_null"];
                let lenient = read(Policy::Lenient);
                match (is_nullable, is_required) {
                    (true, _) => {
                        assert_eq!(lenient, Ok((json!({ "x": null }), warnings)), "{word:?} {schema}")
                    }
                    (false, false) => assert_eq!(lenient, Ok((json!({}), warnings)), "{word:?} {schema}"),
                    (false, true) => assert_eq!(lenient.unwrap_err()[0], "/x", "{word:?} {schema}"),
                }
                for policy in [Policy::Lossless, Policy::Strict] {
                    assert_eq!(read(policy).unwrap_err()[0], "/x", "{policy:?} {word:?} {schema}");
                }
            }
        }
    }
}

/// Any other word is a string or an item, or is rejected.
#[test]
fn other_texts_are_kept() {
    for property in refusing() {
        let schema = json!({ "type": "object", "properties": { "x": property } });
        let registry = tests::dynamic_tool::registry(&schema);
        for word in ["nothing", "n/a", "nullable", "0", "-"] {
            let request = tests::dynamic_tool::prepare(&registry, json!({ "x": word }), Policy::Lenient);
            let kept = [Some(&json!(word)), Some(&json!([word]))];
            let is_kept = request.errors.is_empty() && kept.contains(&request.arguments.get("x"));
            assert!(
                is_kept || !request.errors.is_empty(),
                "{word} {schema}: {:?}",
                request.arguments
            );
        }
    }
}

/// If a schema lists such a word as an allowed item, the word is an item, wherever the schema lists it.
#[test]
fn listed_words_are_items() {
    let colors = json!({ "enum": ["none", "red"] });
    for items in [
        colors.clone(),
        json!({ "anyOf": [colors, { "type": "null" }] }),
        json!({ "anyOf": [colors, { "type": "integer" }] }),
        json!({ "oneOf": [colors, { "type": "object" }] }),
        json!({ "allOf": [colors, { "type": "string" }] }),
    ] {
        for required in [json!([]), json!(["x"])] {
            let properties = json!({ "x": { "type": "array", "items": items } });
            let schema = json!({ "type": "object", "properties": properties, "required": required });
            let registry = tests::dynamic_tool::registry(&schema);
            let request = tests::dynamic_tool::prepare(&registry, json!({ "x": "none" }), Policy::Lenient);
            assert_eq!(request.arguments.get("x"), Some(&json!(["none"])), "{schema}");
        }
    }
}
