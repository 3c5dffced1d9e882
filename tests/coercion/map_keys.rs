//! Maps with boolean or character keys, in every position of a type. The schemas of schemars do not contain the type of these keys.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tests::runtime::block_on;
use tool_runtime::{Policy, ToolCall, ToolRegistry, tool};

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
enum Colour {
    Red,
    Green,
}

/// A type to flatten.
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
    /// Maps in a list.
    listed: Option<Vec<BTreeMap<bool, u8>>>,
    /// Maps in a map.
    nested: Option<BTreeMap<bool, BTreeMap<char, u8>>>,
    /// Maps in a map with number keys.
    numbered: Option<BTreeMap<u8, BTreeMap<bool, u8>>>,
    /// Maps in a map with string keys.
    named: Option<BTreeMap<String, BTreeMap<char, u8>>>,
    /// Maps in a map with colour keys.
    coloured: Option<BTreeMap<Colour, BTreeMap<bool, u8>>>,
    /// Map whose keys have a custom type.
    keyed: Option<BTreeMap<Letter, u8>>,
    /// Map in a custom type.
    wrapped: Option<Flags>,
    /// Map in a type that is used twice.
    first: Option<Box<Leaf>>,
    /// Map in a type that is used twice.
    second: Option<Leaf>,
    /// Map in a recursive type.
    tree: Option<Tree>,
    /// Map in an enum.
    either: Option<Either>,
    /// Map in a tuple.
    pair: Option<(BTreeMap<bool, u8>, u8)>,
    /// Map in a struct with a flattened field.
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
    /// Values by flag.
    flags: BTreeMap<bool, u8>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Tree {
    /// Values by letter.
    letters: BTreeMap<char, Tree>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
enum Either {
    Flags(BTreeMap<bool, u8>),
    Letters {
        /// Values by letter.
        map: BTreeMap<char, u8>,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Flat {
    /// Values by flag.
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

/// Returns inputs, and the paths of the coerced keys.
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

type ByColour = BTreeMap<Colour, u8>;

/// Maps whose key type is known only to serde.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Buffered {
    /// Maps in `tag`.
    tagged: Option<Tagged>,
    /// Maps in `tag` and `content`.
    adjacent: Option<Adjacent>,
    /// Maps in `untagged`.
    untagged: Option<Untagged>,
    /// Maps in `flatten`.
    flat: Option<Flattened>,
    /// After the first item of a tuple.
    pair: Option<(u8, ByColour)>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "t")]
#[expect(dead_code, reason = "shown by `Debug`")]
enum Tagged {
    Colours {
        /// Values by colour.
        map: ByColour,
    },
    Numbers {
        /// Values by number.
        map: BTreeMap<u8, u8>,
    },
    Flags {
        /// Values by flag.
        map: BTreeMap<bool, u8>,
    },
    Dated {
        day: chrono::NaiveDate,
        time: chrono::DateTime<chrono::Utc>,
        map: ByColour,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
#[expect(dead_code, reason = "shown by `Debug`")]
enum Adjacent {
    Colours(ByColour),
    Numbers(BTreeMap<u8, u8>),
    Flags(BTreeMap<bool, u8>),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "shown by `Debug`")]
enum Untagged {
    Colours(ByColour),
    Numbers {
        /// Values by number.
        map: BTreeMap<u8, u8>,
    },
    Flags {
        /// Values by flag.
        flags: BTreeMap<bool, u8>,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Flattened {
    /// Another value.
    label: Option<u8>,
    #[serde(flatten)]
    inner: Inner,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Inner {
    /// Values by colour.
    map: Option<ByColour>,
    /// Values by number.
    numbers: Option<BTreeMap<u8, u8>>,
    /// Values by flag.
    flags: Option<BTreeMap<bool, u8>>,
}

/// Maps that serde buffers.
#[tool]
async fn buffered(
    /// The maps.
    it: Buffered,
) -> String {
    format!("{it:?}")
}

/// Includes a map whose keys are known.
#[tool]
async fn buffered_beside_a_map(
    /// The maps.
    it: Buffered,
    /// Values by colour.
    map: Option<ByColour>,
) -> String {
    format!("{it:?} {map:?}")
}

/// Returns the issues of a call, each as `code path`.
fn issues(tool: &str, sent: &Value) -> Vec<String> {
    let mut registry = ToolRegistry::new();
    registry.register::<buffered>().unwrap();
    registry.register::<buffered_beside_a_map>().unwrap();
    let call = ToolCall::new("id", tool, json!({ "it": sent }).to_string());
    let outcome = block_on(registry.call(call));
    let issues = outcome.errors.iter().chain(&outcome.warnings);
    issues
        .map(|issue| format!("{} {}", issue.code, issue.path))
        .collect()
}

/// A struct whose schema looks like a map.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct LikeAMap {
    one: Option<u8>,
    two: Option<u8>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "t")]
#[expect(dead_code, reason = "shown by `Debug`")]
enum TaggedStruct {
    Fields {
        /// Like a map.
        map: LikeAMap,
    },
}

/// A struct inside a type that serde buffers.
#[tool]
async fn buffered_struct(
    /// The struct.
    it: TaggedStruct,
) -> String {
    format!("{it:?}")
}

#[test]
fn fields_of_a_buffered_struct_are_not_map_keys() {
    let mut registry = ToolRegistry::new();
    registry.register::<buffered_struct>().unwrap();
    let arguments = json!({ "it": { "t": "Fields", "map": { "One": 1, "three": 3 } } });
    let outcome = block_on(registry.call(ToolCall::new("id", "buffered_struct", arguments)));
    let codes: Vec<_> = outcome.warnings.iter().map(|issue| issue.code.as_str()).collect();
    assert_eq!(codes, ["parameter_name_normalized", "unknown_property"]);
    assert!(outcome.errors.is_empty());
}

#[test]
fn enum_keys_inside_buffered_types_are_keys_of_maps() {
    let map = json!({ "red": 1, "Blue": 2 });
    for (sent, place) in [
        (
            json!({ "tagged": { "t": "Colours", "map": map } }),
            "/it/tagged/map",
        ),
        (
            json!({ "tagged": { "t": "Dated", "day": "2026-01-01", "time": "2026-01-01T00:00:00Z", "map": map } }),
            "/it/tagged/map",
        ),
        (
            json!({ "adjacent": { "t": "Colours", "c": map } }),
            "/it/adjacent/c",
        ),
        (json!({ "untagged": map }), "/it/untagged"),
        (json!({ "flat": { "map": map } }), "/it/flat/map"),
        (json!({ "pair": [1, map] }), "/it/pair/1"),
    ] {
        let key = format!("invalid_map_key {place}/Blue");
        for tool in ["buffered", "buffered_beside_a_map"] {
            let found = issues(tool, &sent);
            assert!(found.contains(&key), "{sent}: {found:?}");
        }
    }
}

/// serde reads such keys from strings only if it does not buffer them.
#[test]
fn integer_and_boolean_keys_inside_buffered_types_are_invalid_as_in_serde_json() {
    let map = json!({ "1": 2 });
    let flags = json!({ "true": 2 });
    for (sent, is_valid) in [
        (json!({ "tagged": { "t": "Numbers", "map": map } }), false),
        (json!({ "untagged": { "map": map } }), false),
        (json!({ "flat": { "numbers": map } }), false),
        (json!({ "tagged": { "t": "Flags", "map": flags } }), false),
        (json!({ "untagged": { "flags": flags } }), false),
        (json!({ "flat": { "flags": flags } }), false),
    ]
    .into_iter()
    .map(|(sent, is_valid)| (sent.to_string(), is_valid))
    .chain([
        (r#"{"adjacent":{"t":"Numbers","c":{"1":2}}}"#.to_owned(), true),
        (r#"{"adjacent":{"c":{"1":2},"t":"Numbers"}}"#.to_owned(), false),
        (r#"{"adjacent":{"t":"Flags","c":{"true":2}}}"#.to_owned(), true),
        (r#"{"adjacent":{"c":{"true":2},"t":"Flags"}}"#.to_owned(), false),
    ]) {
        assert_eq!(
            serde_json::from_str::<Buffered>(&sent).is_ok(),
            is_valid,
            "{sent}"
        );
        let mut registry = ToolRegistry::new();
        registry.register::<buffered>().unwrap();
        let call = ToolCall::new("id", "buffered", format!("{{\"it\":{sent}}}"));
        let outcome = block_on(registry.call(call));
        let codes: Vec<_> = outcome.errors.iter().map(|issue| issue.code.as_str()).collect();
        assert_eq!(codes == ["invalid_value"], !is_valid, "{sent}: {codes:?}");
        assert_eq!(codes.is_empty(), is_valid, "{sent}: {codes:?}");
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is used")]
struct FlatMap<K: Ord> {
    /// Another value.
    label: Option<u8>,
    #[serde(flatten)]
    map: BTreeMap<K, u8>,
}

/// Flattened maps of each kind.
#[tool]
async fn flat_maps(
    /// Values by text.
    texts: FlatMap<String>,
    /// Values by colour.
    colours: FlatMap<Colour>,
    /// Values by number.
    numbers: FlatMap<u8>,
) -> String {
    format!("{texts:?} {colours:?} {numbers:?}")
}

#[test]
fn schema_of_a_flattened_map_depends_on_its_keys() {
    let mut registry = ToolRegistry::new();
    registry.register::<flat_maps>().unwrap();
    let schema = registry.tool_definitions()[0].input_schema.clone();
    let keywords = |parameter: &str| {
        let schema = &schema["properties"][parameter];
        let has_names = schema["properties"].get("Red").is_some();
        let has = |keyword: &str| schema.get(keyword).is_some_and(Value::is_object);
        (has("additionalProperties"), has_names, has("patternProperties"))
    };
    assert_eq!(keywords("texts"), (true, false, false));
    assert_eq!(keywords("colours"), (false, true, false));
    assert_eq!(keywords("numbers"), (false, false, true));
}

/// Dates as keys and as items.
#[tool]
async fn dates(
    /// Values by day.
    by_day: BTreeMap<chrono::NaiveDate, u8>,
    /// List of days.
    days: BTreeSet<chrono::NaiveDate>,
) -> String {
    format!("{by_day:?} {days:?}")
}

/// `docs/coercion.md` specifies this behaviour.
#[test]
fn dates_have_the_spellings_of_serde() {
    let mut registry = ToolRegistry::new();
    registry.register::<dates>().unwrap();
    let arguments = r#"{"by_day":{"2025-01-01":1,"2025-1-1":2},"days":["2025-01-01","2025-1-1"]}"#;
    let outcome = block_on(registry.call(ToolCall::new("id", "dates", arguments)));
    assert_eq!(outcome.result.text(), Some("{2025-01-01: 2} {2025-01-01}"));
    assert!(outcome.warnings.is_empty());
}

/// Opening hours.
#[tool]
async fn hours(
    /// Opening hours by day.
    days: BTreeMap<chrono::NaiveDate, u8>,
) -> String {
    format!("{days:?}")
}

/// The type of the keys reports the error and the expected key.
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

/// Shapes by name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "shown by `Debug`")]
enum Shape {
    Circle(f32),
    Square(f32),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "shown by `Debug`")]
enum Kind {
    Line { length: u8 },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Beside<E, V> {
    #[serde(flatten)]
    of_enum: E,
    #[serde(flatten)]
    rest: BTreeMap<String, V>,
}

/// Flattened maps next to flattened enums.
#[tool]
async fn flattened_beside_enums(
    /// Selection by name.
    external: Option<Beside<Shape, Value>>,
    /// Values by tag.
    tagged: Option<Beside<Kind, Value>>,
) -> String {
    format!("{external:?} {tagged:?}")
}

#[test]
fn flattened_map_beside_a_flattened_enum_has_the_other_keys() {
    let mut registry = ToolRegistry::new();
    registry.register::<flattened_beside_enums>().unwrap();
    // serde leaves the keys of an enum with a tag in the map.
    let external = json!({ "circle": 2.5, "zz": 1 });
    let tagged = json!({ "kind": "line", "length": 3, "zz": 1 });
    let read: Beside<Shape, Value> = serde_json::from_value(external.clone()).unwrap();
    let both: Beside<Kind, Value> = serde_json::from_value(tagged.clone()).unwrap();
    for (arguments, wanted) in [
        (json!({ "external": external }), format!("Some({read:?}) None")),
        (json!({ "tagged": tagged }), format!("None Some({both:?})")),
    ] {
        for policy in [Policy::Lenient, Policy::Lossless, Policy::Strict] {
            let registry = registry.clone().with_policy(policy);
            let call = ToolCall::new("id", "flattened_beside_enums", arguments.clone());
            let outcome = block_on(registry.call(call));
            assert_eq!(outcome.result.content, wanted.clone().into(), "{policy:?}");
            assert!(outcome.warnings.is_empty(), "{policy:?}: {:?}", outcome.warnings);
        }
    }
}
