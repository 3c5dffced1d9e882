//! Keys of maps, `null` for values with a default, and texts that mean a missing value, in annotated functions.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tests::dynamic_tool;
use tests::runtime::block_on;
use tool_runtime::{Policy, ToolCall, ToolRegistry, tool};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Colour {
    Red,
    DarkGreen,
}

/// Type without `Serialize`, so that schemars cannot write it as a default.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
struct Settings {
    /// Depth of the value.
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
    /// Values by number.
    small: Option<BTreeMap<u32, bool>>,
    /// Values by any number.
    signed: Option<HashMap<i64, bool>>,
    /// Values by colour.
    colours: Option<BTreeMap<Colour, u8>>,
    /// Values by flag.
    flags: Option<BTreeMap<bool, u8>>,
    /// Values by letter.
    letters: Option<BTreeMap<char, u8>>,
    /// Values by text.
    texts: Option<BTreeMap<String, u8>>,
    /// Map whose values have a default.
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
    /// Place of the event.
    page: Option<url::Url>,
    /// The last day.
    until: chrono::NaiveDate,
) -> String {
    format!("{from:?} {id:?} {page:?} {until}")
}

/// Returns the result of a call: its answer or errors, and its warnings, each as `code path`.
fn call(tool: &str, policy: Policy, arguments: &Value) -> (Result<String, Vec<String>>, Vec<String>) {
    let mut registry = ToolRegistry::new().with_policy(policy);
    registry.register::<maps>().unwrap();
    registry.register::<formats>().unwrap();
    let outcome = block_on(registry.call(ToolCall::new("id", tool, arguments.to_string())));
    let listed = |issues: &[tool_runtime::Issue]| {
        let listed = issues
            .iter()
            .map(|issue| format!("{} {}", issue.code, issue.path));
        listed.collect::<Vec<_>>()
    };
    let answer = match outcome.errors.as_slice() {
        [] => Ok(outcome.result.text().unwrap_or_default().to_owned()),
        errors => Err(listed(errors)),
    };
    (answer, listed(&outcome.warnings))
}

fn refused(parameter: &str, map: &Value) -> Vec<String> {
    let arguments = json!({ parameter: map });
    let [lenient, lossless, strict] =
        dynamic_tool::POLICIES.map(|policy| call("maps", policy, &arguments).0.unwrap_err());
    assert_eq!((&lenient, &lenient), (&lossless, &strict), "{map}");
    lenient
}

#[test]
fn rejects_invalid_keys() {
    for (parameter, key) in [
        ("small", "x"),
        ("small", "-1"),
        ("small", "07"),
        ("small", "99999999999"),
        ("small", "1.5"),
        ("small", "99999999999.0"),
        ("small", " 99999999999"),
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

/// The model never sent the normalized key.
#[test]
fn key_that_the_type_rejects_is_named_as_sent() {
    let mut registry = ToolRegistry::new();
    registry.register::<maps>().unwrap();
    let arguments = r#"{"small":{"7.0":true,"4294967296.0":true," 8":true}}"#;
    let outcome = block_on(registry.call(ToolCall::new("id", "maps", arguments)));
    let errors: Vec<_> = outcome.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "invalid_map_key:4294967296.0 at /small/4294967296.0: invalid map key `4294967296.0`; \
          expected an integer from 0 to 4294967295"
        ]
    );
    let warnings = outcome.warnings.iter().map(|issue| issue.path.as_str());
    assert_eq!(warnings.collect::<Vec<_>>(), ["/small/7", "/small/8"]);
    let request = registry.prepare(ToolCall::new("id", "maps", arguments));
    assert_eq!(
        (request.errors, request.warnings),
        (outcome.errors, outcome.warnings)
    );
}

/// The strict forms make each key of such a map required and nullable.
#[test]
fn warns_of_null_entries_of_enum_maps() {
    let arguments = json!({ "colours": { "red": null, "dark_green": 1 } });
    for policy in [Policy::Lenient, Policy::Lossless] {
        let (answer, warnings) = call("maps", policy, &arguments);
        assert!(answer.unwrap().contains("Some({DarkGreen: 1})"));
        assert_eq!(warnings, ["null_treated_as_missing /colours/red"]);
    }
    let (answer, _) = call("maps", Policy::Strict, &arguments);
    assert_eq!(answer.unwrap_err(), ["null_not_allowed /colours/red"]);
    let empty = json!({ "colours": { "red": "", "dark_green": 1 } });
    for policy in [Policy::Lenient, Policy::Lossless] {
        let (answer, warnings) = call("maps", policy, &empty);
        assert!(answer.unwrap().contains("Some({DarkGreen: 1})"));
        assert_eq!(warnings, ["empty_string_treated_as_null /colours/red"]);
    }
    let texts = json!({ "texts": { "a": null } });
    assert_eq!(
        call("maps", Policy::Lenient, &texts).0.unwrap_err(),
        ["null_not_allowed /texts/a"]
    );
}

/// A type to flatten.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only printed")]
struct Page {
    /// Which.
    number: u32,
    /// Duration.
    size: Option<u32>,
}

/// A type with a flattened optional part and a map.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only printed")]
struct Flat {
    #[serde(flatten)]
    page: Option<Page>,
    #[serde(flatten)]
    colours: BTreeMap<Colour, u8>,
}

/// Flattened types.
#[tool]
async fn flattened(
    /// Flattened fields.
    flat: Flat,
) -> String {
    format!("{flat:?}")
}

/// Both fields are optional without accepting `null`, like a field with `#[serde(default)]` (rule 3).
#[test]
fn warns_of_null_for_fields_that_flattened_types_may_lack() {
    let mut registry = ToolRegistry::new();
    registry.register::<flattened>().unwrap();
    let call = |policy, arguments: &Value| {
        let call = ToolCall::new("id", "flattened", arguments.clone()).with_policy(policy);
        let outcome = block_on(registry.call(call));
        let listed = |issues: &[tool_runtime::Issue]| {
            let listed = issues
                .iter()
                .map(|issue| format!("{} {}", issue.code, issue.path));
            listed.collect::<Vec<_>>()
        };
        let (errors, warnings) = (listed(&outcome.errors), listed(&outcome.warnings));
        (
            outcome.result.text().unwrap_or_default().to_owned(),
            errors,
            warnings,
        )
    };
    let arguments = json!({ "flat": { "number": null, "size": 7, "red": null, "dark_green": 1 } });
    for policy in [Policy::Lenient, Policy::Lossless] {
        let (answer, errors, warnings) = call(policy, &arguments);
        assert_eq!(
            answer, "Flat { page: None, colours: {DarkGreen: 1} }",
            "{errors:?}"
        );
        let expected = [
            "null_treated_as_missing /flat/number",
            "null_treated_as_missing /flat/red",
        ];
        assert_eq!(warnings, expected);
    }
    let (_, errors, _) = call(Policy::Strict, &arguments);
    assert_eq!(
        errors,
        ["null_not_allowed /flat/number", "null_not_allowed /flat/red"]
    );
    // An `Option` accepts `null`.
    let optional = json!({ "flat": { "number": 1, "size": null } });
    for policy in dynamic_tool::POLICIES {
        let (answer, errors, warnings) = call(policy, &optional);
        assert!(answer.contains("size: None"), "{answer} {errors:?}");
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}

/// A type that is optional as a whole.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only printed")]
struct Span {
    /// Beginning of the window.
    from: u8,
    /// End of the window.
    to: u8,
}

/// A type with a part that serde reads completely or ignores.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only printed")]
struct Window {
    /// Name.
    name: String,
    #[serde(flatten)]
    span: Option<Span>,
}

/// A window.
#[tool]
async fn window(
    /// Fields of the window.
    window: Window,
) -> String {
    format!("{:?}", window.span)
}

/// `docs/coercion.md` specifies this behaviour.
#[test]
fn flattened_option_is_none_if_it_is_sent_in_part() {
    let mut registry = ToolRegistry::new();
    registry.register::<window>().unwrap();
    for policy in dynamic_tool::POLICIES {
        for (sent, span) in [
            (json!({ "from": 1, "to": 2 }), "Some(Span { from: 1, to: 2 })"),
            (json!({ "from": 1 }), "None"),
            (json!({}), "None"),
        ] {
            let mut arguments = json!({ "window": sent });
            arguments["window"]["name"] = "w".into();
            let serde: Window = serde_json::from_value(arguments["window"].clone()).unwrap();
            assert_eq!(format!("{:?}", serde.span), span);
            let call = ToolCall::new("id", "window", arguments).with_policy(policy);
            let outcome = block_on(registry.call(call));
            assert_eq!(outcome.result.text(), Some(span), "{policy:?}");
            assert!(outcome.warnings.is_empty());
        }
    }
}

#[test]
fn coerces_keys() {
    for (parameter, key, read) in [
        ("small", "1.0", "1"),
        ("small", " 7", "7"),
        ("small", "+7", "7"),
        ("signed", "-1e1", "-10"),
        ("signed", "-0", "0"),
        ("signed", " -0", "0"),
        ("small", "-0", "0"),
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
fn rejects_keys_that_coerce_to_the_same_key() {
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
    both("signed", "-0", "0");
    both("colours", "red", "Red");
    both("colours", "DarkGreen", "dark-green");
    both("flags", "true", "True");
    both("letters", " a", "a ");
}

#[test]
fn valid_keys_are_unchanged() {
    for (parameter, keys) in [("flags", ["true", "false"]), ("letters", [" ", "é"])] {
        for policy in dynamic_tool::POLICIES {
            let (answer, warnings) = call("maps", policy, &json!({ parameter: { keys[0]: 1, keys[1]: 2 } }));
            assert!(
                answer.is_ok() && warnings.is_empty(),
                "{parameter}: {answer:?} {warnings:?}"
            );
        }
    }
}

#[test]
fn schema_states_the_keys_of_maps() {
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

/// Schemas that were serialized.
fn dynamic(map: &Value, sent: &Value) -> (Value, Vec<String>) {
    let registry = dynamic_tool::registry(&json!({ "type": "object", "properties": { "m": map } }));
    let request = dynamic_tool::prepare(&registry, json!({ "m": sent }).to_string(), Policy::Lenient);
    let issues = request.errors.iter().chain(&request.warnings);
    let listed = issues
        .map(|issue| format!("{} {}", issue.code, issue.path))
        .collect();
    (request.arguments["m"].clone(), listed)
}

#[test]
fn dynamic_maps_coerce_keys_by_pattern_and_name() {
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
    for (map, sent, read, issues) in [
        (
            &by_name,
            json!({ "left": null }),
            json!({}),
            &["null_treated_as_missing /m/left"][..],
        ),
        (
            &by_name,
            json!({ "Left": null, "top_right": 1 }),
            json!({ "top_right": 1 }),
            &["map_key_coerced /m/left", "null_treated_as_missing /m/left"],
        ),
        (
            &by_name,
            json!({ "right": null }),
            json!({ "right": null }),
            &["invalid_map_key /m/right"],
        ),
        (
            &json!({ "type": "object", "propertyNames": { "enum": ["a"] }, "additionalProperties": { "type": "integer" }, "required": ["a"] }),
            json!({ "a": null }),
            json!({ "a": null }),
            &["null_not_allowed /m/a"],
        ),
        (
            &json!({ "type": "object", "propertyNames": { "enum": ["a"] }, "additionalProperties": { "type": ["integer", "null"] } }),
            json!({ "a": null }),
            json!({ "a": null }),
            &[],
        ),
        (
            &json!({ "type": "object", "propertyNames": { "enum": ["a", "b"] }, "patternProperties": { "^a": { "type": "integer" } } }),
            json!({ "a": null }),
            json!({}),
            &["null_treated_as_missing /m/a"],
        ),
        (
            &json!({ "type": "object", "propertyNames": { "enum": ["a"] }, "additionalProperties": { "type": "integer" }, "minProperties": 1 }),
            json!({ "a": null }),
            json!({}),
            &["null_treated_as_missing /m/a", "constraint_violated /m"],
        ),
        (
            &json!({ "type": "object", "propertyNames": { "maxLength": 2 }, "additionalProperties": { "type": "integer" } }),
            json!({ "a": null }),
            json!({ "a": null }),
            &["null_not_allowed /m/a"],
        ),
    ] {
        let mut listed: Vec<_> = issues.iter().map(ToString::to_string).collect();
        let (value, mut found) = dynamic(map, &sent);
        listed.sort();
        found.sort();
        assert_eq!((value, found), (read, listed), "{map} {sent}");
    }
    let short = json!({ "type": "object", "propertyNames": { "maxLength": 2 } });
    assert_eq!(
        dynamic(&short, &json!({ "ab": [1], "abc": 2 })).1,
        ["invalid_map_key /m/abc"]
    );

    // All others follow the rule for unknown keys.
    let open = json!({ "type": "object", "properties": { "a": {} }, "patternProperties": { "^x": {} }, "additionalProperties": false });
    assert_eq!(dynamic(&open, &json!({ "b": 1 })).1, ["unknown_property /m/b"]);
}

#[test]
fn dynamic_enum_maps_read_empty_texts_as_missing() {
    let map = |keywords: Value| {
        let mut map = json!({ "type": "object", "propertyNames": { "enum": ["a", "b"] } });
        map.as_object_mut()
            .unwrap()
            .extend(keywords.as_object().unwrap().clone());
        map
    };
    let integers = map(json!({ "additionalProperties": { "type": "integer" } }));
    let empty = [
        "empty_string_treated_as_null /m/a",
        "empty_string_treated_as_null /m/b",
    ];
    assert_eq!(
        dynamic(&integers, &json!({ "a": "", "b": " None " })),
        (json!({}), empty.map(str::to_owned).to_vec())
    );
    let sent = json!({ "a": "" });
    let texts = map(json!({ "additionalProperties": { "type": "string" } }));
    assert_eq!(dynamic(&texts, &sent), (sent.clone(), vec![]));
    let required = map(json!({ "additionalProperties": { "type": "integer" }, "required": ["a"] }));
    assert_eq!(dynamic(&required, &sent).1, ["unsupported_integer_literal /m/a"]);
}

#[test]
fn coerced_key_satisfies_required() {
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

/// Values of one nested string are not read as values of another.
#[test]
fn decodes_each_nested_string_separately() {
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
fn two_spellings_of_a_required_key_are_not_reported_as_missing() {
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
        /// Size in millimetres.
        radius: u32,
    },
    Square {
        /// Size in millimetres.
        side: u32,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Parcel {
    /// Number of tiles.
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
fn two_flattened_enums_share_an_object() {
    let mut registry = ToolRegistry::new();
    registry.register::<send_parcel>().unwrap();
    for count in [json!(1), json!("1")] {
        let arguments = json!({ "parcel": { "count": count, "Grams": 5, "kind": "Round", "radius": 7 } });
        let outcome = block_on(registry.call(ToolCall::new("id", "send_parcel", arguments)));
        let expected = "Parcel { count: 1, weight: Grams(5), shape: Round { radius: 7 } }";
        assert_eq!(outcome.result.text(), Some(expected), "{:?}", outcome.errors);
    }
}

#[test]
fn errors_are_in_the_order_of_entries() {
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
fn keys_are_coerced_in_linear_time() {
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
fn message_names_the_key_and_the_expected_type() {
    let mut registry = ToolRegistry::new();
    registry.register::<maps>().unwrap();
    let message = |arguments: Value| {
        let request = registry.prepare(ToolCall::new("id", "maps", arguments));
        match request.errors.as_slice() {
            [error] => error.to_string(),
            _ => {
                let call = ToolCall::new("id", "maps", Value::Object(request.arguments));
                block_on(registry.call(call)).errors[0].to_string()
            }
        }
    };
    assert_eq!(
        message(json!({ "small": { "x": true } })),
        "invalid_map_key:x at /small/x: invalid map key `x`; expected an integer of at least 0"
    );
    for (parameter, key, wanted) in [
        ("small", "07", "an integer, written `7`"),
        ("small", "99999999999", "an integer from 0 to 4294967295"),
        ("signed", "-07", "an integer, written `-7`"),
        (
            "signed",
            "99999999999999999999",
            "an integer from -9223372036854775808 to 9223372036854775807",
        ),
    ] {
        assert_eq!(
            message(json!({ parameter: { key: true } })),
            format!(
                "invalid_map_key:{key} at /{parameter}/{key}: invalid map key `{key}`; expected {wanted}"
            )
        );
    }
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
fn warns_of_null_for_a_default() {
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
fn nullable_allows_null() {
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

/// A nullable schema becomes one of two alternatives; references into it point to its old position.
#[test]
fn references_into_nullable_schemas_resolve() {
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
fn errors_in_nullable_schemas_have_the_path_as_written() {
    let place = |property: Value| {
        let schema = json!({ "type": "object", "properties": { "a": property } });
        dynamic_tool::try_registry(&schema).unwrap_err()
    };
    for (property, path) in [
        (
            json!({ "nullable": true, "$ref": "#/nowhere" }),
            "/properties/a/$ref",
        ),
        (
            json!({ "nullable": true, "allOf": [{ "nullable": true, "anyOf": [{ "type": "strnig" }] }] }),
            "/properties/a/allOf/0/anyOf/0/type",
        ),
        (
            json!({ "anyOf": [{ "nullable": true, "anyOf": [{ "type": "strnig" }] }] }),
            "/properties/a/anyOf/0/anyOf/0/type",
        ),
    ] {
        let error = place(property);
        assert!(
            error.contains(&format!("{path}:")) || error.contains(&format!("{path}`")),
            "{error}"
        );
    }
}

#[test]
fn error_for_an_empty_optional_string_suggests_to_omit_it() {
    let mut registry = ToolRegistry::new();
    registry.register::<formats>().unwrap();
    let empty = json!({ "from": "", "id": "", "page": "", "until": "" });
    let lenient = block_on(registry.call(ToolCall::new("id", "formats", empty.clone())));
    let paths: Vec<_> = lenient.errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!((paths, lenient.warnings.len()), (vec!["/until"], 3));
    let call = ToolCall::new("id", "formats", empty).with_policy(Policy::Lossless);
    let outcome = block_on(registry.call(call));
    for error in &outcome.errors {
        let may_be_left_out = error.message.ends_with(" leave it out");
        assert_eq!(may_be_left_out, error.path != "/until", "{error}");
    }
    assert_eq!(outcome.errors.len(), 4, "{:?}", outcome.errors);
}
