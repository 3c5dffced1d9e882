//! The variants of a tool that run a row, and their differences from the expectation.

use serde_json::Value;
use tool_runtime::{Issue, Policy, RawArguments, ToolCall, ToolDefinition, ToolOutcome, ToolRegistry};

use crate::coercion::table::{self, Expectation, Outcome, Row, Table};
use crate::coercion::{equality, nesting, typed};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    DynamicText,
    DynamicValue,
    TypedText,
    TypedValue,
    NestedText,
    NestedValue,
    TypedNestedText,
    TypedNestedValue,
}

impl Variant {
    pub const ALL: [Self; 8] = [
        Self::DynamicText,
        Self::DynamicValue,
        Self::TypedText,
        Self::TypedValue,
        Self::NestedText,
        Self::NestedValue,
        Self::TypedNestedText,
        Self::TypedNestedValue,
    ];

    pub fn is_text(self) -> bool {
        matches!(
            self,
            Self::DynamicText | Self::TypedText | Self::NestedText | Self::TypedNestedText
        )
    }
}

/// Registers every schema of the table as echoing tools: dynamic and typed, at the top level and nested.
pub struct Variants {
    dynamic: ToolRegistry,
    typed: ToolRegistry,
    nested: ToolRegistry,
    typed_nested: ToolRegistry,
}

impl Variants {
    pub fn new(table: &Table, policy: Policy) -> Self {
        // The schemas in the table are the types' schemas with marks, such as the mark for the type of an integer.
        let registry = ToolRegistry::new().with_policy(policy).with_marks_in_schemas();
        let (mut dynamic, mut nested) = (registry.clone(), registry);
        for (name, schema) in &table.schemas {
            let schema = table::marked(&schema.json);
            echo(&mut dynamic, name, schema.clone());
            echo(&mut nested, name, nesting::schema(&schema));
        }
        Self {
            dynamic,
            typed: typed::registry().with_policy(policy),
            nested,
            typed_nested: typed::nested().with_policy(policy),
        }
    }

    /// Returns whether the variant has a tool: schemas with `#[arg]` cannot be nested.
    pub fn has(&self, row: &Row, variant: Variant) -> bool {
        !matches!(variant, Variant::TypedNestedText | Variant::TypedNestedValue)
            || self.typed_nested.get_tool(&row.schema).is_some()
    }

    /// Returns the differences from the expectation.
    pub async fn run(
        &self,
        table: &Table,
        row: &Row,
        variant: Variant,
        expected: &Expectation,
    ) -> Vec<String> {
        let input = |nested: bool| -> RawArguments<'_> {
            match (variant.is_text(), nested) {
                (true, false) => row.sent.as_str().into(),
                (true, true) => nesting::text(&row.sent).into(),
                (false, nested) => {
                    let value =
                        serde_json::from_str(&row.sent).unwrap_or_else(|e| panic!("{}: {e}", row.name));
                    if nested {
                        nesting::value(&value).into()
                    } else {
                        value.into()
                    }
                }
            }
        };
        match variant {
            Variant::DynamicText | Variant::DynamicValue => {
                dynamic(&self.dynamic, &row.schema, input(false), expected).await
            }
            Variant::NestedText | Variant::NestedValue => {
                dynamic(
                    &self.nested,
                    &row.schema,
                    input(true),
                    &nesting::expectation(expected),
                )
                .await
            }
            Variant::TypedText | Variant::TypedValue => {
                let outcome = self
                    .typed
                    .call(ToolCall::new("id", &row.schema, input(false)))
                    .await;
                typed_differences(&outcome, &table.schemas[&row.schema].json, expected)
            }
            Variant::TypedNestedText | Variant::TypedNestedValue => {
                let call = ToolCall::new("id", &row.schema, input(true));
                let outcome = self.typed_nested.call(call).await;
                let schema = nesting::schema(&table.schemas[&row.schema].json);
                typed_differences(&outcome, &schema, &nesting::expectation(expected))
            }
        }
    }

    /// Returns the arguments and issues of a typed and a dynamic tool with one schema for an input.
    pub fn both(&self, schema: &str, input: &RawArguments<'_>) -> (String, String) {
        let issues = |registry: &ToolRegistry| {
            let request = registry.prepare(ToolCall::new("id", schema, input.clone()));
            let arguments = Value::Object(request.arguments);
            format!(
                "{arguments}, warned {:?}, refused {:?}",
                listed(&request.warnings),
                listed(&request.errors)
            )
        };
        (issues(&self.typed), issues(&self.dynamic))
    }

    /// Returns the difference between a call of a typed tool and of a dynamic tool.
    pub async fn disagreement(&self, name: &str, schema: &Value, input: &RawArguments<'_>) -> Option<String> {
        let typed = self.typed.call(ToolCall::new("id", name, input)).await;
        let dynamic = self.dynamic.call(ToolCall::new("id", name, input)).await;
        let issues = |outcome: &ToolOutcome| (listed(&outcome.warnings), listed(&outcome.errors));
        if issues(&typed) != issues(&dynamic) {
            return Some(format!(
                "typed {:?}, dynamic {:?}",
                issues(&typed),
                issues(&dynamic)
            ));
        }
        let [echo, given] = [&typed, &dynamic].map(|outcome| outcome.result.text().unwrap_or_default());
        let unknown = unknown(&issues(&dynamic).0);
        let is_alike = || {
            let (echo, given) = (
                serde_json::from_str(echo).ok()?,
                serde_json::from_str(given).ok()?,
            );
            Some(equality::echoed(&given, &echo, schema, &unknown))
        };
        let agree = typed.result.is_error == dynamic.result.is_error
            && (typed.result.is_error || is_alike().unwrap_or_default());
        (!agree).then(|| format!("typed {echo}, dynamic {given}"))
    }
}

/// Returns the paths of undeclared properties.
fn unknown(warnings: &[String]) -> Vec<String> {
    let split = warnings.iter().filter_map(|it| it.split_once('@'));
    let unknown = split.filter(|(code, _)| code.starts_with("unknown_"));
    unknown.map(|(_, path)| path.to_owned()).collect()
}

fn echo(registry: &mut ToolRegistry, name: &str, schema: Value) {
    let definition = ToolDefinition::new(name, "Echoes its arguments.", schema);
    registry
        .register_dynamic(definition, async |arguments: Value, _| arguments)
        .unwrap_or_else(|e| panic!("`{name}` is refused: {e}"));
}

async fn dynamic(
    registry: &ToolRegistry,
    name: &str,
    input: RawArguments<'_>,
    expected: &Expectation,
) -> Vec<String> {
    let request = registry.prepare(ToolCall::new("id", name, &input));
    let arguments = Value::Object(request.arguments);
    let mut found = issue_differences(&request.warnings, &request.errors, expected);
    if let Outcome::Value(wanted) = &expected.outcome
        && !equality::same(wanted, &arguments)
    {
        found.push(format!("got {arguments}"));
    }
    let outcome = registry.call(ToolCall::new("id", name, input)).await;
    if outcome.warnings != request.warnings || outcome.errors != request.errors {
        found.push(format!(
            "a call has the issues {:?} and {:?}",
            listed(&outcome.warnings),
            listed(&outcome.errors)
        ));
    }
    if request.errors.is_empty() {
        let text = outcome.result.text().unwrap_or_default();
        if serde_json::from_str::<Value>(text).ok().as_ref() != Some(&arguments) {
            found.push(format!(
                "the function was given {text}, the request says {arguments}"
            ));
        }
        found.extend(second_time(registry, name, &arguments));
    }
    found
}

/// Checks that a second coercion changes nothing and has no issues, except unknown keys.
fn second_time(registry: &ToolRegistry, name: &str, arguments: &Value) -> Option<String> {
    for input in [
        RawArguments::from(arguments.to_string()),
        arguments.clone().into(),
    ] {
        let again = registry.prepare(ToolCall::new("id", name, input));
        let news = listed(&again.warnings)
            .into_iter()
            .filter(|it| !it.starts_with("unknown_"))
            .count();
        let value = Value::Object(again.arguments);
        if news > 0 || !again.errors.is_empty() || value != *arguments {
            return Some(format!(
                "the second time {arguments} became {value}, warned {:?}, refused {:?}",
                listed(&again.warnings),
                listed(&again.errors)
            ));
        }
    }
    None
}

fn typed_differences(outcome: &ToolOutcome, schema: &Value, expected: &Expectation) -> Vec<String> {
    let mut found = issue_differences(&outcome.warnings, &outcome.errors, expected);
    let text = outcome.result.text().unwrap_or_default();
    let equal = match &expected.outcome {
        Outcome::Errors(_) => outcome.result.is_error,
        Outcome::Text(wanted) => text == wanted,
        Outcome::Value(wanted) => {
            let unknown = unknown(expected.warnings.as_deref().unwrap_or_default());
            serde_json::from_str(text).is_ok_and(|echo| equality::echoed(wanted, &echo, schema, &unknown))
        }
    };
    if !equal {
        found.push(format!("answered {text}"));
    }
    found
}

fn issue_differences(warnings: &[Issue], errors: &[Issue], expected: &Expectation) -> Vec<String> {
    let mut found = Vec::new();
    let refused = match &expected.outcome {
        Outcome::Errors(refused) => refused.as_slice(),
        _ => &[],
    };
    if listed(errors) != refused {
        let messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
        found.push(format!("refused {:?} ({})", listed(errors), messages.join("; ")));
    }
    let mut warned = listed(warnings);
    warned.sort();
    if expected.warnings.as_ref().is_some_and(|wanted| *wanted != warned) {
        found.push(format!("warned {warned:?}"));
    }
    found
}

/// Writes issues in the form of the table.
fn listed(issues: &[Issue]) -> Vec<String> {
    issues
        .iter()
        .map(|issue| format!("{}@{}", issue.code, issue.path))
        .collect()
}
