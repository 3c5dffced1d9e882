//! Maps by boolean or by character, in every place where a type may hold one: schemars tells of none what its keys are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tests::runtime::block_on;
use tool_runtime::{ToolCall, ToolRegistry, tool};

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
enum Colour {
    Red,
    Green,
}

/// Something to flatten.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Settings {
    /// A label.
    label: Option<String>,
}

/// A map in each.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Places {
    /// In a list.
    listed: Option<Vec<BTreeMap<bool, u8>>>,
    /// In one another.
    nested: Option<BTreeMap<bool, BTreeMap<char, u8>>>,
    /// In a map by number.
    numbered: Option<BTreeMap<u8, BTreeMap<bool, u8>>>,
    /// In a map by text.
    named: Option<BTreeMap<String, BTreeMap<char, u8>>>,
    /// In a map by colour.
    coloured: Option<BTreeMap<Colour, BTreeMap<bool, u8>>>,
    /// With keys of a type of its own.
    keyed: Option<BTreeMap<Letter, u8>>,
    /// Behind a type of its own.
    wrapped: Option<Flags>,
    /// In a type that is used twice.
    first: Option<Box<Leaf>>,
    /// In a type that is used twice.
    second: Option<Leaf>,
    /// In a type that holds itself.
    tree: Option<Tree>,
    /// In an enum.
    either: Option<Either>,
    /// In a tuple.
    pair: Option<(BTreeMap<bool, u8>, u8)>,
    /// In a struct with something flattened.
    flat: Option<Flat>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
struct Letter(char);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Flags {
    map: BTreeMap<bool, u8>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Leaf {
    /// By flag.
    flags: BTreeMap<bool, u8>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Tree {
    /// By letter.
    letters: BTreeMap<char, Tree>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
enum Either {
    Flags(BTreeMap<bool, u8>),
    Letters {
        /// By letter.
        map: BTreeMap<char, u8>,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Flat {
    /// By flag.
    flags: BTreeMap<bool, u8>,
    #[serde(flatten)]
    settings: Settings,
}

/// Maps in many places.
#[tool]
async fn places(
    /// The places.
    it: Places,
) -> String {
    format!("{it:?}")
}

/// What is sent, and the places of the keys that are coerced.
fn rows() -> Vec<(Value, &'static str)> {
    vec![
        (json!({ "listed": [{ "True": 1 }] }), "/listed/0/true"),
        (
            json!({ "nested": { "TRUE": { " a": 1 } } }),
            "/nested/true /nested/true/a",
        ),
        (json!({ "numbered": { "1": { "True": 1 } } }), "/numbered/1/true"),
        (json!({ "named": { "A": { "a ": 1 } } }), "/named/A/a"),
        (
            json!({ "coloured": { "Red": { "True": 1 } } }),
            "/coloured/Red/true",
        ),
        (
            json!({ "coloured": { "Green": { "True": 1 } } }),
            "/coloured/Green/true",
        ),
        (json!({ "keyed": { "a ": 1 } }), "/keyed/a"),
        (json!({ "wrapped": { "True": 1 } }), "/wrapped/true"),
        (
            json!({ "first": { "flags": { "True": 1 } } }),
            "/first/flags/true",
        ),
        (
            json!({ "second": { "flags": { "True": 1 } } }),
            "/second/flags/true",
        ),
        (
            json!({ "tree": { "letters": { "a ": { "letters": { " b": { "letters": { " c": { "letters": {} } } } } } } } }),
            "/tree/letters/a /tree/letters/a/letters/b /tree/letters/a/letters/b/letters/c",
        ),
        (
            json!({ "either": { "Flags": { "True": 1 } } }),
            "/either/Flags/true",
        ),
        (
            json!({ "either": { "Letters": { "map": { " a": 1 } } } }),
            "/either/Letters/map/a",
        ),
        (json!({ "pair": [{ "True": 1 }, 2] }), "/pair/0/true"),
        (json!({ "flat": { "flags": { "True": 1 } } }), "/flat/flags/true"),
    ]
}

#[test]
fn keys_are_coerced_in_maps_at_any_position() {
    let mut registry = ToolRegistry::new();
    registry.register::<places>().unwrap();
    let mut failed = Vec::new();
    for (sent, paths) in rows() {
        let call = ToolCall::new("id", "places", json!({ "it": sent }).to_string());
        let outcome = block_on(registry.call(call));
        let listed: Vec<_> = outcome
            .warnings
            .iter()
            .map(|issue| format!("{} {}", issue.code, issue.path))
            .collect();
        let expected: Vec<_> = paths
            .split(' ')
            .map(|path| format!("map_key_coerced /it{path}"))
            .collect();
        if listed != expected || !outcome.errors.is_empty() {
            failed.push(format!("{sent}: {listed:?} {:?}", outcome.errors));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Opening hours.
#[tool]
async fn hours(
    /// By day.
    days: BTreeMap<chrono::NaiveDate, u8>,
) -> String {
    format!("{days:?}")
}

/// The type of the keys says what is wrong, and what it wants.
#[test]
fn error_for_an_invalid_key_states_the_expected_type() {
    let mut registry = ToolRegistry::new();
    registry.register::<hours>().unwrap();
    for (key, wrong) in [
        ("", "premature end of input"),
        ("x", "input contains invalid characters"),
    ] {
        let arguments = json!({ "days": { key: 1 } });
        let outcome = block_on(registry.call(ToolCall::new("id", "hours", arguments)));
        let message = format!("invalid map key `{key}`: {wrong}; expected a formatted date string");
        assert_eq!(outcome.errors[0].message, message);
    }
}
