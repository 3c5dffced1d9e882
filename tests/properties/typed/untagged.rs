//! Untagged enums. Serde selects the first matching variant and ignores unknown keys; each ignored key causes a warning.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use tests::random::Random;
use tests::runtime::block_on;
use tool_runtime::{Issue, Policy, RawArguments, ToolCall, ToolRegistry, tool};

/// Declares untagged enums.
macro_rules! untagged {
    ($($(#[$attribute:meta])* enum $name:ident { $($body:tt)* })*) => {
        $(
            #[derive(Deserialize, Serialize, JsonSchema)]
            #[serde(untagged)]
            $(#[$attribute])*
            enum $name { $($body)* }
        )*
    };
}

untagged! {
    enum Size {
        Few { x: u8 },
        More { x: u8, y: u8 },
    }

    enum Optional {
        A { x: Option<u8> },
        B { y: Option<u8>, k: Option<u8> },
    }

    enum Default {
        A { #[serde(default)] x: u8 },
        B { k: u8, y: u8 },
        C { k: u8 },
    }

    enum Lists {
        Few(Vec<X>),
        More(Vec<XY>),
        One(XY),
    }

    enum Nested {
        A { p: KX },
        B { p: KY },
        C { p: Optional },
    }

    enum Closed {
        A(ClosedX),
        B(XY),
    }

    enum Maps {
        Numbers(BTreeMap<String, u8>),
        More(XY),
        Rest { k: u8, #[serde(flatten)] rest: BTreeMap<String, Value> },
    }

    enum Scalars {
        Whole(u64),
        Float(f64),
        Few { x: u8 },
        Text(String),
        More { x: String, y: bool },
        Many(Vec<Scalars>),
    }

    enum Tree {
        Leaf { x: u8 },
        Branch { x: u8, p: Box<Tree> },
        Many(Vec<Tree>),
    }

    /// Values that the schema accepts and the type rejects.
    enum Strange {
        Even { x: Even },
        Any { x: u8, y: u8 },
    }
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct X {
    x: u8,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct XY {
    x: u8,
    y: u8,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct KX {
    k: u8,
    x: Option<u8>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct KY {
    k: u8,
    y: u8,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClosedX {
    x: u8,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Flat {
    k: u8,
    #[serde(flatten)]
    size: Size,
}

#[derive(Serialize)]
struct Even(u8);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            even if even % 2 == 0 => Ok(Self(even)),
            _ => Err(serde::de::Error::custom("not even")),
        }
    }
}

impl JsonSchema for Even {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Even".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        u8::json_schema(generator)
    }
}

/// Declares and registers tools that return their only parameter.
macro_rules! tools {
    ($($name:ident: $type:ty;)*) => {
        $(
            /// Answers with its argument.
            #[tool]
            async fn $name(
                /// The argument.
                it: $type,
            ) -> Value {
                serde_json::to_value(&it).unwrap()
            }
        )*

        const NAMES: &[&str] = &[$(stringify!($name)),*];

        fn registry() -> ToolRegistry {
            let mut registry = ToolRegistry::new();
            $(registry.register::<$name>().unwrap();)*
            registry
        }
    };
}

tools! {
    size: Size;
    sizes: Vec<Size>;
    optional: Optional;
    maybe: Option<Optional>;
    default: Default;
    lists: Lists;
    nested: Nested;
    closed: Closed;
    maps: Maps;
    scalars: Scalars;
    tree: Tree;
    flat: Flat;
    strange: Strange;
}

/// Result of a call: the value that the function received, and the warnings.
#[derive(Debug, PartialEq)]
struct Read {
    given: Option<Value>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

impl Read {
    fn has_issue_at(&self, path: &str) -> bool {
        self.warnings
            .iter()
            .any(|warning| warning.ends_with(&format!(" {path}")))
    }
}

fn listed(issues: &[Issue]) -> Vec<String> {
    issues
        .iter()
        .map(|issue| format!("{} {}", issue.code, issue.path))
        .collect()
}

fn call(registry: &ToolRegistry, tool: &str, input: RawArguments<'_>, policy: Policy) -> Read {
    let call = ToolCall::new("id", tool, input).with_policy(policy);
    let outcome = block_on(registry.call(call));
    Read {
        given: outcome
            .result
            .text()
            .filter(|_| outcome.errors.is_empty())
            .map(|text| serde_json::from_str(text).unwrap()),
        warnings: listed(&outcome.warnings),
        errors: listed(&outcome.errors),
    }
}

fn read(tool: &str, it: &str) -> Read {
    let arguments = format!(r#"{{"it":{it}}}"#);
    call(&registry(), tool, arguments.into(), Policy::Lenient)
}

#[track_caller]
fn assert_read(tool: &str, it: &str, given: &Value, warnings: &[&str]) {
    let read = read(tool, it);
    assert_eq!(read.given.as_ref(), Some(given), "{it}: {read:?}");
    assert_eq!(read.warnings, warnings, "{it}");
}

#[test]
fn first_matching_variant_is_read_with_warnings_for_other_keys() {
    let unknown = "unknown_property /it/y";
    assert_read("size", r#"{"x":1}"#, &json!({ "x": 1 }), &[]);
    assert_read("size", r#"{"x":1,"y":2}"#, &json!({ "x": 1 }), &[unknown]);
    assert_read("optional", r#"{"y":1}"#, &json!({ "x": null }), &[unknown]);
    assert_read("maybe", r#"{"y":1}"#, &json!({ "x": null }), &[unknown]);
    assert_read(
        "flat",
        r#"{"k":1,"x":1,"y":2}"#,
        &json!({ "k": 1, "x": 1 }),
        &[unknown],
    );
    assert_read("closed", r#"{"x":1,"y":2}"#, &json!({ "x": 1, "y": 2 }), &[]);
    assert_read("maps", r#"{"x":1,"y":2}"#, &json!({ "x": 1, "y": 2 }), &[]);
    assert_read(
        "lists",
        r#"[{"x":1,"y":2}]"#,
        &json!([{ "x": 1 }]),
        &["unknown_property /it/0/y"],
    );
    assert_read("scalars", "3.0", &json!(3.0), &[]);
}

#[test]
fn coerced_values_are_read_as_the_first_matching_variant() {
    let text = "string_literal_converted_to_integer /it/x";
    assert_read(
        "size",
        r#"{"x":"1","y":"2"}"#,
        &json!({ "x": 1 }),
        &[text, "unknown_property /it/y"],
    );
    assert_read(
        "closed",
        r#"{"x":"1","y":2}"#,
        &json!({ "x": 1, "y": 2 }),
        &[text],
    );
    assert_read(
        "scalars",
        r#"{"x":"1","y":true}"#,
        &json!({ "x": "1", "y": true }),
        &[],
    );
}

/// Without the keys that are removed for one variant, the value would match an earlier variant, to which some other keys are unknown.
#[test]
fn dropped_keys_are_warned_of_or_ambiguous() {
    assert_read(
        "default",
        r#"{"x":null,"k":1,"y":2}"#,
        &json!({ "k": 1, "y": 2 }),
        &["unknown_property /it/x"],
    );
    let nested = read("nested", r#"{"p":{"k":1,"x":"5","y":6}}"#);
    assert_eq!(nested.errors, ["ambiguous_value /it"], "{nested:?}");
}

/// The schema of the first variant accepts the value, but its type rejects it. Serde continues with the next variant and all its keys.
/// keys.
#[test]
fn value_rejected_by_a_type_is_read_as_a_later_variant() {
    let unknown = ["unknown_property /it/y"];
    assert_read("strange", r#"{"x":2,"y":1}"#, &json!({ "x": 2 }), &unknown);
    assert_read(
        "strange",
        r#"{"x":1,"y":1}"#,
        &json!({ "x": 1, "y": 1 }),
        &unknown,
    );
}

/// Reads a call in each registry, from text and from a value. Both readings must be equal.
fn call_in_all_ways(registries: [&ToolRegistry; 2], tool: &str, arguments: &Value, policy: Policy) -> Read {
    let text = arguments.to_string();
    let read = call(registries[0], tool, text.as_str().into(), policy);
    for (registry, input) in [
        (registries[1], text.as_str().into()),
        (registries[0], arguments.clone().into()),
        (registries[1], arguments.clone().into()),
    ] {
        let other = call(registry, tool, input, policy);
        assert_eq!(read, other, "{policy:?}, {tool}: {arguments}");
    }
    read
}

/// Every removed key has an issue, and only removed keys are reported as unknown.
#[test]
fn every_dropped_key_has_an_issue() {
    let mut random = Random::new(21);
    let registry = registry();
    let without_fast_path = registry.clone().without_fast_path();
    let (mut lost, mut read_whole) = (0, 0);
    for round in 0..20 * crate::properties::typed::texts() {
        let tool = NAMES[round % NAMES.len()];
        let it = value(&mut random, 3);
        let arguments = json!({ "it": it });
        for policy in [Policy::Lenient, Policy::Lossless, Policy::Strict] {
            let text = arguments.to_string();
            let read = call_in_all_ways([&registry, &without_fast_path], tool, &arguments, policy);
            let prepared = registry.prepare(ToolCall::new("id", tool, text.as_str()).with_policy(policy));
            let Some(given) = &read.given else {
                continue;
            };
            assert_eq!(listed(&prepared.errors), read.errors, "{policy:?}, {tool}: {it}");
            assert_eq!(
                listed(&prepared.warnings),
                read.warnings,
                "{policy:?}, {tool}: {it}"
            );
            let mut gone = Vec::new();
            keys_gone(&it, given, "/it", &mut gone);
            for (path, is_null) in &gone {
                assert!(
                    *is_null || read.has_issue_at(path),
                    "{policy:?}, {tool}: {it} lost {path}: {read:?}"
                );
            }
            for warning in &read.warnings {
                let unknown = warning.strip_prefix("unknown_property ");
                assert!(
                    tool == "strange" || unknown.is_none_or(|path| gone.iter().any(|(gone, _)| gone == path)),
                    "{policy:?}, {tool}: {it}: {read:?}"
                );
            }
            if gone.is_empty() {
                read_whole += 1;
            } else {
                lost += 1;
            }
            let again =
                registry.prepare(ToolCall::new("id", tool, prepared.arguments_json).with_policy(policy));
            let news = |issue: &&Issue| issue.code != tool_runtime::issue::Code::UnknownProperty;
            assert_eq!(again.errors, [], "{policy:?}, {tool}: {it}");
            assert_eq!(again.warnings.iter().find(news), None, "{policy:?}, {tool}: {it}");
        }
    }
    assert!(lost > 100 && read_whole > 100, "{lost} {read_whole}");
}

/// Returns the keys that were sent and removed, and whether their value was `null`, which may mean a missing value.
fn keys_gone(sent: &Value, given: &Value, at: &str, gone: &mut Vec<(String, bool)>) {
    match (sent, given) {
        (Value::Object(sent), Value::Object(given)) => {
            for (key, sent) in sent {
                let at = format!("{at}/{key}");
                match given.get(key) {
                    Some(given) => keys_gone(sent, given, &at, gone),
                    None => gone.push((at, sent.is_null())),
                }
            }
        }
        (Value::Array(sent), Value::Array(given)) => {
            for (place, (sent, given)) in sent.iter().zip(given).enumerate() {
                keys_gone(sent, given, &format!("{at}/{place}"), gone);
            }
        }
        (sent @ Value::Object(_), Value::Array(given)) if given.len() == 1 => {
            keys_gone(sent, &given[0], &format!("{at}/0"), gone);
        }
        _ => {}
    }
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 14 }) {
        0..3 => json!(random.below(4)),
        3 => json!("2"),
        4 => json!(true),
        5 => json!(null),
        6 => (0..random.below(3)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let keys = ["x", "y", "k", "p", "z"];
            let entries =
                (0..=random.below(3)).map(|_| (random.pick(&keys).to_string(), value(random, depth - 1)));
            Value::Object(entries.collect())
        }
    }
}
