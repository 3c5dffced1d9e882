//! `Patch<T>`: a missing value, `null` and a value, as a parameter and as a field.

use serde_json::{Value, json};
use tool_runtime::testing::{self, CallAssert};
use tool_runtime::{Patch, Policy, ToolCall, ToolDefinition, ToolRegistry, tool};

#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Priority {
    /// The highest priority.
    High,
    Low,
}

/// Name of the assignee.
#[expect(dead_code, reason = "shown")]
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Assignee {
    /// The name.
    name: String,
    /// The team.
    #[serde(default)]
    team: Patch<String>,
}

/// A part of a task.
#[expect(dead_code, reason = "shown")]
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Step {
    /// Duration in hours.
    #[serde(default)]
    hours: Patch<u8>,
    /// Urgency of the step.
    #[serde(default)]
    priority: Patch<Priority>,
    /// Next node.
    #[serde(default)]
    next: Patch<Box<Step>>,
}

/// Change a task.
#[tool]
async fn change(
    /// The title.
    #[arg(length = 1..=5, not_blank)]
    title: Patch<String>,
    /// The days.
    #[arg(range = 1..=30)]
    days: Patch<u32>,
    /// Whether it is done.
    done: Patch<bool>,
    /// The labels.
    labels: Patch<Vec<String>>,
    /// The priority.
    priority: Patch<Priority>,
    /// Name of the assignee.
    assignee: Patch<Assignee>,
    /// A part.
    step: Option<Step>,
) -> String {
    format!("{title:?} {days:?} {done:?} {labels:?} {priority:?} {assignee:?} {step:?}")
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register::<change>().unwrap();
    registry
}

/// Returns the outcome with the fast path, which must equal the outcome without it.
async fn run(arguments: &Value, policy: Policy) -> CallAssert {
    let call = || ToolCall::new("toolu_1", "change", arguments.to_string()).with_policy(policy);
    let slow = registry().without_fast_path().call(call()).await;
    let outcome = testing::run_call(&registry(), call()).await;
    let value = ToolCall::new("toolu_1", "change", arguments.clone()).with_policy(policy);
    let of_value = registry().call(value).await;
    for other in [slow, of_value] {
        assert_eq!(
            (&other.result, &other.warnings, &other.errors),
            (&outcome.result, &outcome.warnings, &outcome.errors)
        );
    }
    outcome
}

const KEPT: &str = "Keep Keep Keep Keep Keep Keep None";

#[tokio::test]
async fn missing_keeps_null_clears_and_a_value_sets() {
    for policy in [Policy::Lenient, Policy::Lossless, Policy::Strict] {
        let keep = run(&json!({}), policy).await;
        keep.assert_no_warnings().assert_text(KEPT);
        let null = json!({
            "title": null, "days": null, "done": null, "labels": null, "priority": null, "assignee": null, "step": null,
        });
        let clear = if policy == Policy::Strict {
            let mut null = null.clone();
            null.as_object_mut().unwrap().shift_remove("step"); // an `Option` is unchanged
            run(&null, policy).await
        } else {
            run(&null, policy).await
        };
        clear
            .assert_no_warnings()
            .assert_text("Clear Clear Clear Clear Clear Clear None");
        let set = json!({
            "title": "a", "days": 3, "done": false, "labels": [], "priority": "high",
            "assignee": { "name": "Ada", "team": null },
            "step": { "hours": 1, "priority": null, "next": { "next": null } },
        });
        run(&set, policy).await.assert_no_warnings().assert_text(
            "Set(\"a\") Set(3) Set(false) Set([]) Set(High) Set(Assignee { name: \"Ada\", team: Clear }) \
             Some(Step { hours: Set(1), priority: Clear, next: Set(Step { hours: Keep, priority: Keep, next: Clear }) })",
        );
    }
}

#[test]
fn schema_has_null_and_is_not_required() {
    let registry = registry();
    let schema = &registry.tool_definitions()[0].input_schema;
    assert_eq!(schema["required"], Value::Null);
    let parameters = &schema["properties"];
    assert_eq!(
        parameters["title"],
        json!({
            "type": ["string", "null"], "description": "The title. Must not be blank.", "minLength": 1, "maxLength": 5,
        })
    );
    assert_eq!(
        parameters["days"],
        json!({ "type": ["integer", "null"], "description": "The days.", "minimum": 1, "maximum": 30 })
    );
    assert_eq!(
        parameters["labels"],
        json!({ "type": ["array", "null"], "description": "The labels.", "items": { "type": "string" } })
    );
    assert_eq!(
        parameters["assignee"],
        json!({
            "type": ["object", "null"],
            "description": "Name of the assignee.",
            "properties": {
                "name": { "type": "string", "description": "The name." },
                "team": { "type": ["string", "null"], "description": "The team." },
            },
            "required": ["name"],
        })
    );
    let step = &schema["$defs"]["Step"];
    assert_eq!(step["required"], Value::Null);
    assert_eq!(
        step["properties"]["next"],
        json!({
            "description": "Next node.", "anyOf": [{ "$ref": "#/$defs/Step" }, { "type": "null" }],
        })
    );
    assert!(!schema.to_string().contains("$tool_runtime"), "{schema}");
}

/// Rows with an input and, for each policy, the answer or the errors, and the warnings.
#[tokio::test]
async fn sloppy_values_are_coerced_as_the_rules_say() {
    let converted = "string_literal_converted_to_integer at /days";
    let as_null = "empty_string_treated_as_null at /days";
    let rows = [
        // A number in quotes is read as the number.
        (
            json!({ "days": "3" }),
            Ok(("Keep Set(3) Keep Keep Keep Keep None", converted)),
            true,
        ),
        // The text `null` is read as `null`, and clears the value; it never means a missing value.
        (
            json!({ "days": "" }),
            Ok(("Keep Clear Keep Keep Keep Keep None", as_null)),
            true,
        ),
        (
            json!({ "days": "null" }),
            Ok(("Keep Clear Keep Keep Keep Keep None", as_null)),
            true,
        ),
        (
            json!({ "days": "None" }),
            Ok(("Keep Clear Keep Keep Keep Keep None", as_null)),
            true,
        ),
        // For a string parameter these are strings, which the limits forbid or allow.
        (
            json!({ "title": "None" }),
            Ok(("Set(\"None\") Keep Keep Keep Keep Keep None", "")),
            true,
        ),
        (
            json!({ "title": "" }),
            Err("constraint_violated at /title"),
            false,
        ),
        (
            json!({ "title": "  " }),
            Err("constraint_violated at /title"),
            false,
        ),
        (json!({ "days": 31 }), Err("constraint_violated at /days"), false),
        (
            json!({ "days": "many" }),
            Err("unsupported_integer_literal at /days"),
            false,
        ),
        // A single item is read as a list, but `null` never becomes an item.
        (
            json!({ "labels": "a" }),
            Ok((
                "Keep Keep Keep Set([\"a\"]) Keep Keep None",
                "scalar_coerced_to_list at /labels",
            )),
            true,
        ),
        (
            json!({ "priority": "HIGH" }),
            Ok((
                "Keep Keep Keep Keep Set(High) Keep None",
                "enum_case_normalized at /priority",
            )),
            true,
        ),
        (
            json!({ "Done": null }),
            Ok((
                "Keep Keep Clear Keep Keep Keep None",
                "parameter_name_normalized at /done",
            )),
            true,
        ),
        (
            json!({ "assignee": { "name": "Ada", "Team": null } }),
            Ok((
                "Keep Keep Keep Keep Keep Set(Assignee { name: \"Ada\", team: Clear }) None",
                "parameter_name_normalized at /assignee/team",
            )),
            true,
        ),
        (
            json!({ "assignee": { "name": null } }),
            Err("null_not_allowed at /assignee/name"),
            false,
        ),
    ];
    for (sent, expected, is_lossless) in rows {
        let lenient = run(&sent, Policy::Lenient).await;
        let lossless = run(&sent, Policy::Lossless).await;
        let codes = |outcome: &CallAssert| outcome.warnings.iter().map(code).collect::<Vec<_>>().join(", ");
        match expected {
            Ok((answer, warnings)) => {
                assert_eq!(
                    (lenient.result.text(), codes(&lenient)),
                    (Some(answer), warnings.to_owned()),
                    "{sent}"
                );
            }
            Err(error) => assert_eq!(
                lenient.errors.iter().map(code).collect::<Vec<_>>(),
                [error],
                "{sent}"
            ),
        }
        assert_eq!(!lossless.result.is_error, is_lossless, "{sent}");
        let strict = run(&sent, Policy::Strict).await;
        let conforms = matches!(expected, Ok((_, "")));
        assert_eq!(
            strict.result.text() == lenient.result.text() && !strict.result.is_error,
            conforms,
            "{sent}"
        );
    }
}

fn code(issue: &tool_runtime::Issue) -> String {
    format!("{} at {}", issue.code, issue.path)
}

/// Only the schema matters, so a dynamic tool with this schema has equal results.
#[tokio::test]
async fn dynamic_tools_get_null_or_no_value() {
    let definition = registry().tool_definitions()[0].clone();
    let mut dynamic = ToolRegistry::new();
    let definition = ToolDefinition::new("change", "Change a task.", definition.input_schema);
    dynamic
        .register_dynamic(definition, async |arguments, _| arguments.to_string())
        .unwrap();
    for (sent, received) in [
        (r#"{}"#, r#"{}"#),
        (r#"{"days":null,"title":null}"#, r#"{"days":null,"title":null}"#),
        (r#"{"days":"","labels":"a"}"#, r#"{"days":null,"labels":["a"]}"#),
        (
            r#"{"assignee":{"name":"Ada","team":null}}"#,
            r#"{"assignee":{"name":"Ada","team":null}}"#,
        ),
    ] {
        testing::run_in(&dynamic, "change", sent)
            .await
            .assert_text(received);
    }
}

/// OpenAI's strict form has no optional properties, so a model could only clear the value.
#[test]
fn has_no_strict_form_without_missing_properties() {
    use tool_runtime::format::{anthropic, openai};

    /// Change a date.
    #[tool]
    async fn postpone(
        /// Number of days.
        days: Patch<u32>,
    ) {
        let _ = days;
    }
    let mut registry = ToolRegistry::new();
    registry.register::<postpone>().unwrap();
    let definition = registry.tool_definitions()[0];
    let error = openai::chat::strict_tool(definition).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`postpone` has no strict form: at `/properties/days` it may be absent or `null`, and the strict form has no absent \
         properties"
    );
    let strict = anthropic::strict_tool(definition).unwrap();
    assert_eq!(
        strict.tool["input_schema"]["properties"]["days"]["type"],
        json!(["integer", "null"])
    );
}

/// Changed fields.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Required {
    /// The title.
    #[expect(dead_code, reason = "it cannot be registered")]
    title: Patch<String>,
}

/// Changed fields.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Wrapped {
    /// The title.
    #[serde(default)]
    #[expect(dead_code, reason = "it cannot be registered")]
    title: Option<Patch<String>>,
}

macro_rules! refused {
    ($($name:ident: $type:ty, $message:literal;)*) => {
        #[test]
        fn rejects_patches_that_cannot_be_missing_or_null() {
            $({
                /// Change it.
                #[tool]
                async fn $name(
                    /// Changed fields.
                    it: $type,
                ) {
                    let _ = it;
                }
                let error = ToolRegistry::new().register::<$name>().unwrap_err();
                assert_eq!(error.to_string(), format!("the schema of `{}` is invalid at {}", stringify!($name), $message));
            })*
        }
    };
}

refused! {
    required: Required,
        "`/properties/it/properties/title`: a `Patch` that is required can never be `Keep`; write `#[serde(default)]` above \
         the field";
    wrapped: Wrapped,
        "`/properties/it/properties/title`: a `Patch` in an `Option` or in another `Patch` can never be `Clear`; write \
         `Patch<..>` alone";
    optional: Option<Patch<u8>>,
        "`/properties/it`: a `Patch` in an `Option` or in another `Patch` can never be `Clear`; write `Patch<..>` alone";
    optional_struct: Option<Patch<Assignee>>,
        "`/properties/it`: a `Patch` in an `Option` or in another `Patch` can never be `Clear`; write `Patch<..>` alone";
    twice: Patch<Patch<u8>>,
        "`/properties/it`: a `Patch` in an `Option` or in another `Patch` can never be `Clear`; write `Patch<..>` alone";
    list: Vec<Patch<u8>>,
        "`/properties/it/items`: a `Patch` is a parameter or a field of a struct; this value cannot be missing, so write \
         `Option<..>`";
    map: std::collections::BTreeMap<String, Patch<u8>>,
        "`/properties/it/additionalProperties`: a `Patch` is a parameter or a field of a struct; this value cannot be \
         missing, so write `Option<..>`";
}
