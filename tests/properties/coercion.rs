//! Properties of coercion for random schemas and values. `PROPERTIES_LONG=1` tests a hundred thousand of each.

use serde_json::{Value, json};
use tests::dynamic_tool::{self, POLICIES};
use tests::instances;
use tests::long::properties_long;
use tests::random::Random;
use tests::schemas::{self, Kinds};
use tests::values::PROPERTIES;
use tool_runtime::issue::Code;
use tool_runtime::{Policy, RawArguments, ToolCallRequest, ToolRegistry};

/// Number of schemas for each property.
pub(super) const SCHEMAS: usize = 200;
const SCHEMAS_LONG: usize = 20_000;

/// Number of values for each schema.
pub(super) const INSTANCES: usize = 5;

#[test]
fn coercion_is_idempotent() {
    let mut seen = 0;
    each(4, Kinds { unions: true }, |random, schema, tool| {
        let value = instances::object(random, schema);
        for policy in POLICIES {
            let once = tool.read(value.clone(), policy);
            if !once.errors.is_empty() {
                continue;
            }
            seen += usize::from(!once.warnings.is_empty());
            let arguments = Value::Object(once.arguments);
            let twice = tool.read(arguments.clone(), policy);
            let news: Vec<_> = twice.warnings.iter().filter(|it| !is_unknown(it.code)).collect();
            assert!(
                twice.errors.is_empty() && news.is_empty(),
                "{policy:?}: {value} became {arguments}, then {:?} {news:?}\n{schema}",
                twice.errors
            );
            assert_eq!(
                Value::Object(twice.arguments),
                arguments,
                "{policy:?}: {value}\n{schema}"
            );
        }
    });
    assert!(seen > SCHEMAS * INSTANCES / 10, "{seen} values were coerced");
}

#[test]
fn wrapped_arguments_are_unwrapped_or_an_error() {
    let mut seen = 0;
    each(10, Kinds { unions: true }, |random, schema, tool| {
        let value = instances::object(random, schema);
        let names = schema["properties"].as_object().into_iter().flatten();
        let has_declared = names.map(|(name, _)| name).any(|name| value.get(name).is_some());
        let is_closed = schema
            .get("additionalProperties")
            .is_none_or(|additional| *additional == false)
            && [
                "patternProperties",
                "propertyNames",
                "allOf",
                "anyOf",
                "oneOf",
                "$ref",
            ]
            .iter()
            .all(|keyword| schema.get(keyword).is_none());
        if !has_declared || !is_closed {
            return;
        }
        seen += 1;
        for policy in POLICIES {
            let direct = tool.read(value.clone(), policy);
            let wrapped = tool.read(json!({ "arguments": value }), policy);
            let other = tool.read(json!({ "payload": value }), policy);
            assert!(!other.errors.is_empty(), "{policy:?}: {value}\n{schema}");
            for beside in names_that_refuse_null(schema, tool) {
                let sent = json!({ beside: null, "payload": value });
                assert!(
                    !tool.read(sent, policy).errors.is_empty(),
                    "{policy:?}: {value}\n{schema}"
                );
            }
            if policy == Policy::Strict {
                assert!(!wrapped.errors.is_empty(), "{value}\n{schema}");
                continue;
            }
            let (first, rest) = wrapped.warnings.split_first().expect("a warning");
            assert_eq!(first.code, Code::ArgumentsUnwrapped);
            assert_eq!(
                (wrapped.arguments_json, rest, wrapped.errors),
                (direct.arguments_json, direct.warnings.as_slice(), direct.errors),
                "{policy:?}: {value}\n{schema}"
            );
        }
    });
    assert!(seen > SCHEMAS, "{seen} were wrapped");
}

#[test]
fn lenient_accepts_all_lossless_values_with_equal_results() {
    let (mut seen, mut changed) = (0, 0);
    each(8, Kinds { unions: true }, |random, schema, tool| {
        let value = instances::object(random, schema);
        let lossless = tool.read(value.clone(), Policy::Lossless);
        if !lossless.errors.is_empty() {
            return;
        }
        let lenient = tool.read(value.clone(), Policy::Lenient);
        seen += 1;
        changed += usize::from(Value::Object(lossless.arguments) != value);
        assert!(
            lenient.errors.is_empty(),
            "{value}: {:?}\n{schema}",
            lenient.errors
        );
        assert_eq!(
            lenient.arguments_json, lossless.arguments_json,
            "{value}\n{schema}"
        );
        assert_eq!(lenient.warnings, lossless.warnings, "{value}\n{schema}");
    });
    assert!(
        seen > SCHEMAS && changed > SCHEMAS / 20,
        "{seen} accepted, {changed} changed"
    );
}

#[test]
fn stricter_policies_accept_less_with_the_same_result() {
    let mut seen = 0;
    // This holds without unions: if the stricter policy rejects one alternative, the other is no longer ambiguous.
    each(5, Kinds { unions: false }, |random, schema, tool| {
        let value = instances::object(random, schema);
        // `Strict` treats another spelling of a name as unknown, and accepts its value unread.
        if is_respelled(&value) {
            return;
        }
        let [lenient, lossless, strict] = POLICIES.map(|policy| tool.read(value.clone(), policy));
        for (stricter, laxer) in [(strict, &lossless), (lossless.clone(), &lenient)] {
            if stricter.errors.is_empty() {
                seen += 1;
                assert!(laxer.errors.is_empty(), "{value}: {:?}\n{schema}", laxer.errors);
                let (one, other) = (
                    Value::Object(stricter.arguments),
                    Value::Object(laxer.arguments.clone()),
                );
                assert_eq!(plain(&one), plain(&other), "{value}\n{schema}");
            }
        }
    });
    assert!(seen > SCHEMAS * INSTANCES / 10, "{seen} were accepted");
}

#[test]
fn text_and_value_have_the_same_result() {
    each(6, Kinds { unions: true }, |random, schema, tool| {
        let value = instances::object(random, schema);
        // The text of such a number is lost, so `Lossless` rejects it as a string.
        if has_large_float(&value) {
            return;
        }
        for policy in POLICIES {
            let (text, parsed) = (
                tool.read(value.to_string(), policy),
                tool.read(value.clone(), policy),
            );
            assert_eq!(text.arguments, parsed.arguments, "{policy:?}: {value}\n{schema}");
            let written: Value = serde_json::from_str(&text.arguments_json).unwrap();
            assert_eq!(
                written,
                Value::Object(text.arguments),
                "{policy:?}: {value}\n{schema}"
            );
            assert_eq!(text.warnings, parsed.warnings, "{policy:?}: {value}\n{schema}");
            assert_eq!(text.errors, parsed.errors, "{policy:?}: {value}\n{schema}");
        }
    });
}

#[test]
fn number_text_is_preserved() {
    let schema =
        json!({ "type": "object", "properties": { "n": { "type": "number" }, "s": { "type": "string" } } });
    let sent = r#"{"n":1.50,"s":12345678901234567890123,"other":[123456789012345678901234567890,0.10,1e2]}"#;
    let request = Tool::new(&schema).read(sent, Policy::Lenient);
    assert_eq!(
        request.arguments_json,
        r#"{"n":1.50,"s":"12345678901234567890123","other":[123456789012345678901234567890,0.10,1e2]}"#
    );
}

/// Builds a registry with one dynamic tool.
pub(super) struct Tool(ToolRegistry);

impl Tool {
    fn new(schema: &Value) -> Self {
        Self(dynamic_tool::registry(schema))
    }

    pub(super) fn read<'a>(&self, input: impl Into<RawArguments<'a>>, policy: Policy) -> ToolCallRequest {
        dynamic_tool::prepare(&self.0, input, policy)
    }
}

pub(super) fn each(seed: u64, kinds: Kinds, mut check: impl FnMut(&mut Random, &Value, &Tool)) {
    let mut random = Random::new(seed);
    for _ in 0..if properties_long() { SCHEMAS_LONG } else { SCHEMAS } {
        let mut schema = schemas::tool(&mut random, kinds);
        if random.one_in(3) {
            schemas::add_assertions(&mut random, &mut schema);
        }
        let tool = Tool::new(&schema);
        for _ in 0..INSTANCES {
            check(&mut random, &schema, &tool);
        }
    }
}

/// Returns whether a code is about undeclared names, which always cause a warning.
pub(super) fn is_unknown(code: Code) -> bool {
    matches!(code, Code::UnknownParameter | Code::UnknownProperty)
}

/// Returns whether the value contains a float that may have lost digits.
fn has_large_float(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(has_large_float),
        Value::Array(items) => items.iter().any(has_large_float),
        Value::Number(number) => {
            number.is_f64() && number.as_f64().is_some_and(|it| it.abs() >= TWO_TO_THE_53)
        }
        _ => false,
    }
}

const TWO_TO_THE_53: f64 = 9_007_199_254_740_992.0;

fn is_respelled(value: &Value) -> bool {
    let folded = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            let spelled = |name: &&str| folded(name) == folded(key) && *name != key;
            PROPERTIES.iter().any(spelled) || is_respelled(value)
        }),
        Value::Array(items) => items.iter().any(is_respelled),
        _ => false,
    }
}

/// Converts integral floats to integers, since `Strict` keeps the valid `3.0`.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Number(number) => number.as_f64().into(),
        other => other.clone(),
    }
}

/// Returns the declared names that do not accept `null`.
fn names_that_refuse_null<'s>(schema: &'s Value, tool: &Tool) -> Vec<&'s String> {
    let names = schema["properties"].as_object().into_iter().flatten();
    let refuses = |name: &&String| {
        let path = format!("/{name}");
        let errors = tool.read(json!({ *name: null }), Policy::Strict).errors;
        errors
            .iter()
            .any(|error| error.code == Code::NullNotAllowed && error.path == path)
    };
    names.map(|(name, _)| name).filter(refuses).collect()
}
