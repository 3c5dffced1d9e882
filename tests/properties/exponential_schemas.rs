//! Schemas with exponential expansions, and matching arguments: a clear answer with little time, stack and memory.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tests::clock::Clock;
use tests::dynamic_tool::{prepare, try_registry};
use tests::long::properties_long;
use tool_runtime::{Issue, Policy, ToolRegistry};

/// Limit of linear time in a debug build. Measured as processor time, since the machine may be busy.
const QUICK: Duration = Duration::from_secs(15);

/// Returns the errors and warnings about the only argument `x`.
fn issues(schema: &Value, definitions: &Value, text: &str) -> (Vec<Issue>, Vec<Issue>) {
    let registry = registered(schema, definitions).expect("the tool is sound");
    let started = Clock::start();
    let request = prepare(&registry, text, Policy::Lenient);
    assert!(started.worked() < QUICK, "{:?}", started.worked());
    (request.errors, request.warnings)
}

/// Builds a registry with a tool whose only argument is `x`.
fn registered(schema: &Value, definitions: &Value) -> Result<ToolRegistry, String> {
    let schema = json!({ "type": "object", "properties": { "x": schema }, "$defs": definitions });
    let started = Clock::start();
    let registered = try_registry(&schema);
    assert!(started.worked() < QUICK, "{:?}", started.worked());
    registered
}

fn list(item: &str, times: usize) -> String {
    format!("{{\"x\":[{}{item}]}}", format!("{item},").repeat(times - 1))
}

fn name(level: usize) -> String {
    format!("Level{level}")
}

fn reference(level: usize) -> Value {
    json!({ "$ref": format!("#/$defs/{}", name(level)) })
}

/// Builds definitions that each refer to the next one, and the last definition.
fn levels(count: usize, each: impl Fn(Value) -> Value, last: Value) -> Value {
    let between = (0..count).map(|level| (name(level), each(reference(level + 1))));
    Value::Object(between.chain([(name(count), last)]).collect::<Map<_, _>>())
}

#[test]
fn a_hundred_thousand_errors_take_linear_time() {
    let integer_or_object = json!({ "anyOf": [{ "type": "integer" }, { "type": "object" }] });
    let (errors, _) = issues(
        &json!({ "items": integer_or_object }),
        &json!({}),
        &list("\"a\"", 100_000),
    );
    assert_eq!(errors.len(), 200_000);

    let both =
        json!({ "allOf": [{ "type": "string", "pattern": "1" }, { "type": "string", "pattern": "2" }] });
    let (errors, warnings) = issues(&json!({ "items": both }), &json!({}), &list("12", 100_000));
    assert_eq!((errors.len(), warnings.len()), (0, 100_000));
}

#[test]
fn errors_with_long_paths_are_bounded() {
    let key = "k".repeat(500_000);
    let text = format!("{{\"x\":{{\"{key}\":[{}1]}}}}", "1e400,".repeat(100_000));
    let (errors, warnings) = issues(&json!({ "type": "object" }), &json!({}), &text);
    let size: usize = errors.iter().map(|error| error.path.len()).sum();
    assert!(!errors.is_empty() && size < 32 << 20, "{size} bytes");
    assert!(warnings.is_empty());
    // Evicted findings make room for the remaining one.
    let text = format!("{{\"x\":{{\"{key}\":[{}1],\"z\":1}}}}", "\"a\",".repeat(100));
    let lists = json!({ "type": "object", "additionalProperties": {
        "type": "array", "items": { "type": "array", "items": { "type": "integer" } },
    } });
    let (errors, _) = issues(&lists, &json!({}), &text);
    let codes: Vec<_> = errors.iter().map(|error| error.code.as_str()).collect();
    assert_eq!(codes, ["ambiguous_list", "unsupported_array_literal"]);
}

#[test]
fn doubling_schemas_are_rejected_or_shared() {
    let twice = levels(
        24,
        |next| json!({ "allOf": [next.clone(), next] }),
        json!({ "type": "string" }),
    );
    let refused = registered(&reference(0), &twice).expect_err("2^24 schemas");
    assert!(refused.contains("make it smaller"), "{refused}");

    let ten = |next: Value| json!({ "anyOf": vec![next; 10] });
    let object = json!({ "type": "object", "properties": { "a": {} } });
    let parts = json!({ "allOf": [{ "pattern": "a" }, { "pattern": "b" }, reference(0)] });
    registered(&parts, &levels(14, ten, object)).expect("the tool is sound");
}

/// Builds schemas in which two parts describe a property, and again two parts the property in it, and so on.
#[test]
fn schemas_that_extend_each_other_compile() {
    let both = |one: &str, other: &str| json!({ "allOf": [{ "$ref": one }, { "$ref": other }] });
    let (left, right) = ("#/$defs/Left", "#/$defs/Right");
    let definitions = json!({
        "Left": { "type": "object", "properties": { "a": both(left, right), "n": { "minimum": 1 } } },
        "Right": { "type": "object", "properties": { "a": both(right, left), "n": { "maximum": 2 } } },
    });
    let text = r#"{"x":{"a":{"a":{"n":1,"a":{"n":3}}},"n":0}}"#;
    let (errors, _) = issues(&both(left, right), &definitions, text);
    let places: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(places, ["/x/a/a/a/n", "/x/n"]);
}

#[test]
fn unions_on_every_level_do_not_overflow_the_stack() {
    for keyword in ["anyOf", "oneOf"] {
        let union = |next: Value| json!({ keyword: [next, { "type": "boolean" }] });
        let object = json!({ "type": "object", "properties": { "a": reference(0) }, "required": ["a"] });
        let definitions = levels(14, union, object);
        let small = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
            for depth in [3, 120] {
                // Every second level of `oneOf` reaches `true` in two ways.
                let is_any = keyword == "anyOf";
                for (leaf, fits) in [("true", is_any), ("1", is_any), ("\"x\"", false)] {
                    let text = format!("{{\"x\":{}{leaf}{}}}", "{\"a\":".repeat(depth), "}".repeat(depth));
                    let (errors, _) = issues(&reference(0), &definitions, &text);
                    if depth > 100 {
                        assert_eq!(errors.last().map(|error| error.code.as_str()), Some("too_deep"));
                    } else {
                        assert_eq!(errors.is_empty(), fits, "{leaf}: {errors:?}");
                    }
                }
            }
        });
        small.expect("a thread").join().expect("room on the stack");
    }
}

#[test]
fn accepts_a_million_valid_values() {
    // Without a budget for each value, a million values need too many trials; a build without optimization takes four seconds for them.
    let count = if properties_long() { 1_100_000 } else { 200_000 };
    let union =
        json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "minLength": 1 }] });
    let (errors, warnings) = issues(&json!({ "items": union }), &json!({}), &list("\"1\"", count));
    assert_eq!((errors.len(), warnings.len()), (0, 0));
}

/// Each alternative that tries a string decodes the string again, as do the alternatives inside for the inner string. Decoded strings are
/// not cached, so 32 alternatives on four levels would need far too many trials.
#[test]
fn multiplying_trials_are_abandoned() {
    let form = |index: usize| {
        let flag = format!("flag_{index}");
        json!({
            "type": "object",
            "properties": { "next": { "$ref": "#/$defs/Any" }, &flag: { "type": "boolean" } },
            "required": ["next", flag],
        })
    };
    let forms: Vec<Value> = (0..32).map(form).collect();
    let sent = (0..4).fold(json!({}), |inner, _| json!({ "next": inner.to_string() }));
    let (errors, _) = issues(
        &json!({ "$ref": "#/$defs/Any" }),
        &json!({ "Any": { "anyOf": forms } }),
        &format!("{{\"x\":{sent}}}"),
    );
    let first = errors
        .first()
        .map(|error| (error.code.as_str(), error.path.as_str()));
    assert_eq!(first, Some(("no_alternative_fits", "/x")));
}
