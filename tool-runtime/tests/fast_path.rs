//! Arguments that conform to the schema skip coercion: their values are equal with and without the fast path.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tool_runtime::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tool_runtime::serde::{Deserialize, Deserializer};
use tool_runtime::{RawArguments, ToolCall, ToolOutcome, ToolRegistry, tool};

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(future)
}

/// Answers with raw JSON.
#[tool]
async fn raw(
    /// Any value.
    any: Raw,
) -> String {
    any.0.get().to_owned()
}

#[derive(Deserialize)]
#[serde(crate = "tool_runtime::serde")]
struct Raw(Box<serde_json::value::RawValue>);

impl JsonSchema for Raw {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Raw".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

#[test]
fn raw_values_are_validated() {
    let mut registry = ToolRegistry::new();
    registry.register::<raw>().unwrap();
    let read = |any: &str| wait(registry.call(ToolCall::new("id", "raw", format!(r#"{{"any":{any}}}"#))));
    assert_eq!(read(r#"{"a": 1.50}"#).result.text(), Some(r#"{"a": 1.50}"#));
    assert_eq!(codes(&read(r#"{"a":1,"a":2}"#)), ["duplicate_key /any/a"]);
    assert_eq!(codes(&read("5")), ["!unsupported_object_literal /any"]);
    assert_eq!(
        codes(&read(r#"{"a":1e400}"#)),
        ["!unsupported_number_literal /any/a"]
    );
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(500), "]".repeat(500));
    assert_eq!(codes(&read(&deep)), ["!too_deep "]);
}

/// A registry of one tool, and the same without the fast path.
fn both<T: tool_runtime::Tool>() -> [ToolRegistry; 2] {
    let mut registry = ToolRegistry::new();
    registry.register::<T>().unwrap();
    [registry.clone(), registry.without_fast_path()]
}

fn codes(outcome: &ToolOutcome) -> Vec<String> {
    let errors = outcome
        .errors
        .iter()
        .map(|issue| format!("!{} {}", issue.code, issue.path));
    let warnings = outcome
        .warnings
        .iter()
        .map(|issue| format!("{} {}", issue.code, issue.path));
    errors.chain(warnings).collect()
}

/// Answers with its arguments, numbers to the last bit.
#[tool]
async fn digits(
    /// A float.
    long: Option<f64>,
    /// A short float.
    short: Option<f32>,
    /// Any value.
    any: Option<Value>,
) -> String {
    format!("{long:?} {short:?} {any:?}")
}

#[test]
fn numbers_are_exact_at_every_position() {
    let registries = both::<digits>();
    let read = |registry: &ToolRegistry, text: &str| {
        wait(registry.call(ToolCall::new("id", "digits", text)))
            .result
            .text()
            .unwrap()
            .to_owned()
    };
    for (sent, long, short) in [
        (
            "-29.4884363315860972843904911894403272553001",
            "-29.488436331586097",
            "-29.488436",
        ),
        ("47280284444097675e-139", "4.7280284444097676e-123", "0.0"),
        (
            "22927013312786394.240069902397",
            "2.2927013312786396e16",
            "2.2927014e16",
        ),
        ("1152921573326323713", "1.1529215733263237e18", "1.1529216e18"),
        ("-0", "-0.0", "-0.0"),
    ] {
        for registry in &registries {
            let wanted = format!("Some({long}) Some({short}) None");
            assert_eq!(
                read(registry, &format!(r#"{{"long":{sent},"short":{sent}}}"#)),
                wanted,
                "{sent}"
            );
        }
    }
    for sent in [
        "-29.4884363315860972843904911894403272553001",
        "-0",
        "[1e15,0.30000000000000004]",
    ] {
        let [fast, slow] = registries
            .each_ref()
            .map(|registry| read(registry, &format!(r#"{{"any":{sent}}}"#)));
        assert_eq!(fast, slow);
    }
}

/// Waits.
#[tool]
async fn pause(
    /// Duration.
    time: std::time::Duration,
) -> String {
    format!("{time:?}")
}

#[test]
fn undeclared_properties_are_hidden_from_types() {
    let mut registry = ToolRegistry::new();
    registry.register::<pause>().unwrap();
    let sent = r#"{"time":{"secs":1,"nanos":0,"unit":"s"}}"#;
    let request = registry.prepare(ToolCall::new("id", "pause", sent));
    assert_eq!(
        Value::Object(request.arguments),
        serde_json::from_str::<Value>(sent).unwrap()
    );
    let outcome = wait(registry.call(ToolCall::new("id", "pause", sent)));
    assert_eq!(outcome.result.text(), Some("1s"));
    assert_eq!(codes(&outcome), ["unknown_property /time/unit"]);
}

/// The name of the `Deserializer` that it is read from.
struct ReadFrom(&'static str);

impl<'de> Deserialize<'de> for ReadFrom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bool::deserialize(deserializer).map(|_| Self(std::any::type_name::<D>()))
    }
}

impl JsonSchema for ReadFrom {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ReadFrom".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        bool::json_schema(generator)
    }
}

/// Answer with the deserializer of the first item.
#[tool]
async fn read_from(
    /// Any value.
    them: Vec<ReadFrom>,
) -> &'static str {
    them.first().map_or("nothing", |one| one.0)
}

#[test]
fn only_exact_arguments_take_the_fast_path() {
    let [registry, without] = both::<read_from>();
    for (input, is_exact) in [
        (RawArguments::from(r#"{"them": [true]}"#), true),
        (r#"{"them": ["true"]}"#.into(), false),
        (r#"{"them": [true], "more": 1}"#.into(), false),
        (json!({ "them": [true] }).into(), true),
        (json!({ "them": ["true"] }).into(), false),
    ] {
        let deserializer = |registry: &ToolRegistry| {
            let result = wait(registry.execute_tool("1", "read_from", &input));
            assert!(!result.is_error, "{result:?}");
            result.text().unwrap().to_owned()
        };
        assert_eq!(
            deserializer(&registry) != deserializer(&without),
            is_exact,
            "{input:?}"
        );
    }
}

/// Returns nothing for input that its type refuses, so that no caller sees the error.
struct OrNothing<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrNothing<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).ok()))
    }
}

impl<T: JsonSchema> JsonSchema for OrNothing<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OrNothing".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "lowercase")]
#[schemars(crate = "tool_runtime::schemars")]
#[allow(dead_code, reason = "only shown")]
enum Kind {
    Large,
    Of(u8),
}

/// Returns the parsed values.
#[tool]
async fn lenient(
    /// A kind.
    kind: Option<OrNothing<Kind>>,
    /// Several.
    kinds: Option<OrNothing<Vec<Kind>>>,
    /// A float.
    float: Option<OrNothing<f32>>,
    /// An integer.
    integer: Option<OrNothing<u8>>,
) -> String {
    let kind = kind.and_then(|it| it.0);
    let kinds = kinds.and_then(|it| it.0);
    let float = float.and_then(|it| it.0);
    let integer = integer.and_then(|it| it.0);
    format!("{kind:?} {kinds:?} {float:?} {integer:?}")
}

#[test]
fn ignored_errors_give_the_same_result_without_the_fast_path() {
    let [registry, without] = both::<lenient>();
    let read = |registry: &ToolRegistry, input: RawArguments<'_>| {
        wait(registry.execute_tool("id", "lenient", input))
            .text()
            .map(str::to_owned)
    };
    for sent in [
        r#""kind":"large""#,
        r#""kind":"l\u0061rge""#,
        r#""kind":"l\u0061rge!""#,
        r#""kind":{"of":3}"#,
        r#""kind":{"of":300}"#,
        r#""kinds":["large","l\u0061rge",{"of":3}]"#,
        r#""float":3.4028235677973366e38"#,
        r#""float":3.5e38"#,
        r#""float":-3.4028235e38"#,
        r#""float":16777217"#,
        r#""float":1000000000000000000001"#,
        r#""integer":3"#,
        r#""integer":256"#,
        r#""integer":3.0"#,
        r#""integer":1e2"#,
        r#""integer":-0"#,
    ] {
        let text = format!("{{{sent}}}");
        let value: Value = serde_json::from_str(&text).unwrap();
        let expected = read(&without, text.clone().into());
        assert_eq!(read(&registry, text.into()), expected, "{sent}");
        assert_eq!(read(&registry, value.into()), expected, "{sent} as a value");
    }
}

/// Labels that are left out when one of them is no address, and a name.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(crate = "tool_runtime::schemars")]
struct Machine {
    #[serde(deserialize_with = "or_default")]
    #[schemars(with = "BTreeMap<String, String>")]
    addresses: BTreeMap<String, std::net::Ipv4Addr>,
    name: String,
}

#[expect(clippy::unnecessary_wraps, reason = "serde wants a `Result`")]
fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(deserializer).unwrap_or_default())
}

/// Tells the name.
#[tool]
async fn machine(
    /// A machine.
    machine: Machine,
) -> String {
    format!("{} {:?}", machine.name, machine.addresses)
}

#[test]
fn values_of_ignored_errors_are_skipped_completely() {
    let mut registry = ToolRegistry::new();
    registry.register::<machine>().unwrap();
    let sent = r#"{"machine":{"addresses":{"a":"no address","name":"10.0.0.1"},"name":"it"}}"#;
    let value: Value = serde_json::from_str(sent).unwrap();
    for input in [RawArguments::from(sent), value.into()] {
        let result = wait(registry.execute_tool("id", "machine", input));
        assert_eq!(result.text(), Some("it {}"));
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", untagged)]
#[schemars(crate = "tool_runtime::schemars")]
#[allow(dead_code, reason = "only shown")]
enum Place {
    Step { x: i64 },
    At { x: f64 },
}

/// Tells where.
#[tool]
async fn place(
    /// A place.
    place: Vec<Place>,
) -> String {
    format!("{place:?}")
}

#[test]
fn negative_zero_matches_the_same_alternative_without_the_fast_path() {
    let registries = both::<place>();
    for x in ["-0", "0", "-0.0", "1", "1.5"] {
        let [fast, slow] = registries.each_ref().map(|registry| {
            let sent = format!(r#"{{"place":[{{"x":{x}}}]}}"#);
            wait(registry.execute_tool("id", "place", sent))
                .text()
                .map(str::to_owned)
        });
        assert_eq!(fast, slow, "{x}");
    }
}
