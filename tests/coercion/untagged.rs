//! Untagged enums in every position of a type. serde reads the chosen alternative, and no key is lost.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tests::dynamic_tool::POLICIES;
use tests::runtime::block_on;
use tool_runtime::{Policy, ToolCall, ToolRegistry, tool};

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum RangeOrStart {
    Range { from: i64, to: i64 },
    Start { from: i64 },
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Field {
    range: RangeOrStart,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Flat {
    id: i64,
    #[serde(flatten)]
    range: RangeOrStart,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type")]
enum Tagged {
    Of { range: RangeOrStart },
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Of(RangeOrStart),
}

#[derive(Deserialize, Serialize, JsonSchema)]
enum External {
    Of(RangeOrStart),
    Pair(RangeOrStart, RangeOrStart),
}

/// An untagged enum in another one, before an alternative that matches the value as sent.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum Nested {
    Of { range: RangeOrStart },
    Numbers { range: BTreeMap<String, f64> },
}

/// A type with an untagged enum in each position.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Places {
    list: Option<Vec<RangeOrStart>>,
    map: Option<BTreeMap<String, RangeOrStart>>,
    field: Option<Field>,
    flat: Option<Flat>,
    tagged: Option<Tagged>,
    adjacent: Option<Adjacent>,
    external: Option<Vec<External>>,
    nested: Option<Nested>,
}

/// Echoes its argument.
#[tool]
async fn echo(
    /// The argument.
    it: Places,
) -> String {
    json!(it).to_string()
}

/// Returns the value for the function, without missing properties, and the warnings.
fn call(policy: Policy, sent: &str) -> (Value, Vec<String>) {
    let sent = format!(r#"{{"it":{sent}}}"#);
    let mut registry = ToolRegistry::new().with_policy(policy);
    registry.register::<echo>().unwrap();
    let outcome = block_on(registry.call(ToolCall::new("1", "echo", &*sent)));
    assert!(
        outcome.errors.is_empty(),
        "{policy:?} {sent}: {:?}",
        outcome.errors
    );
    let mut read: Value = serde_json::from_str(outcome.result.text().unwrap()).unwrap();
    read.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    let warnings = outcome.warnings.iter();
    (
        read,
        warnings
            .map(|issue| format!("{}@{}", issue.code, issue.path))
            .collect(),
    )
}

/// `10.0` is an integer in JSON Schema, so the first alternative matches as sent.
#[test]
fn integral_number_matches_the_alternative_with_all_keys() {
    let places = [
        (r#"{"list":[?]}"#, "/list/0"),
        (r#"{"map":{"k":?}}"#, "/map/k"),
        (r#"{"field":{"range":?}}"#, "/field/range"),
        (r#"{"flat":{"id":1,"from":1,"to":~}}"#, "/flat"),
        (r#"{"tagged":{"type":"Of","range":?}}"#, "/tagged/range"),
        (r#"{"adjacent":{"t":"Of","c":?}}"#, "/adjacent/c"),
        (r#"{"adjacent":{"c":?,"t":"Of"}}"#, "/adjacent/c"),
        (r#"{"external":[{"Of":?}]}"#, "/external/0/Of"),
        (r#"{"external":[{"Pair":[{"from":1},?]}]}"#, "/external/0/Pair/1"),
        (r#"{"nested":{"range":?}}"#, "/nested/range"),
    ];
    for (place, path) in places {
        let with = |number: &str| place.replace('?', r#"{"from":1,"to":~}"#).replace('~', number);
        let expected: Value = serde_json::from_str(&with("10")).unwrap();
        for policy in POLICIES {
            for number in ["10.0", "1e1"] {
                let (read, warnings) = call(policy, &with(number));
                assert_eq!(read, expected, "{policy:?} {}", with(number));
                let warning = format!("number_coerced_to_integer@/it{path}/to");
                let expected = if policy == Policy::Strict {
                    vec![]
                } else {
                    vec![warning]
                };
                assert_eq!(warnings, expected, "{policy:?} {}", with(number));
            }
            assert_eq!(
                call(policy, &with("10")),
                (expected.clone(), vec![]),
                "{policy:?}"
            );
        }
    }
}
