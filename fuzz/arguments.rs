//! Properties of the arguments of every call: for an annotated function, and for a tool with a JSON schema.

use std::time::{Duration, Instant};

use tool_runtime::issue::Code;
use tool_runtime::serde::de::IgnoredAny;
use tool_runtime::serde_json::{self, Value};
use tool_runtime::{Issue, Policy, RawArguments, ToolCall, ToolCallRequest, ToolOutcome, ToolRegistry};

use super::everything;
use super::support::dynamic_tool::{POLICIES, try_registry};
use super::support::instances;
use super::support::random::Random;
use super::support::runtime::block_on;
use super::support::schemas::{self, Kinds};

/// Time limit, far above the time of any input of these sizes. Work that is not linear exceeds the limit.
const LONGEST: Duration = Duration::from_secs(5);

thread_local! {
    static TYPED: ToolRegistry = everything::typed();
    static DYNAMIC: ToolRegistry = everything::dynamic();
}

/// Checks a text as arguments of a tool with every kind of parameter. The first byte selects the policy.
pub fn typed(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else {
        return;
    };
    let text = &*String::from_utf8_lossy(text);
    let policy = POLICIES[usize::from(*choice) % 3];
    TYPED.with(|typed| {
        let request = read(typed, "everything", text.into(), policy);
        let outcome = assert_equal_issues(typed, &request, text.into(), policy);
        if !request.errors.is_empty() {
            return;
        }
        let value = outcome.result.text();
        let by_tree = call(
            typed,
            "everything",
            RawArguments::Bytes(text.as_bytes().into()),
            policy,
        );
        assert_eq!(by_tree.result.text(), value, "by way of a tree");
        assert_eq!(by_tree.warnings, outcome.warnings, "by way of a tree");
        for again in [
            request.arguments_json.as_str().into(),
            Value::Object(request.arguments.clone()).into(),
        ] {
            let again = call(typed, "everything", again, policy);
            assert_eq!(again.result.text(), value, "what was coerced, read again");
            assert!(
                again.warnings.iter().all(is_unknown),
                "again: {:?}",
                again.warnings
            );
        }
    });
    let of_type = TYPED.with(|typed| read(typed, "everything", text.into(), policy));
    let of_schema = DYNAMIC.with(|dynamic| read(dynamic, "everything", text.into(), policy));
    if [&of_type, &of_schema].into_iter().all(is_by_the_schema) {
        assert_eq!(
            of_type.arguments_json, of_schema.arguments_json,
            "typed and dynamic"
        );
        assert_eq!(of_type.warnings, of_schema.warnings, "typed and dynamic");
        assert_eq!(of_type.errors, of_schema.errors, "typed and dynamic");
    }
}

/// Returns whether only the shown schema determined the result: the schema has no defaults, no strictness, no range of `i64`, and no enum
/// of which serde accepts only one key.
fn is_by_the_schema(request: &ToolCallRequest) -> bool {
    let by_marks = |issue: &Issue| {
        matches!(
            issue.code,
            Code::NullTreatedAsMissing | Code::NullNotAllowed | Code::IntegerOutOfRange
        ) || issue.path.starts_with("/pair")
            || issue.code == Code::AmbiguousValue && issue.path == "/event"
    };
    let is_wide = request.arguments.values().any(has_wide_number);
    !is_wide && !request.warnings.iter().chain(&request.errors).any(by_marks)
}

fn has_wide_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_none_or(|float| float.abs() > 9.2e18),
        Value::Array(items) => items.iter().any(has_wide_number),
        Value::Object(members) => members.values().any(has_wide_number),
        _ => false,
    }
}

/// Checks a schema and arguments that the bytes generate.
pub fn dynamic(input: &[u8]) {
    let mut random = Random::of(input);
    let kinds = Kinds {
        unions: random.one_in(2),
    };
    let mut schema = schemas::tool(&mut random, kinds);
    if random.one_in(4) {
        schema = schemas::in_draft_07(&schema);
    }
    let registry = try_registry(&schema).unwrap_or_else(|refused| panic!("{refused}: {schema}"));
    let fitting = instances::fitting(&mut random, &schema, &schema, 6);
    for value in [instances::loosened(&mut random, &fitting), fitting] {
        let text = value.to_string();
        let read = POLICIES.map(|policy| held(&registry, &text, policy));
        for (policy, read) in POLICIES.into_iter().zip(&read) {
            let from_value = self::read(&registry, "tool", value.clone().into(), policy);
            assert_eq!(
                from_value.arguments, read.arguments,
                "{policy:?}: {text} as a value\n{schema}"
            );
            assert_eq!(
                from_value.warnings, read.warnings,
                "{policy:?}: {text} as a value\n{schema}"
            );
            assert_eq!(
                from_value.errors, read.errors,
                "{policy:?}: {text} as a value\n{schema}"
            );
        }
        let [lenient, lossless, _] = read;
        if !kinds.unions && lossless.errors.is_empty() {
            assert!(
                lenient.errors.is_empty(),
                "{text}: {:?}\n{schema}",
                lenient.errors
            );
            assert_eq!(lossless.arguments, lenient.arguments, "{text}\n{schema}");
        }
    }
}

/// Checks any JSON as a schema, and any text as arguments, separated by a NUL.
pub fn schemas(input: &[u8]) {
    let (schema, text) = halves(input);
    let Ok(schema) = serde_json::from_str::<Value>(&schema) else {
        return;
    };
    match try_registry(&schema) {
        Err(refused) => assert!(!refused.is_empty() && !refused.contains('\n'), "{refused:?}"),
        Ok(registry) => {
            for policy in POLICIES {
                for text in [&*text, "{}"] {
                    held(&registry, text, policy);
                }
            }
        }
    }
}

/// Splits the input at the first NUL.
fn halves(input: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(input);
    match text.split_once('\0') {
        Some((one, other)) => (one.to_owned(), other.to_owned()),
        None => (text.into_owned(), String::new()),
    }
}

/// Checks that all readings of a text agree, and that the result is stable.
fn held(registry: &ToolRegistry, text: &str, policy: Policy) -> ToolCallRequest {
    let once = read(registry, "tool", text.into(), policy);
    assert_equal_issues(registry, &once, text.into(), policy);
    let json = &once.arguments_json;
    // Rejected values keep their text, also a number that exceeds all Rust types.
    assert!(
        serde_json::from_str::<IgnoredAny>(json).is_ok(),
        "no JSON: {json}"
    );
    if once.errors.is_empty() {
        assert!(serde_json::from_str::<Value>(json).is_ok(), "too large: {json}");
        let twice = read(registry, "tool", json.as_str().into(), policy);
        assert_eq!(twice.arguments_json, *json, "{policy:?}: {text}, twice");
        assert!(
            twice.errors.is_empty(),
            "{policy:?}: {text}, twice: {:?}",
            twice.errors
        );
        assert!(
            twice.warnings.iter().all(is_unknown),
            "{policy:?}: {text}, twice: {:?}",
            twice.warnings
        );
    }
    once
}

/// A pause of the machine does not occur three times in a row.
fn in_time(call: &ToolCall, read: impl Fn(ToolCall) -> ToolCallRequest) -> ToolCallRequest {
    let mut slowest = Duration::ZERO;
    for _ in 0..3 {
        let call = call.clone();
        let began = Instant::now();
        let request = read(call);
        let took = began.elapsed();
        if took < LONGEST {
            return request;
        }
        slowest = slowest.max(took);
    }
    panic!("three times too slow, up to {slowest:?}")
}

fn read(registry: &ToolRegistry, name: &str, input: RawArguments<'_>, policy: Policy) -> ToolCallRequest {
    let call = ToolCall::new("id", name, input).with_policy(policy);
    let request = in_time(&call, |call| registry.prepare(call));
    for issue in request.warnings.iter().chain(&request.errors) {
        let shown = issue.to_string();
        assert!(!shown.contains(char::is_control), "more than a line: {shown:?}");
        assert!(
            issue.path.is_empty() || issue.path.starts_with('/'),
            "no pointer: {shown}"
        );
    }
    request
}

fn call(registry: &ToolRegistry, name: &str, input: RawArguments<'_>, policy: Policy) -> ToolOutcome {
    let call = ToolCall::new("id", name, input).with_policy(policy);
    block_on(registry.call(call))
}

/// Checks that a call reports the issues of its preview, and fails if one of them is an error.
fn assert_equal_issues(
    registry: &ToolRegistry,
    request: &ToolCallRequest,
    input: RawArguments<'_>,
    policy: Policy,
) -> ToolOutcome {
    let outcome = call(registry, &request.name, input, policy);
    assert_eq!(outcome.warnings, request.warnings, "{:?}", request.raw_arguments);
    assert_eq!(outcome.errors, request.errors, "{:?}", request.raw_arguments);
    assert_eq!(
        outcome.result.is_error,
        !request.errors.is_empty(),
        "{:?}",
        outcome.result
    );
    outcome
}

/// Returns whether the issue is about an undeclared parameter, which is reported every time.
fn is_unknown(issue: &Issue) -> bool {
    matches!(issue.code, Code::UnknownParameter | Code::UnknownProperty)
}
