//! Limits for any input and schema: no panic, no overflow of a small stack, and no cost beyond the size of the input.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tests::clock::Clock;
use tests::dynamic_tool::{POLICIES, prepare, registry};
use tests::instances;
use tests::long::properties_long;
use tests::random::Random;
use tests::schemas::{self, Kinds};
use tests::values;
use tool_runtime::{Policy, RawArguments, ToolCall, ToolRegistry};

/// Returns schemas with some values and texts.
const SCHEMAS: usize = 250;
const SCHEMAS_LONG: usize = 20_000;

/// Returns a schema that is recursive in every possible way.
fn recurring() -> Value {
    json!({
        "type": "object",
        "properties": {
            "plain": { "$ref": "#/$defs/Plain" },
            "union": { "$ref": "#/$defs/Union" },
            "parts": { "$ref": "#/$defs/Parts" },
            "lists": { "$ref": "#/$defs/Lists" },
            "wrapped": { "$ref": "#/$defs/Wrapped" },
            "number_or_list": { "$ref": "#/$defs/NumberOrList" },
            "exclusive": { "$ref": "#/$defs/Exclusive" },
            "wrapped_union": { "$ref": "#/$defs/WrappedUnion" },
            "tagged": { "$ref": "#/$defs/Tagged" },
            "map": { "$ref": "#/$defs/Map" },
            "map_union": { "$ref": "#/$defs/MapUnion" },
            "any": {},
        },
        "$defs": {
            "Plain": { "type": "object", "properties": { "a": { "$ref": "#/$defs/Plain" } } },
            "Union": { "anyOf": [
                { "type": "object", "properties": { "a": { "$ref": "#/$defs/Union" } } },
                { "type": "integer" },
                { "type": "boolean" },
            ] },
            "Parts": { "allOf": [
                { "type": "object", "properties": { "a": { "$ref": "#/$defs/Parts" } }, "additionalProperties": { "type": "string" } },
                { "type": "object", "patternProperties": { "^b": { "type": "integer" } } },
            ] },
            "Lists": { "type": "array", "items": { "$ref": "#/$defs/Lists" } },
            "Wrapped": { "properties": { "a": { "type": "array", "items": { "$ref": "#/$defs/Wrapped" } } } },
            "NumberOrList": { "anyOf": [{ "type": "integer" }, { "type": "array", "items": { "$ref": "#/$defs/NumberOrList" } }] },
            "Exclusive": { "oneOf": [
                { "type": "integer" },
                { "type": "array", "items": { "$ref": "#/$defs/Exclusive" } },
                { "type": "object", "additionalProperties": { "$ref": "#/$defs/Exclusive" } },
            ] },
            "WrappedUnion": { "anyOf": [
                { "type": "integer" },
                { "type": "object", "properties": { "a": { "type": "array", "items": { "$ref": "#/$defs/WrappedUnion" } } } },
            ] },
            "Tagged": { "oneOf": [
                { "type": "object", "properties": { "a": { "$ref": "#/$defs/Tagged" } }, "required": ["a"] },
                { "type": "object", "properties": { "b": { "$ref": "#/$defs/Tagged" } }, "required": ["b"] },
                { "type": "integer" },
            ] },
            "Map": { "type": "object", "additionalProperties": { "$ref": "#/$defs/Map" } },
            "MapUnion": { "anyOf": [
                { "type": "integer" },
                { "allOf": [
                    { "type": "object", "additionalProperties": { "$ref": "#/$defs/MapUnion" } },
                    { "type": "object", "minProperties": 1 },
                ] },
            ] },
        },
    })
}

/// Runs on a thread with a stack of this size.
fn on_a_stack_of(kilobytes: usize, run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(kilobytes << 10).spawn(run);
    if let Err(panic) = thread.expect("a thread").join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn random_input_never_panics() {
    let long = properties_long();
    on_a_stack_of(512, move || {
        let mut random = Random::new(9);
        for _ in 0..if long { SCHEMAS_LONG } else { SCHEMAS } {
            let schema = schemas::tool(&mut random, Kinds { unions: true });
            let registry = registry(&schema);
            for value in [
                instances::object(&mut random, &schema),
                values::any(&mut random, 6),
                quoted(&mut random, &schema),
            ] {
                let text = garbled(&mut random, &value.to_string());
                for policy in POLICIES {
                    prepare(&registry, value.clone(), policy);
                    prepare(&registry, value.to_string(), policy);
                    prepare(&registry, text.clone(), policy);
                }
            }
        }
    });
}

/// Returns a value whose strings contain JSON, which contains strings with JSON.
fn quoted(random: &mut Random, schema: &Value) -> Value {
    let fitting = instances::object(random, schema);
    let fields = fitting.as_object().into_iter().flatten();
    let parts = fields.map(|(name, part)| (name.clone(), json!(json!(part.to_string()).to_string())));
    Value::Object(parts.collect())
}

/// Returns the text with a byte removed, added or changed.
fn garbled(random: &mut Random, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    let place = random.below(bytes.len());
    match random.below(3) {
        0 => drop(bytes.remove(place)),
        1 => bytes.insert(place, *random.pick(b"{}[]\",:\\e-\xff\0")),
        _ => bytes[place] = *random.pick(b"{}[]\",:\\e-\xff\0"),
    }
    bytes
}

/// Maximum stack for any arguments, in KiB, as stated in SECURITY.md.
const STACK: usize = if cfg!(debug_assertions) { 1024 } else { 512 };

/// Schemas and values of the allowed depth, and deeper values, in every form of recursion.
#[test]
fn recursive_schemas_do_not_overflow_the_stack() {
    on_a_stack_of(STACK, || {
        let registry = registry(&recurring());
        for key in recurring()["properties"].as_object().unwrap().keys() {
            let is_list = ["lists", "number_or_list"].contains(&key.as_str());
            let (open, close) = if is_list {
                ("[", "]")
            } else {
                ("{\"A\":\"1\",\"a\":", "}")
            };
            for levels in [62, 127, 129, 1_000] {
                let deep = json!(format!("{}{}", open.repeat(128), close.repeat(128))).to_string();
                for leaf in ["{}", "\"1\"", "7", "\"x\"", &deep] {
                    let (open, close) = (open.repeat(levels), close.repeat(levels));
                    let text = format!("{{\"{key}\":{open}{leaf}{close}}}");
                    for policy in POLICIES {
                        let request = prepare(&registry, text.clone(), policy);
                        assert!(levels < 129 || !request.errors.is_empty(), "{key}: {levels}");
                    }
                    if let Ok(value) = text.parse::<Value>() {
                        prepare(&registry, value, Policy::Lenient);
                    }
                }
            }
        }
    });
}

/// Builds a tool whose arguments are recursive through keywords that are enforced after coercion.
fn recurring_assertions() -> Value {
    let never = json!({ "required": ["never"] });
    let inner = json!({ "properties": { "a": { "$ref": "#/$defs/Chain" } } });
    let chain = (0..40).fold(inner, |inner, _| json!({ "not": inner }));
    json!({
        "type": "object",
        "properties": {
            "not": { "$ref": "#/$defs/Not" },
            "if": { "$ref": "#/$defs/If" },
            "dependent": { "$ref": "#/$defs/Dependent" },
            "contains": { "$ref": "#/$defs/Contains" },
            "unevaluated": { "$ref": "#/$defs/Unevaluated" },
            "union": { "$ref": "#/$defs/Union" },
            "exclusive": { "$ref": "#/$defs/Exclusive" },
            "parts": { "$ref": "#/$defs/Parts" },
            "chain": { "$ref": "#/$defs/Chain" },
        },
        "$defs": {
            "Chain": { "anyOf": [
                { "type": "integer" },
                { "type": "object", "properties": { "a": { "$ref": "#/$defs/Chain" } }, "allOf": [chain] },
            ] },
            "Not": { "properties": { "a": { "$ref": "#/$defs/Not" } }, "not": {
                "properties": { "a": { "not": { "$ref": "#/$defs/Not" } } }, "required": ["a"],
            } },
            "If": { "if": { "required": ["a"] }, "then": { "properties": { "a": { "$ref": "#/$defs/If" } } }, "else": never },
            "Dependent": { "dependentSchemas": { "a": { "properties": { "a": { "$ref": "#/$defs/Dependent" } } } } },
            "Contains": { "contains": { "$ref": "#/$defs/Contains" } },
            "Unevaluated": { "allOf": [{ "properties": { "b": {} } }], "unevaluatedProperties": { "$ref": "#/$defs/Unevaluated" } },
            "Union": { "anyOf": [
                { "type": "object", "properties": { "a": { "$ref": "#/$defs/Union" } }, "not": never },
                { "type": "integer", "not": { "const": 7 } },
                { "type": "boolean" },
            ] },
            "Exclusive": { "oneOf": [
                { "type": "integer" },
                { "type": "array", "items": { "$ref": "#/$defs/Exclusive" } },
                { "type": "object", "additionalProperties": { "$ref": "#/$defs/Exclusive" }, "not": never },
                { "type": "object", "additionalProperties": { "$ref": "#/$defs/Exclusive" }, "required": ["never"] },
            ] },
            "Parts": { "allOf": [
                { "type": "object", "properties": { "a": { "$ref": "#/$defs/Parts" } }, "not": never },
                { "type": "object", "patternProperties": { "^a": { "$ref": "#/$defs/Parts" } }, "unevaluatedProperties": false },
            ] },
        },
    })
}

#[test]
fn recursive_assertions_do_not_overflow_the_stack() {
    on_a_stack_of(STACK, || {
        let registry = registry(&recurring_assertions());
        for key in recurring_assertions()["properties"].as_object().unwrap().keys() {
            let (open, close) = if key == "contains" {
                ("[", "]")
            } else {
                ("{\"a\":", "}")
            };
            for levels in [31, 62, 126, 129] {
                for leaf in ["{}", "\"1\"", "7", "\"x\""] {
                    let (open, close) = (open.repeat(levels), close.repeat(levels));
                    let text = format!("{{\"{key}\":{open}{leaf}{close}}}");
                    for policy in POLICIES {
                        let request = prepare(&registry, text.clone(), policy);
                        assert!(levels < 129 || !request.errors.is_empty(), "{key}: {levels}");
                    }
                }
            }
        }
    });
}

/// Conjunctions of unions take more time than other schemas, but overflow no stack.
#[test]
fn conjunctions_of_unions_do_not_overflow_the_stack() {
    on_a_stack_of(STACK, || {
        let inner = json!({ "a": { "$ref": "#/$defs/Both" } });
        let both = json!({ "allOf": [
            { "anyOf": [
                { "type": "object", "properties": { "A": { "type": "integer" } }, "required": ["A"] },
                { "type": "object", "required": ["b"] },
            ] },
            { "anyOf": [
                { "type": "object", "properties": inner },
                { "type": "object", "properties": inner, "required": ["b"] },
            ] },
        ] });
        let registry = registry(
            &json!({ "type": "object", "properties": { "it": { "$ref": "#/$defs/Both" } }, "$defs": { "Both": both } }),
        );
        for levels in [31, 126] {
            let nested = (0..levels).fold("\"x\"".to_owned(), |inner, _| {
                format!("{{\"A\":\"1\",\"a\":{inner}}}")
            });
            let request = prepare(&registry, format!("{{\"it\":{nested}}}"), Policy::Lenient);
            assert!(!request.errors.is_empty(), "{levels}");
        }
    });
}

/// A value of any kind, which the function receives unchanged, in a tool with its own types.
#[test]
fn calls_of_functions_do_not_overflow_the_stack() {
    /// Counts levels.
    #[tool_runtime::tool]
    async fn count(
        /// Any value.
        any: Value,
        /// Unused value.
        count: Option<u32>,
    ) -> usize {
        let mut levels = 0;
        let mut inner = &any;
        while let Some(item) = inner.get(0) {
            (inner, levels) = (item, levels + 1);
        }
        levels + count.unwrap_or_default() as usize
    }

    on_a_stack_of(STACK, || {
        let mut registry = ToolRegistry::new();
        registry.register::<count>().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for levels in [100, 127, 128, 1_000] {
            for more in ["", ",\"count\":\"0\""] {
                let text = format!("{{\"any\":{}{}{more}}}", "[".repeat(levels), "]".repeat(levels));
                let result = runtime.block_on(registry.execute_tool("id", "count", text));
                let expected = (levels - 1).to_string();
                assert_eq!(
                    result.text() == Some(&expected),
                    levels < 128,
                    "{levels}: {:?}",
                    result.text()
                );
            }
        }
    });
}

/// Too many nested unions are an error, with and without a tree: for valid arguments as text and as a value, and for arguments with a
/// coercion.
#[test]
fn depth_of_unions_is_limited_on_every_path() {
    let union = json!({ "anyOf": [{ "type": "integer" }, { "type": "object", "properties": { "a": { "$ref": "#/$defs/Union" } } }] });
    let tagged = |kind: &str| {
        let inside =
            json!({ "kind": { "type": "string", "const": kind }, "a": { "$ref": "#/$defs/Tagged" } });
        json!({ "type": "object", "properties": inside, "required": ["kind"] })
    };
    let twice = json!({ "anyOf": [{ "type": "integer" }, { "$ref": "#/$defs/Inner" }] });
    let inner = json!({ "anyOf": [{ "type": "boolean" }, { "type": "object", "properties": { "a": { "$ref": "#/$defs/Twice" } } }] });
    let registry = registry(&json!({
        "type": "object",
        "properties": {
            "union": { "$ref": "#/$defs/Union" },
            "tagged": { "$ref": "#/$defs/Tagged" },
            "twice": { "$ref": "#/$defs/Twice" },
            "count": { "type": "integer" },
        },
        "$defs": {
            "Union": union,
            "Tagged": { "oneOf": [tagged("x"), tagged("y")] },
            "Twice": twice,
            "Inner": inner,
        },
    }));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (key, open, unions) in [
        ("union", "{\"a\":", 1),
        ("tagged", "{\"kind\":\"x\",\"a\":", 1),
        ("twice", "{\"a\":", 2),
    ] {
        for levels in [31, 32, 33, 63, 64, 65, 66, 100] {
            let leaf = if key == "tagged" { "{\"kind\":\"y\"}" } else { "{}" };
            let nested = format!("{}{leaf}{}", open.repeat(levels - 1), "}".repeat(levels - 1));
            let expected: &[&str] = if levels * unions <= 64 { &[] } else { &["too_deep"] };
            for more in ["", ",\"count\":1", ",\"count\":\"1\""] {
                let text = format!("{{\"{key}\":{nested}{more}}}");
                let value: Value = text.parse().unwrap();
                for arguments in [RawArguments::from(text), RawArguments::from(value)] {
                    let outcome = runtime.block_on(registry.call(ToolCall::new("id", "tool", arguments)));
                    let codes: Vec<_> = outcome.errors.iter().map(|error| error.code.as_str()).collect();
                    assert_eq!(codes, expected, "{key}: {levels}{more}");
                }
            }
        }
    }
}

/// The depth is measured in the result: a value that is wrapped into a list on every level has twice the depth.
#[test]
fn wrapped_values_count_as_depth() {
    let registry = registry(&recurring());
    for sent in [10, 62, 63, 64, 70, 100, 126] {
        let nested = (0..sent).fold("{}".to_owned(), |inner, _| format!("{{\"a\":{inner}}}"));
        let request = prepare(&registry, format!("{{\"wrapped\":{nested}}}"), Policy::Lenient);
        let codes: Vec<_> = request.errors.iter().map(|error| error.code.as_str()).collect();
        if sent < 64 {
            assert_eq!(codes, [] as [&str; 0], "{sent}");
            let again = prepare(
                &registry,
                Value::Object(request.arguments.clone()),
                Policy::Lenient,
            );
            assert_eq!(again.arguments, request.arguments);
            assert!(again.errors.is_empty() && again.warnings.is_empty(), "{sent}");
        } else {
            assert_eq!(codes, ["too_deep"], "{sent}");
        }
    }
}

/// The values in a JSON string count as depth, at any position of the string.
#[test]
fn decoded_strings_count_as_depth() {
    let registry = registry(&json!({ "type": "object", "properties": {
        "any": { "type": "array" },
        "lists": { "type": "array", "items": { "type": "array" } },
        "either": { "anyOf": [{ "type": "integer" }, { "type": "array", "items": { "type": "array" } }] },
    } }));
    for key in ["any", "lists", "either"] {
        for (levels, fits) in [(127, true), (128, false), (1_000, false)] {
            let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            let request = prepare(&registry, json!({ key: nested }), Policy::Lenient);
            let codes: Vec<_> = request.errors.iter().map(|error| error.code.as_str()).collect();
            let expected: &[&str] = match (fits, key) {
                (true, _) => &[],
                // An alternative that is too deep does not match. The error of the closest alternative contains the reason.
                (false, _) => &["too_deep"],
            };
            assert_eq!(codes, expected, "{key}: {levels}");
        }
        let whole = format!("{{\"x\":{}{}}}", "[".repeat(128), "]".repeat(128));
        let request = prepare(&registry, Value::String(whole).to_string(), Policy::Lenient);
        assert_eq!(request.errors[0].code.as_str(), "too_deep");
    }
}

/// A list of strings cannot contain lists, so a text of any depth is one item.
#[test]
fn deep_text_is_an_item_of_a_list_of_strings() {
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    let registry = registry(&json!({ "type": "object", "properties": {
        "texts": strings,
        "either": { "anyOf": [{ "type": "integer" }, strings] },
    } }));
    for key in ["texts", "either"] {
        for text in [
            "[".repeat(127),
            "[".repeat(129),
            format!("{}{}", "[".repeat(127), "]".repeat(127)),
            format!("{}{}", "[".repeat(1_000), "]".repeat(1_000)),
        ] {
            let request = prepare(&registry, json!({ key: text }), Policy::Lenient);
            assert!(request.errors.is_empty(), "{key}: {:?}", request.errors);
            let codes: Vec<_> = request.warnings.iter().map(|issue| issue.code.as_str()).collect();
            assert_eq!(codes, ["scalar_coerced_to_list"], "{key}");
            assert_eq!(request.arguments[key], json!([text]));
        }
    }
}

/// The text of an object with as many levels as remain. The object would be too deep as the item of a list.
#[test]
fn too_deep_alternative_does_not_exclude_others() {
    let registry = registry(&json!({ "type": "object", "properties": {
        "it": { "type": ["array", "object"], "items": { "type": "object" } },
    } }));
    for (levels, codes) in [(100, &[][..]), (127, &[]), (128, &["too_deep"])] {
        let text = (1..levels).fold("{}".to_owned(), |inner, _| format!("{{\"a\":{inner}}}"));
        let request = prepare(&registry, json!({ "it": text }), Policy::Lenient);
        let found: Vec<_> = request.errors.iter().map(|error| error.code.as_str()).collect();
        assert_eq!(found, codes, "{levels}");
    }
}

/// Wrapped into a list on each level, the value would be in too many unions. The value is valid as objects.
#[test]
fn object_read_as_an_array_is_not_too_deep() {
    let registry = registry(
        &json!({ "type": "object", "properties": { "it": { "$ref": "#/$defs/It" } },
        "$defs": { "It": { "anyOf": [
            { "type": "integer" },
            { "type": "array", "items": { "$ref": "#/$defs/It" } },
            { "type": "object", "properties": { "a": { "$ref": "#/$defs/It" } }, "required": ["a"] },
        ] } } }),
    );
    for levels in [31, 32, 40, 60] {
        let nested = |leaf: Value| (0..levels).fold(leaf, |inner, _| json!({ "a": inner }));
        let request = prepare(&registry, json!({ "it": nested(json!("1")) }), Policy::Lenient);
        assert!(request.errors.is_empty(), "{levels}: {:?}", request.errors);
        assert_eq!(request.arguments["it"], nested(json!(1)), "{levels}");
        let codes: Vec<_> = request.warnings.iter().map(|issue| issue.code.as_str()).collect();
        assert_eq!(codes, ["string_literal_converted_to_integer"], "{levels}");
    }
}

/// An alternative in too many unions does not match. Other alternatives are tried with the full depth.
#[test]
fn too_deep_trial_does_not_exclude_other_alternatives() {
    let object = |schema: &str| json!({ "type": "object", "properties": { "a": { "$ref": schema } }, "required": ["a"] });
    let it = json!({ "$ref": "#/$defs/It" });
    let integer = json!({ "type": "integer" });
    for (name, alternatives) in [
        (
            "a list of the value is in one union more",
            json!([integer, { "type": "array", "items": it }, object("#/$defs/It")]),
        ),
        (
            "the first alternative is in two unions on each level",
            json!([object("#/$defs/Inner"), object("#/$defs/It"), integer]),
        ),
        (
            "so is the last",
            json!([integer, object("#/$defs/It"), object("#/$defs/Inner")]),
        ),
    ] {
        let inner = json!({ "anyOf": [{ "type": "boolean" }, it] });
        let registry = registry(&json!({
            "type": "object",
            "properties": { "it": it },
            "$defs": { "It": { "anyOf": alternatives }, "Inner": inner },
        }));
        for levels in [31, 32, 33, 62, 63, 64, 100] {
            let nested = |leaf: Value| (0..levels).fold(leaf, |inner, _| json!({ "a": inner }));
            for (leaf, taken) in [(json!(1), 1), (json!("1"), 1), (json!(3.25), 3)] {
                let request = prepare(&registry, json!({ "it": nested(leaf.clone()) }), Policy::Lenient);
                let codes: Vec<_> = request.errors.iter().map(|error| error.code.as_str()).collect();
                if levels > 63 {
                    assert_eq!(codes, ["too_deep"], "{name}: {levels} levels, {leaf}");
                } else {
                    assert_eq!(codes, [] as [&str; 0], "{name}: {levels} levels, {leaf}");
                    assert_eq!(request.arguments["it"], nested(json!(taken)), "{name}: {levels}");
                }
            }
        }
    }
}

/// Each JSON encoding of a value doubles its length, so the work to read the value only doubles, too.
#[test]
fn values_encoded_many_times_take_linear_time() {
    let registry = registry(&recurring());
    let encoded = |times: usize| {
        let value = (0..times).fold(json!(1), |inner, _| json!([inner.to_string()]));
        json!({ "number_or_list": value }).to_string()
    };
    let work = |text: &str| {
        let clock = Clock::start();
        for _ in 0..5 {
            let request = prepare(&registry, text, Policy::Lenient);
            assert!(request.errors.is_empty(), "{:?}", request.errors.first());
        }
        clock.worked() / 5
    };
    let (half, whole) = (encoded(14), encoded(15));
    assert!(half.len() > 32_000 && whole.len() > 64_000);
    let least = |text: &str| (0..9).map(|_| work(text)).min().unwrap();
    let (small, large) = (least(&half), least(&whole));
    let a_millisecond_per_kilobyte = Duration::from_millis(if cfg!(debug_assertions) { 1024 } else { 64 });
    assert!(large < a_millisecond_per_kilobyte, "{large:?}");
    // Quadratic time would be four times as much. Times below the resolution of the clock count as the resolution.
    assert!(
        large < small.max(Duration::from_millis(2)) * 3,
        "{small:?}, twice as much {large:?}"
    );
}

/// At each level near the maximum depth, a value may be tried as an object, and again as a list of objects.
#[test]
fn recursive_unions_near_the_limit_of_depth_are_fast() {
    let object = |value: Value| json!({ "type": "object", "properties": { "a": value }, "required": ["a"] });
    let next = json!({ "$ref": "#/$defs/N" });
    let list = json!({ "type": "array", "items": next });
    let union = json!({ "anyOf": [{ "type": "boolean" }, object(next), object(list.clone()), list] });
    let registry = registry(
        &json!({ "type": "object", "properties": { "v": { "$ref": "#/$defs/N" } }, "$defs": { "N": union } }),
    );
    for levels in [30, 45, 60, 63, 70, 120] {
        let nested = (0..levels).fold("\"q\"".to_owned(), |inner, _| format!("{{\"a\":{inner}}}"));
        let clock = Clock::start();
        let request = prepare(&registry, format!("{{\"v\":{nested}}}"), Policy::Lenient);
        let worked = clock.worked();
        assert!(!request.errors.is_empty(), "{levels}");
        let most = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 100 });
        assert!(worked < most, "{levels}: {worked:?}");
    }
}

/// A conjunction of two unions. The first union changes the input of the second, and alternatives of the second contain the conjunction
/// again.
#[test]
fn conjunctions_of_unions_take_linear_time() {
    let object = |properties: Value, required: &str| json!({ "type": "object", "properties": properties, "required": [required] });
    let with_more = |name: &str| {
        let list = json!({ "type": "array", "items": { "type": "integer" } });
        let next = json!({ "$ref": "#/$defs/Both" });
        object(
            json!({ name: { "type": "integer" }, "next": next, "list": list }),
            name,
        )
    };
    let alone = |name: &str| object(json!({ name: { "type": "integer" } }), name);
    let both = json!({ "allOf": [
        { "anyOf": [alone("n"), alone("m")] },
        { "anyOf": [with_more("a"), with_more("b")] },
    ] });
    let registry = registry(
        &json!({ "type": "object", "properties": { "it": { "$ref": "#/$defs/Both" } }, "$defs": { "Both": both } }),
    );
    for (a, codes) in [
        ("\"1\"", &[][..]),
        ("1", &[]),
        ("\"x\"", &["no_alternative_fits", "unsupported_integer_literal"]),
    ] {
        let work = |levels: usize| {
            let list = vec!["1"; 500].join(",");
            let leaf = format!("{{\"n\":\"1\",\"a\":{a},\"list\":[{list}]}}");
            let nested = (0..levels).fold(leaf, |inner, _| {
                format!("{{\"n\":\"1\",\"a\":{a},\"next\":{inner}}}")
            });
            let text = format!("{{\"it\":{nested}}}");
            let clock = Clock::start();
            let request = prepare(&registry, text, Policy::Lenient);
            let worked = clock.worked();
            let mut found: Vec<_> = request.errors.iter().map(|error| error.code.as_str()).collect();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, codes, "{levels}");
            worked
        };
        // Each additional level would double the work.
        let (small, large) = (work(7), work(15).max(work(30) / 8));
        assert!(
            large < small.max(Duration::from_millis(10)) * 16,
            "{a}: {small:?}, twice as deep {large:?}"
        );
    }
}

/// Two patterns with one schema for a key read the key's value once.
#[test]
fn one_schema_of_several_patterns_is_read_once() {
    let one = json!({ "type": ["object", "integer"], "patternProperties": { "^a": { "$ref": "#/$defs/One" }, "a$": { "$ref": "#/$defs/One" } } });
    let registry = registry(
        &json!({ "type": "object", "properties": { "it": { "$ref": "#/$defs/One" } }, "$defs": { "One": one } }),
    );
    let nested = (0..60).fold("\"1\"".to_owned(), |inner, _| format!("{{\"a\":{inner}}}"));
    let request = prepare(&registry, format!("{{\"it\":{nested}}}"), Policy::Lenient);
    assert!(
        request.errors.is_empty() && request.warnings.len() == 1,
        "{:?}",
        request.errors
    );
}

/// Two matching patterns both read the value of a key and its parts. A value that is too large for this is reported, and no other value.
#[test]
fn values_of_several_patterns_are_fast_or_too_complex() {
    let by_patterns = |most: usize| {
        json!({
            "type": ["object", "integer"],
            "maxProperties": most,
            "patternProperties": { "^a": { "$ref": "#/$defs/One" }, "a$": { "$ref": "#/$defs/Other" } },
        })
    };
    let registry = registry(&json!({
        "type": "object",
        "properties": { "it": { "$ref": "#/$defs/One" } },
        "$defs": { "One": by_patterns(3), "Other": by_patterns(2) },
    }));
    for (levels, leaves) in [(5, &["1", "\"1\"", "\"x\""][..]), (60, &["\"x\""])] {
        for leaf in leaves {
            let nested = (0..levels).fold((*leaf).to_owned(), |inner, _| format!("{{\"a\":{inner}}}"));
            let clock = Clock::start();
            let request = prepare(&registry, format!("{{\"it\":{nested}}}"), Policy::Lenient);
            assert!(clock.worked() < Duration::from_secs(20), "{leaf}: {levels}");
            let codes: Vec<_> = request.errors.iter().map(|error| error.code.as_str()).collect();
            let expected: &[&str] = match (levels, *leaf) {
                (60, _) => &["too_complex"],
                (_, "\"x\"") => &["no_alternative_fits", "unsupported_integer_literal"],
                _ => &[],
            };
            assert_eq!(codes, expected, "{leaf}: {levels}");
        }
    }
}

/// Twice the arguments must not need more than twice the work, with a generous tolerance. Quadratic work would be four times as much, and
/// 65,000 times as much after eight sizes.
#[test]
fn arguments_take_linear_time() {
    let registry = registry(&recurring());
    let shapes: [(&str, Shape); 8] = [
        ("values that fit", |size| items(size, "{}")),
        ("values that do not", |size| items(size, "true")),
        ("numbers for anything", |size| {
            format!("{{\"any\":[{}1]}}", "1.50,".repeat(size))
        }),
        ("unknown keys", |size| keyed("", size, "1")),
        ("keys of a conjunction", |size| keyed("parts", size, "1")),
        ("keys of a union's alternative", |size| keyed("union", size, "1")),
        ("a text for an object", |size| {
            format!("{{\"plain\":\"{}\"}}", "{".repeat(size))
        }),
        ("texts in texts", |size| {
            json!({ "parts": json!({ "x": json!([1]).to_string().repeat(size) }).to_string() }).to_string()
        }),
    ];
    take_linear_time(&registry, &shapes);
}

/// Keywords that are enforced after coercion take linear time.
#[test]
fn assertions_take_linear_time() {
    let registry = registry(&json!({
        "type": "object",
        "properties": {
            "list": {
                "type": "array",
                "items": { "$ref": "#/$defs/Item" },
                "contains": { "not": { "type": "integer" } },
                "not": { "contains": { "const": "never" } },
            },
            "map": {
                "propertyNames": { "not": { "pattern": "^_" } },
                "allOf": [{ "patternProperties": { "^k": {} } }, { "patternProperties": { "^l": { "type": "integer" } } }],
                "unevaluatedProperties": false,
            },
        },
        "$defs": { "Item": { "anyOf": [
            { "type": "object", "not": { "required": ["a", "b"] }, "if": { "required": ["a"] }, "then": { "required": ["c"] } },
            { "type": "object", "required": ["a", "b"], "dependentRequired": { "a": ["c"] } },
            { "type": "integer", "not": { "const": 5 } },
            { "type": "boolean" },
        ] } },
    }));
    let shapes: [(&str, Shape); 6] = [
        ("items that fit", |size| listed(size, "{\"a\":1,\"c\":1}")),
        ("items that do not", |size| listed(size, "{\"a\":1,\"b\":1}")),
        ("excluded numbers", |size| listed(size, "5")),
        ("coerced numbers", |size| listed(size, "\"6\"")),
        ("known keys", |size| keyed("map", size, "1").replace("\"b", "\"k")),
        ("unknown keys", |size| {
            keyed("map", size, "1").replace("\"b", "\"_")
        }),
    ];
    take_linear_time(&registry, &shapes);
}

/// Builds a list with this many items.
fn listed(count: usize, item: &str) -> String {
    format!("{{\"list\":[{}]}}", vec![item; count].join(","))
}

fn take_linear_time(registry: &ToolRegistry, shapes: &[(&str, Shape)]) {
    for (name, shape) in shapes {
        for policy in POLICIES {
            let work = |size: usize| {
                let text = shape(size);
                let clock = Clock::start();
                prepare(registry, text, policy);
                clock.worked()
            };
            let (small, large) = (work(SIZE).max(work(SIZE)), work(SIZE * 8));
            // Times below the resolution of the clock count as the resolution.
            let allowed = small.max(Duration::from_millis(10)) * 8 * 4;
            assert!(
                large < allowed,
                "{name}, {policy:?}: {small:?}, eight times as much {large:?}"
            );
        }
    }
}

/// Values of enums are looked up: a hundred times as many allowed values do not take a hundred times as long.
#[test]
fn enum_values_take_linear_time() {
    let registry = |count: usize| {
        let names: Vec<_> = (0..count).map(|place| format!("value_{place}x")).collect();
        let numbers: Vec<_> = (0..count).collect();
        let declared: Map<_, _> = names
            .iter()
            .map(|name| (name.clone(), json!({ "type": "integer" })))
            .collect();
        registry(&json!({ "type": "object", "properties": {
            "names": { "type": "array", "items": { "enum": names } },
            "numbers": { "type": "array", "items": { "enum": numbers } },
            "keys": { "type": "object", "propertyNames": { "enum": names }, "additionalProperties": { "type": "integer" } },
            "declared": { "type": "object", "properties": declared, "additionalProperties": false },
        } }))
    };
    let (few, many) = (registry(20), registry(2_000));
    let list = |name: &str, item: fn(usize) -> Value| {
        let items: Vec<_> = (0..1_000).map(|place| item(place % 20)).collect();
        json!({ name: items }).to_string()
    };
    let map = |name: &str, key: fn(usize) -> String| {
        let entries: Map<_, _> = (0..20).map(|place| (key(place), json!(1))).collect();
        json!({ name: entries }).to_string()
    };
    for (name, text) in [
        ("values", list("names", |place| json!(format!("value_{place}x")))),
        (
            "spellings",
            list("names", |place| json!(format!("Value-{place}X"))),
        ),
        (
            "no values",
            list("names", |place| json!(format!("other_{place}"))),
        ),
        ("numbers", list("numbers", |place| json!(place))),
        (
            "texts of numbers",
            list("numbers", |place| json!(format!("{place}.0"))),
        ),
        ("keys", map("keys", |place| format!("Value-{place}X"))),
        ("no keys", map("keys", |place| format!("other_{place}"))),
        (
            "declared keys",
            map("declared", |place| format!("Value-{place}X")),
        ),
        (
            "no declared keys",
            map("declared", |place| format!("other_{place}")),
        ),
    ] {
        let work = |registry: &ToolRegistry| {
            let clock = Clock::start();
            for _ in 0..5 {
                prepare(registry, text.as_str(), Policy::Lenient);
            }
            clock.worked()
        };
        work(&many);
        let (small, large) = (work(&few), work(&many));
        // Times below the resolution of the clock count as the resolution.
        let allowed = small.max(Duration::from_millis(10)) * 5;
        assert!(
            large < allowed,
            "{name}: {small:?}, of a hundred times as many {large:?}"
        );
    }
}

/// Builds arguments of a size.
type Shape = fn(usize) -> String;

/// Number of parts in the smaller arguments. Unoptimized code takes the resolution of the clock for an eighth of the calls.
const SIZE: usize = if cfg!(debug_assertions) { 250 } else { 2_000 };

fn items(count: usize, item: &str) -> String {
    format!("{{\"lists\":[{}{item}]}}", format!("{item},").repeat(count))
}

/// Builds an object with this many keys, in a field or as the root.
fn keyed(key: &str, count: usize, value: &str) -> String {
    let fields: Map<_, _> = (0..count)
        .map(|place| (format!("b{place}"), json!(value)))
        .collect();
    if key.is_empty() {
        return Value::Object(fields).to_string();
    }
    json!({ key: fields }).to_string()
}
