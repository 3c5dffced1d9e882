//! Malformed arguments: every call has a clear and fast answer, with its id.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tests::clock::Clock;
use tests::long::properties_long;
use tool_runtime::result::Failure;
use tool_runtime::{RawArguments, ToolCall, ToolDefinition, ToolOutcome, ToolRegistry, tool};

/// Limit of linear processor time in a debug build. Quadratic time would be hours.
const QUICK: Duration = Duration::from_secs(15);

const ID: &str = "toolu_01";

/// A linked list, which is recursive to any depth.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Link {
    /// The next one.
    next: Option<Box<Link>>,
}

/// Measures what it was given.
#[tool]
async fn typed(
    /// A number.
    n: Option<i64>,
    /// A text.
    s: Option<String>,
    /// List of numbers.
    list: Option<Vec<i64>>,
    /// A chain.
    chain: Option<Link>,
    /// Any value.
    any: Option<Value>,
) -> String {
    let lengths = [s.map_or(0, |s| s.len()), list.map_or(0, |list| list.len())];
    format!("{n:?} {lengths:?} {} {}", chain.is_some(), any.is_some())
}

fn registry() -> ToolRegistry {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer" },
            "s": { "type": "string" },
            "f": { "type": "number" },
            "list": { "type": "array", "items": { "type": "integer" } },
            "chain": { "$ref": "#/$defs/Link" },
            "any": {},
        },
        "$defs": { "Link": { "type": "object", "properties": { "next": { "$ref": "#/$defs/Link" } } } },
    });
    let mut registry = ToolRegistry::new();
    registry
        .register::<typed>()
        .expect("the tool is sound")
        .register_dynamic(
            ToolDefinition::new("dynamic", "Counts its arguments.", schema),
            async |arguments: Value, _| json!(arguments.as_object().map_or(0, Map::len)),
        )
        .expect("the tool is sound");
    registry
}

/// Calls the typed and the dynamic tool, and checks the required parts of every answer.
fn call_both<'a>(input: &(impl Into<RawArguments<'a>> + Clone)) -> [ToolOutcome; 2] {
    let registry = registry();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    ["typed", "dynamic"].map(|name| {
        let arrived = Clock::start();
        let outcome = runtime.block_on(registry.call(ToolCall::new(ID, name, input.clone())));
        assert!(arrived.worked() < QUICK, "{name} took {:?}", arrived.worked());
        assert_eq!(outcome.result.tool_use_id, ID);
        assert_eq!(outcome.result.is_error, outcome.failure.is_some());
        let text = outcome.result.text().unwrap_or_default();
        assert!(text.len() < 10_000, "an answer of {} bytes to {name}", text.len());
        outcome
    })
}

/// Checks that both tools reject the arguments with this code at this path, also in the text for the model.
fn refused<'a>(input: &(impl Into<RawArguments<'a>> + Clone), issue: &str) {
    for outcome in call_both(input) {
        let errors: Vec<_> = outcome
            .errors
            .iter()
            .map(|it| format!("{}@{}", it.code, it.path))
            .collect();
        assert_eq!(errors, [issue], "{:?}", outcome.result);
        assert!(outcome.result.is_error);
        let text = outcome.result.text().unwrap_or_default();
        let code = issue.split('@').next().unwrap_or_default();
        assert!(text.contains(code), "{text}");
    }
}

/// Checks that both tools accept the arguments with these warnings.
fn taken<'a>(input: &(impl Into<RawArguments<'a>> + Clone), warnings: &[&str]) {
    for outcome in call_both(input) {
        assert!(!outcome.result.is_error, "{:?}", outcome.result);
        let listed: Vec<_> = outcome
            .warnings
            .iter()
            .map(|it| format!("{}@{}", it.code, it.path))
            .collect();
        assert_eq!(listed, warnings);
    }
}

/// Runs on a stack of 2 MiB, the size of tokio's workers.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn empty_text_and_null_mean_no_arguments() {
    taken(&"", &["empty_arguments@"]);
    taken(&" \n", &["empty_arguments@"]);
    taken(&"null", &["empty_arguments@"]);
    taken(&Value::Null, &["empty_arguments@"]);
    taken(&Vec::<u8>::new(), &["empty_arguments@"]);
}

#[test]
fn rejects_arguments_that_are_not_an_object() {
    for text in ["[]", "5", "true", "\"text\"", "[{\"n\": 1}]"] {
        refused(&text, "arguments_not_object@");
        refused(
            &serde_json::from_str::<Value>(text).expect("JSON"),
            "arguments_not_object@",
        );
    }
}

#[test]
fn rejects_text_that_is_not_json() {
    for text in [
        "certainly! here are the arguments",
        "{\"n\": 1",
        "{\"n\": }",
        "\u{0}",
        "{\"n\": 1}]",
    ] {
        refused(&text, "json_parse_error@");
    }
}

#[test]
fn accepts_ten_megabytes() {
    let text = "x".repeat(10 << 20);
    taken(&json!({ "s": text }).to_string(), &[]);
    taken(&json!({ "s": text }), &[]);
    refused(&text, "json_parse_error@");
    refused(
        &json!({ "n": text }).to_string(),
        "unsupported_integer_literal@/n",
    );
    taken(&format!("{{\"list\": [{}1]}}", "123456789,".repeat(1 << 16)), &[]);
    // A list in a string is read completely by the slow path.
    let list = format!("[{}1]", "123456789,".repeat(1 << 14));
    taken(
        &json!({ "list": list }).to_string(),
        &["json_string_decoded@/list"],
    );
}

#[test]
fn ten_megabytes_of_errors_have_a_short_answer() {
    for outcome in call_both(&format!(
        "{{\"list\": [{}true]}}",
        "\"not a number\",".repeat(1 << 17)
    )) {
        assert!(outcome.result.is_error);
        assert_eq!(outcome.errors.len(), (1 << 17) + 1);
        let text = outcome.result.text().unwrap_or_default();
        assert!(text.contains("/list/0") && text.contains("more"), "{text}");
    }
}

#[test]
fn rejects_deep_text() {
    on_a_small_stack(|| {
        for depth in [10_000, 1_000_000] {
            for (key, open, close) in [
                ("any", "[", "]"),
                ("chain", "{\"next\":", "}"),
                ("other", "[", "]"),
                ("s", "[", "]"),
            ] {
                let text = format!("{{\"{key}\": {}null{}}}", open.repeat(depth), close.repeat(depth));
                too_deep(&text);
                // Also as a string in place of an object.
                if key == "chain" {
                    let inner = format!("{}null{}", open.repeat(depth), close.repeat(depth));
                    for outcome in call_both(&json!({ "chain": inner }).to_string()) {
                        assert!(outcome.result.is_error);
                    }
                }
            }
        }
        too_deep(&"[".repeat(10_000));
    });
}

/// Text in Python's notation is repaired before its depth is known.
#[test]
fn rejects_deep_python_text() {
    on_a_small_stack(|| {
        let deepest = if properties_long() { 1_000_000 } else { 100_000 };
        for depth in [130, 1_022, 1_023, 1_024, 1_025, 10_000, deepest] {
            for (open, close) in [("[", "]"), ("{'next': ", "}"), ("(", ",)")] {
                let value = format!("{}None{}", open.repeat(depth), close.repeat(depth));
                let whole = format!("{{'any': {value}}}");
                for outcome in call_both(&whole) {
                    let codes: Vec<_> = outcome.errors.iter().map(|it| it.code.as_str()).collect();
                    assert_eq!(codes, ["too_deep"], "{open} {depth}");
                }
                if open.starts_with('{') {
                    for outcome in call_both(&json!({ "chain": value }).to_string()) {
                        let codes: Vec<_> = outcome.errors.iter().map(|it| it.code.as_str()).collect();
                        assert_eq!(codes, ["too_deep"], "{open} {depth}, in a string");
                    }
                }
            }
        }
    });
}

/// Checks that the depth is an error. If the text is also cut off, either error is correct.
fn too_deep<'a>(input: &(impl Into<RawArguments<'a>> + Clone)) {
    for outcome in call_both(input) {
        assert!(outcome.result.is_error);
        let [error] = outcome.errors.as_slice() else {
            panic!("{:?}", outcome.errors);
        };
        assert!(
            matches!(error.code.as_str(), "too_deep" | "json_parse_error"),
            "{error}"
        );
    }
}

#[test]
fn rejects_and_drops_deep_values() {
    on_a_small_stack(|| {
        for depth in [10_000, 100_000] {
            for key in ["any", "chain", "other"] {
                let registry = registry();
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .build()
                    .expect("a runtime");
                for name in ["typed", "dynamic"] {
                    for chain in [false, true] {
                        let input = held(key, nested(depth, chain));
                        let outcome = runtime.block_on(registry.call(ToolCall::new(ID, name, input)));
                        assert_eq!(outcome.result.tool_use_id, ID);
                        let codes: Vec<_> = outcome.errors.iter().map(|it| it.code.as_str()).collect();
                        assert_eq!(codes, ["too_deep"], "{name} {key} {depth}");
                    }
                }
            }
        }
    });
}

#[test]
fn drops_deep_values_for_unknown_tools() {
    on_a_small_stack(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let call = ToolCall::new(ID, "nobody", held("any", nested(100_000, true)));
        let outcome = runtime.block_on(registry().call(call));
        assert_eq!(outcome.failure, Some(Failure::NotFound));
        // This call is never made.
        drop(ToolCall::new(ID, "typed", nested(100_000, false)));
    });
}

/// Builds `[[[…]]]` or `{"next": {"next": …}}`.
fn nested(depth: usize, chain: bool) -> Value {
    let mut value = Value::Null;
    for _ in 0..depth {
        value = if chain {
            held("next", value)
        } else {
            Value::Array(vec![value])
        };
    }
    value
}

/// Moves the value, since `json!` would serialize it recursively.
fn held(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

#[test]
fn last_of_duplicate_keys_is_used() {
    taken(&r#"{"n": 1, "n": 2}"#, &["duplicate_key@/n"]);
    let [typed, _] = call_both(&r#"{"n": 1, "s": "a", "n": 2}"#);
    assert_eq!(typed.result.text(), Some("Some(2) [1, 0] false false"));
}

#[test]
fn rejects_bytes_that_are_not_utf8() {
    refused(&b"{\"s\": \"\xff\xfe\"}".to_vec(), "json_parse_error@");
    refused(&b"\xc3\x28".to_vec(), "json_parse_error@");
    taken(&b"{\"s\": \"\xc3\xa9\"}".to_vec(), &[]);
}

#[test]
fn rejects_lone_surrogates() {
    for (text, place) in [
        (r#"{"s": "\ud800"}"#, "/s"),
        (r#"{"s": "\udc00\ud800"}"#, "/s"),
        (r#"{"\ud800": 1}"#, ""),
        (r#"{"list": [1, "\ud83d!"]}"#, "/list/1"),
    ] {
        refused(&text, &format!("json_parse_error@{place}"));
    }
    taken(&r#"{"s": "\ud83d\ude00"}"#, &[]);
}

#[test]
fn numbers_of_400_digits_are_checked_by_the_expected_type() {
    let digits = "9".repeat(400);
    refused(&format!("{{\"n\": {digits}}}"), "integer_out_of_range@/n");
    refused(&format!("{{\"n\": \"{digits}\"}}"), "integer_out_of_range@/n");
    refused(
        &format!("{{\"list\": [1, {digits}]}}"),
        "integer_out_of_range@/list/1",
    );
    refused(
        &format!("{{\"any\": {digits}}}"),
        "unsupported_number_literal@/any",
    );
    taken(
        &format!("{{\"n\": {digits}.5, \"n\": 0.{digits}}}"),
        &["duplicate_key@/n", "fractional_number_truncated_to_integer@/n"],
    );
    let [typed, _] = call_both(&format!("{{\"s\": {digits}}}"));
    assert_eq!(typed.result.text(), Some("None [400, 0] false false"));
    assert_eq!(typed.warnings.len(), 1, "{:?}", typed.warnings);
}
