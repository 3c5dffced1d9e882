//! Keys of maps, `null` for what has a default, and texts that stand for nothing: as annotated functions have them.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool_runtime::{Policy, ToolCall, ToolDefinition, ToolRegistry, tool};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Colour {
    Red,
    DarkGreen,
}

/// Not `Serialize`, so that schemars cannot show it as a default.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
struct Settings {
    /// How deep.
    #[serde(default)]
    depth: Depth,
    /// A label.
    label: Option<String>,
}

#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
struct Depth(u8);

/// Maps of all kinds.
#[tool]
async fn maps(
    /// By number.
    small: Option<BTreeMap<u32, bool>>,
    /// By any number.
    signed: Option<HashMap<i64, bool>>,
    /// By colour.
    colours: Option<BTreeMap<Colour, u8>>,
    /// By flag.
    flags: Option<BTreeMap<bool, u8>>,
    /// By letter.
    letters: Option<BTreeMap<char, u8>>,
    /// By text.
    texts: Option<BTreeMap<String, u8>>,
    /// With a default inside.
    settings: Option<Settings>,
) -> String {
    format!("{small:?} {signed:?} {colours:?} {flags:?} {letters:?} {texts:?} {settings:?}")
}

/// Dates and the like.
#[tool]
async fn formats(
    /// The first day.
    from: Option<chrono::NaiveDate>,
    /// Which.
    id: Option<uuid::Uuid>,
    /// Where.
    page: Option<url::Url>,
    /// The last day.
    until: chrono::NaiveDate,
) -> String {
    format!("{from:?} {id:?} {page:?} {until}")
}

/// What comes of a call: its answer or its errors, and its warnings, each as `code path`.
fn call(tool: &str, policy: Policy, arguments: &Value) -> (Result<String, Vec<String>>, Vec<String>) {
    let mut registry = ToolRegistry::new().with_policy(policy);
    registry.register::<maps>().unwrap();
    registry.register::<formats>().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let outcome = runtime.block_on(registry.call(ToolCall::new("id", tool, arguments.to_string())));
    let told = |issues: &[tool_runtime::Issue]| {
        let told = issues
            .iter()
            .map(|issue| format!("{} {}", issue.code, issue.path));
        told.collect::<Vec<_>>()
    };
    let answer = match outcome.errors.as_slice() {
        [] => Ok(outcome.result.text().unwrap_or_default().to_owned()),
        errors => Err(told(errors)),
    };
    (answer, told(&outcome.warnings))
}

fn refused(parameter: &str, map: &Value) -> Vec<String> {
    let arguments = json!({ parameter: map });
    let [lenient, lossless, strict] = [Policy::Lenient, Policy::Lossless, Policy::Strict]
        .map(|policy| call("maps", policy, &arguments).0.unwrap_err());
    assert_eq!((&lenient, &lenient), (&lossless, &strict), "{map}");
    lenient
}

#[test]
fn keys_that_do_not_fit_are_errors() {
    for (parameter, key) in [
        ("small", "x"),
        ("small", "-1"),
        ("small", "07"),
        ("small", "99999999999"),
        ("small", "1.5"),
        ("signed", "x"),
        ("signed", "99999999999999999999"),
        ("colours", "blue"),
        ("colours", "darkgreen"),
        ("flags", "yes"),
        ("flags", "1"),
        ("letters", ""),
        ("letters", "ab"),
        ("letters", "+7"),
        ("letters", "1.0"),
    ] {
        let value = if ["small", "signed"].contains(&parameter) {
            json!(true)
        } else {
            json!(1)
        };
        let expected = format!("invalid_map_key /{parameter}/{key}");
        assert_eq!(
            refused(parameter, &json!({ key: value })),
            [expected],
            "{parameter}: {key}"
        );
    }
}

/// The strict forms make each key of such a map required, and nullable.
#[test]
fn null_for_an_entry_of_an_enum_map_is_told() {
    let arguments = json!({ "colours": { "red": null, "dark_green": 1 } });
    for policy in [Policy::Lenient, Policy::Lossless] {
        let (answer, warnings) = call("maps", policy, &arguments);
        assert!(answer.unwrap().contains("Some({DarkGreen: 1})"));
        assert_eq!(warnings, ["null_treated_as_missing /colours/red"]);
    }
    let (answer, _) = call("maps", Policy::Strict, &arguments);
    assert_eq!(answer.unwrap_err(), ["null_not_allowed /colours/red"]);
    let texts = json!({ "texts": { "a": null } });
    assert_eq!(
        call("maps", Policy::Lenient, &texts).0.unwrap_err(),
        ["null_not_allowed /texts/a"]
    );
}

#[test]
fn keys_that_can_be_coerced_are() {
    for (parameter, key, read) in [
        ("small", "1.0", "1"),
        ("small", " 7", "7"),
        ("small", "+7", "7"),
        ("signed", "-1e1", "-10"),
        ("colours", "Red", "red"),
        ("colours", "darkGreen", "dark_green"),
        ("colours", "DARK-GREEN", "dark_green"),
        ("flags", " true ", "true"),
        ("flags", "False", "false"),
        ("letters", " a", "a"),
        ("letters", "\né ", "é"),
    ] {
        let is_flag = ["small", "signed"].contains(&parameter);
        let value = if is_flag { json!(true) } else { json!(1) };
        let arguments = json!({ parameter: { key: value.clone() } });
        for policy in [Policy::Lenient, Policy::Lossless] {
            let (answer, warnings) = call("maps", policy, &arguments);
            assert_eq!(
                warnings,
                [format!("map_key_coerced /{parameter}/{read}")],
                "{key}"
            );
            let exact = call("maps", policy, &json!({ parameter: { read: value.clone() } }));
            assert_eq!((answer, vec![]), exact, "{key}");
        }
        let (answer, _) = call("maps", Policy::Strict, &arguments);
        assert_eq!(
            answer,
            Err(vec![format!("invalid_map_key /{parameter}/{key}")]),
            "{key}"
        );
    }
    let (answer, warnings) = call(
        "maps",
        Policy::Lenient,
        &json!({ "texts": { "A b": 1, "a_b": 2 } }),
    );
    assert!(answer.unwrap().contains(r#"{"A b": 1, "a_b": 2}"#) && warnings.is_empty());
}

#[test]
fn of_keys_that_become_one_neither_is_taken() {
    let both = |parameter: &str, one: &str, other: &str| {
        let arguments = json!({ parameter: { one: 1, other: 1 } });
        let errors = call("maps", Policy::Lenient, &arguments).0.unwrap_err();
        let at = |key: &str| format!("invalid_map_key /{parameter}/{key}");
        let keys = errors
            .iter()
            .filter(|error| error.starts_with("invalid_map_key"))
            .count();
        assert!(
            keys == 2 && errors.contains(&at(one)) && errors.contains(&at(other)),
            "{errors:?}"
        );
    };
    both("small", "1", "1.0");
    both("signed", "+2", "2.0");
    both("colours", "red", "Red");
    both("colours", "DarkGreen", "dark-green");
    both("flags", "true", "True");
    both("letters", " a", "a ");
}

#[test]
fn keys_that_fit_are_not_changed() {
    for (parameter, keys) in [("flags", ["true", "false"]), ("letters", [" ", "é"])] {
        for policy in [Policy::Lenient, Policy::Lossless, Policy::Strict] {
            let (answer, warnings) = call("maps", policy, &json!({ parameter: { keys[0]: 1, keys[1]: 2 } }));
            assert!(
                answer.is_ok() && warnings.is_empty(),
                "{parameter}: {answer:?} {warnings:?}"
            );
        }
    }
}

#[test]
fn the_schema_states_which_keys_a_map_has() {
    let mut registry = ToolRegistry::new();
    registry.register::<maps>().unwrap();
    let schema = registry.tool_definitions()[0].input_schema.clone();
    let names = |parameter: &str| schema["properties"][parameter]["propertyNames"].clone();
    assert_eq!(names("flags"), json!({ "enum": ["true", "false"] }));
    assert_eq!(
        names("letters"),
        json!({ "type": "string", "minLength": 1, "maxLength": 1 })
    );
    assert_eq!(names("texts"), Value::Null);
    assert_eq!(names("small"), Value::Null);
}

/// Schemas over the wire.
fn dynamic(map: &Value, sent: &Value) -> (Value, Vec<String>) {
    let mut registry = ToolRegistry::new();
    let schema = json!({ "type": "object", "properties": { "m": map } });
    let definition = ToolDefinition::new("tool", "Takes a map.", schema);
    registry
        .register_dynamic(definition, async |arguments: Value, _| arguments)
        .unwrap();
    let request = registry.prepare(ToolCall::new("id", "tool", json!({ "m": sent }).to_string()));
    let issues = request.errors.iter().chain(&request.warnings);
    let told = issues
        .map(|issue| format!("{} {}", issue.code, issue.path))
        .collect();
    (request.arguments["m"].clone(), told)
}

#[test]
fn maps_over_the_wire_know_their_keys() {
    let by_pattern = json!({ "type": "object", "patternProperties": { "^[a-z]+$": { "type": "integer" } }, "additionalProperties": false });
    assert_eq!(
        dynamic(&by_pattern, &json!({ "ab": "1" })).1,
        ["string_literal_converted_to_integer /m/ab"]
    );
    assert_eq!(
        dynamic(&by_pattern, &json!({ " ab ": "1" })),
        (
            json!({ "ab": 1 }),
            vec![
                "map_key_coerced /m/ab".to_owned(),
                "string_literal_converted_to_integer /m/ab".to_owned()
            ]
        )
    );
    assert_eq!(
        dynamic(&by_pattern, &json!({ "A1": 1 })).1,
        ["invalid_map_key /m/A1"]
    );

    let by_name = json!({ "type": "object", "propertyNames": { "enum": ["left", "top_right"] }, "additionalProperties": { "type": "integer" } });
    assert_eq!(dynamic(&by_name, &json!({ "left": 1 })).1, [] as [&str; 0]);
    assert_eq!(
        dynamic(&by_name, &json!({ "topRight": "2" })),
        (
            json!({ "top_right": 2 }),
            vec![
                "map_key_coerced /m/top_right".to_owned(),
                "string_literal_converted_to_integer /m/top_right".to_owned()
            ]
        )
    );
    assert_eq!(
        dynamic(&by_name, &json!({ "right": 1 })).1,
        ["invalid_map_key /m/right"]
    );
    let short = json!({ "type": "object", "propertyNames": { "maxLength": 2 } });
    assert_eq!(
        dynamic(&short, &json!({ "ab": [1], "abc": 2 })).1,
        ["invalid_map_key /m/abc"]
    );

    // All others keep the rule of unknown keys.
    let open = json!({ "type": "object", "properties": { "a": {} }, "patternProperties": { "^x": {} }, "additionalProperties": false });
    assert_eq!(dynamic(&open, &json!({ "b": 1 })).1, ["unknown_property /m/b"]);
}

#[test]
fn a_coerced_key_is_not_missing() {
    let by_name = json!({ "type": "object", "propertyNames": { "enum": ["a", "b"] }, "required": ["a"] });
    assert_eq!(
        dynamic(&by_name, &json!({ " A": 5 })),
        (json!({ "a": 5 }), vec!["map_key_coerced /m/a".to_owned()])
    );
    let by_pattern = json!({ "type": "object", "patternProperties": { "^[0-9]+$": {} }, "additionalProperties": false, "required": ["1"] });
    assert_eq!(
        dynamic(&by_pattern, &json!({ "1.0": 5 })),
        (json!({ "1": 5 }), vec!["map_key_coerced /m/1".to_owned()])
    );
}

/// What one text holds is not taken for what another holds.
#[test]
fn texts_in_texts_are_read_each_for_itself() {
    let inner = json!({ "type": "object", "properties": {
        "u": { "type": ["integer", "boolean"] },
        "t": { "type": "object", "properties": { "x": { "type": "integer" } } },
    } });
    let texts: Vec<_> = (0..40)
        .map(|n| {
            let u = if n % 2 == 0 { json!("true") } else { json!(1) };
            json!(format!("{{\"t\":{},\"u\":{u}}}", json!(format!("{{\"x\":{n}}}"))))
        })
        .collect();
    let (read, _) = dynamic(&json!({ "type": "array", "items": inner }), &Value::Array(texts));
    let places: Vec<_> = read
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["t"]["x"].clone())
        .collect();
    assert_eq!(places, (0..40).map(Value::from).collect::<Vec<_>>());
}

#[test]
fn two_spellings_of_a_required_key_are_not_missing() {
    let map = json!({ "type": "object", "properties": { "a": {} }, "required": ["a"], "propertyNames": { "enum": ["a", "b"] } });
    let errors = dynamic(&map, &json!({ "a": 1, "A": 2 })).1;
    assert_eq!(errors, ["invalid_map_key /m/a", "invalid_map_key /m/A"]);
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
enum Weight {
    Grams(u32),
    Pounds(f64),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "shown by `Debug`")]
enum Shape {
    Round {
        /// In millimetres.
        radius: u32,
    },
    Square {
        /// In millimetres.
        side: u32,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Parcel {
    /// How many.
    count: u8,
    #[serde(flatten)]
    weight: Weight,
    #[serde(flatten)]
    shape: Shape,
}

/// Send a parcel.
#[tool]
async fn send_parcel(
    /// The parcel.
    parcel: Parcel,
) -> String {
    format!("{parcel:?}")
}

#[test]
fn two_flattened_enums_leave_each_other_their_keys() {
    let mut registry = ToolRegistry::new();
    registry.register::<send_parcel>().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for count in [json!(1), json!("1")] {
        let arguments = json!({ "parcel": { "count": count, "Grams": 5, "kind": "Round", "radius": 7 } });
        let outcome = runtime.block_on(registry.call(ToolCall::new("id", "send_parcel", arguments)));
        let expected = "Parcel { count: 1, weight: Grams(5), shape: Round { radius: 7 } }";
        assert_eq!(outcome.result.text(), Some(expected), "{:?}", outcome.errors);
    }
}

#[test]
fn errors_come_in_the_order_of_the_entries() {
    let map = json!({ "type": "object", "propertyNames": { "enum": ["red", "blue"] }, "additionalProperties": { "type": "integer" } });
    let errors = dynamic(&map, &json!({ "red": "x", "y": 2, "blue": "z", "z": 3 })).1;
    assert_eq!(
        errors,
        [
            "unsupported_integer_literal /m/red",
            "invalid_map_key /m/y",
            "unsupported_integer_literal /m/blue",
            "invalid_map_key /m/z",
        ]
    );
}

#[test]
fn many_keys_take_linear_time() {
    let map = json!({ "type": "object", "patternProperties": { "^[0-9]+$": { "type": "integer" } }, "additionalProperties": false });
    let work = |count: usize, key: fn(usize) -> String| {
        let entries: serde_json::Map<_, _> = (0..count).map(|place| (key(place), json!(1))).collect();
        let clock = tests::clock::Clock::start();
        dynamic(&map, &Value::Object(entries));
        clock.worked()
    };
    for key in [(|place| format!("{place}.0")) as fn(usize) -> String, |place| {
        format!("x{place}")
    }] {
        let small = work(1_000, key).max(std::time::Duration::from_millis(10));
        assert!(work(8_000, key) < small * 8 * 4);
    }
}

#[test]
fn the_message_names_the_key_and_what_is_expected() {
    let mut registry = ToolRegistry::new();
    registry.register::<maps>().unwrap();
    let message = |arguments: Value| {
        let request = registry.prepare(ToolCall::new("id", "maps", arguments));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        match request.errors.as_slice() {
            [error] => error.to_string(),
            _ => {
                let call = ToolCall::new("id", "maps", Value::Object(request.arguments));
                runtime.block_on(registry.call(call)).errors[0].to_string()
            }
        }
    };
    assert_eq!(
        message(json!({ "small": { "x": true } })),
        "invalid_map_key:x at /small/x: invalid map key `x`; expected an integer from 0"
    );
    assert_eq!(
        message(json!({ "colours": { "blue": 1 } })),
        "invalid_map_key:blue at /colours/blue: invalid map key `blue`; expected one of \"red\", \"dark_green\""
    );
    assert_eq!(
        message(json!({ "flags": { "yes": 1 } })),
        "invalid_map_key:yes at /flags/yes: invalid map key `yes`; expected one of \"true\", \"false\""
    );
    assert_eq!(
        message(json!({ "letters": { "ab": 1 } })),
        "invalid_map_key:ab at /letters/ab: invalid map key `ab`; expected at most 1 character, got 2"
    );
}

#[test]
fn null_for_a_default_is_told_whether_or_not_it_can_be_shown() {
    let (answer, warnings) = call(
        "maps",
        Policy::Lenient,
        &json!({ "settings": { "depth": null, "label": null } }),
    );
    assert!(
        answer
            .unwrap()
            .ends_with("Some(Settings { depth: Depth(0), label: None })")
    );
    assert_eq!(warnings, ["null_treated_as_missing /settings/depth"]);
}

#[test]
fn nullable_is_null_among_the_types() {
    let map = json!({ "type": "object", "properties": {
        "a": { "type": "integer", "nullable": true },
        "b": { "type": "string", "enum": ["x"], "nullable": true },
        "c": { "allOf": [{ "type": "integer", "minimum": 1 }], "nullable": true },
        "d": { "type": "integer", "nullable": false },
    }, "required": ["a", "b", "c", "d"] });
    let nulls = json!({ "a": null, "b": null, "c": null, "d": null });
    assert_eq!(dynamic(&map, &nulls).1, ["null_not_allowed /m/d"]);
    let values = json!({ "a": 1, "b": "x", "c": 1, "d": 1 });
    assert_eq!(dynamic(&map, &values), (values, vec![]));
}

/// What is nullable becomes one of two alternatives; references into it lead to where it was written.
#[test]
fn references_lead_into_what_is_nullable() {
    let map = json!({ "type": "object", "properties": {
        "a": { "nullable": true, "allOf": [
            { "type": "object" },
            { "nullable": true, "anyOf": [{ "type": "integer", "minimum": 5 }, { "properties": { "b": { "type": "integer" } } }] },
        ] },
        "number": { "$ref": "#/properties/m/properties/a/allOf/1/anyOf/0" },
        "inner": { "$ref": "#/properties/m/properties/a/allOf/1/anyOf/1/properties/b" },
        "both": { "$ref": "#/properties/m/properties/a/allOf/1" },
        "again": { "nullable": true, "$ref": "#/properties/m/properties/a/allOf/0" },
        "whole": { "$ref": "#/properties/m/properties/a" },
    }, "required": ["number", "inner", "both", "again", "whole"] });
    let fits = json!({ "number": 5, "inner": 1, "both": null, "again": null, "whole": null });
    assert_eq!(dynamic(&map, &fits), (fits, vec![]));
    let other = json!({ "number": 4, "inner": null, "both": 6, "again": { "c": 1 }, "whole": { "b": 1 } });
    assert_eq!(
        dynamic(&map, &other).1,
        ["constraint_violated /m/number", "null_not_allowed /m/inner"]
    );
}

#[test]
fn places_in_what_is_nullable_are_those_of_the_schema() {
    let place = |property: Value| {
        let schema = json!({ "type": "object", "properties": { "a": property } });
        let mut registry = ToolRegistry::new();
        let definition = ToolDefinition::new("tool", "Takes a map.", schema);
        let registered = registry.register_dynamic(definition, async |arguments: Value, _| arguments);
        registered.unwrap_err().to_string()
    };
    for (property, path) in [
        (
            json!({ "nullable": true, "$ref": "#/nowhere" }),
            "/properties/a/$ref",
        ),
        (
            json!({ "nullable": true, "allOf": [{ "nullable": true, "anyOf": [{ "type": "text" }] }] }),
            "/properties/a/allOf/0/anyOf/0/type",
        ),
        (
            json!({ "anyOf": [{ "nullable": true, "anyOf": [{ "type": "text" }] }] }),
            "/properties/a/anyOf/0/anyOf/0/type",
        ),
    ] {
        let said = place(property);
        assert!(
            said.contains(&format!("{path}:")) || said.contains(&format!("{path}`")),
            "{said}"
        );
    }
}

#[test]
fn an_empty_text_for_what_is_optional_may_be_left_out() {
    let mut registry = ToolRegistry::new();
    registry.register::<formats>().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let empty = json!({ "from": "", "id": "", "page": "", "until": "" });
    let outcome = runtime.block_on(registry.call(ToolCall::new("id", "formats", empty)));
    for error in &outcome.errors {
        let may_be_left_out = error.message.ends_with("; leave the key out if there is none");
        assert_eq!(may_be_left_out, error.path != "/until", "{error}");
    }
    assert_eq!(outcome.errors.len(), 4, "{:?}", outcome.errors);
}
