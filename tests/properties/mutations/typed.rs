//! Loosely spelled arguments of an annotated function, which receives the intended values.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tests::random::Random;
use tool_runtime::{Policy, ToolCall, ToolRegistry, tool};

use super::kinds::{Field, Kind, Need};
use super::loosen::Loosener;
use super::{VALUES, found, schemas};

#[derive(Deserialize, Serialize, JsonSchema)]
enum Choice {
    #[serde(rename = "small")]
    Small,
    #[serde(rename = "middle-sized")]
    MiddleSized,
    #[serde(rename = "Large One")]
    Large,
    #[serde(rename = "7up")]
    Seven,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Inner {
    max_results: i64,
    is_on: Option<bool>,
    kind_of_thing: Vec<Choice>,
    rows: Option<Vec<(f64, bool)>>,
    by_id: BTreeMap<String, Vec<i32>>,
    x: Option<Box<Inner>>,
}

/// Answers with its arguments.
#[tool(name = "tool")]
#[expect(clippy::too_many_arguments, reason = "that is the point")]
async fn typed(
    /// A text.
    name: String,
    /// An integer.
    max_results: u32,
    /// A switch.
    is_on: Option<bool>,
    /// A choice.
    kind_of_thing: Option<Choice>,
    /// List of numbers.
    rows: Vec<Vec<f32>>,
    /// A pair.
    x: Option<(i64, String)>,
    /// List of objects.
    long_list_2: Vec<Inner>,
    /// Objects by name.
    by_id: Option<BTreeMap<String, Inner>>,
) -> Value {
    json!({
        "name": name,
        "max_results": max_results,
        "is_on": is_on,
        "kind_of_thing": kind_of_thing,
        "rows": rows,
        "x": x,
        "long_list_2": long_list_2,
        "by_id": by_id,
    })
}

fn field(name: &'static str, kind: Kind, need: Need) -> Field {
    Field { name, kind, need }
}

/// Returns the kind of the function's arguments.
fn kind() -> Kind {
    let list = |item| Kind::List(Box::new(item));
    let map = |entry| Kind::Map(Box::new(entry));
    let inner = |nested: Option<Kind>| {
        let mut fields = vec![
            field("max_results", Kind::Integer, Need::Required),
            field("is_on", Kind::Boolean, Need::Optional),
            field("kind_of_thing", list(Kind::Choice), Need::Required),
            field(
                "rows",
                list(Kind::Pair(Box::new((Kind::Number, Kind::Boolean)))),
                Need::Optional,
            ),
            field("by_id", map(list(Kind::Integer)), Need::Required),
        ];
        fields.extend(nested.map(|nested| field("x", nested, Need::Optional)));
        Kind::Object(fields)
    };
    Kind::Object(vec![
        field("name", Kind::Text, Need::Required),
        field("max_results", Kind::Small, Need::Required),
        field("is_on", Kind::Boolean, Need::Optional),
        field("kind_of_thing", Kind::Choice, Need::Optional),
        field("rows", list(list(Kind::Number)), Need::Required),
        field(
            "x",
            Kind::Pair(Box::new((Kind::Integer, Kind::Text))),
            Need::Optional,
        ),
        field("long_list_2", list(inner(None)), Need::Required),
        field("by_id", map(inner(Some(inner(None)))), Need::Optional),
    ])
}

#[tokio::test]
async fn loosened_arguments_reach_a_function_restored() {
    let mut registry = ToolRegistry::new();
    registry.register::<typed>().expect("the tool is sound");
    let kind = kind();
    let mut random = Random::new(23);
    for _ in 0..schemas() / 4 * VALUES {
        let value = kind.value(&mut random);
        let rate = 2 + random.below(12);
        let mut loosener = Loosener::new(&mut random, rate);
        let text = loosener.arguments(&kind, &value);
        let mut expected = loosener.expected;
        expected.sort();
        for policy in [Policy::Lenient, Policy::Lossless] {
            let call = ToolCall::new("id", "tool", text.as_str()).with_policy(policy);
            let outcome = registry.call(call).await;
            assert_eq!(found(&outcome.errors), [], "{text}");
            assert_eq!(found(&outcome.warnings), expected, "{text}");
            let echo = serde_json::from_str(outcome.result.text().unwrap_or_default());
            assert_eq!(without_nulls(&echo.unwrap_or_default()), value, "{text}");
        }
    }
}

/// Removes the nulls of missing options.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let present = members.iter().filter(|(_, member)| !member.is_null());
            present
                .map(|(key, member)| (key.clone(), without_nulls(member)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}
