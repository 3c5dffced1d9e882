//! Random values: some that fit a schema, some that nearly do, some that do not.

use serde_json::{Map, Number, Value, json};

use super::random::Random;
use super::schemas::PROPERTIES;

/// Keys that no schema declares; the first fits the pattern of `patternProperties`.
const KEYS: [&str; 3] = ["n_1", "key-one", "Other"];

/// A value that fits, as far as looking at one keyword at a time can tell.
pub fn fitting(random: &mut Random, schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == 0 {
        return json!(1);
    }
    let mut again = |schema: &Value, random: &mut Random| fitting(random, schema, root, depth - 1);
    if let Some(target) = schema["$ref"].as_str() {
        let target = root
            .pointer(target.trim_start_matches('#'))
            .unwrap_or(&Value::Null);
        return again(target, random);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(values) = schema["enum"].as_array() {
        return random.pick(values).clone();
    }
    let kind = &schema["type"];
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(branches) = schema[keyword].as_array().filter(|_| kind.is_null()) {
            return match (keyword, branches.as_slice()) {
                ("allOf", [one, other]) if one["type"] == "object" => {
                    let mut merged = again(one, random);
                    if let (Some(fields), Value::Object(more)) =
                        (merged.as_object_mut(), again(other, random))
                    {
                        fields.extend(more);
                    }
                    merged
                }
                _ => again(random.pick(branches), random),
            };
        }
    }
    let kind = match kind {
        Value::String(kind) => kind.as_str(),
        Value::Array(kinds) => random.pick(kinds).as_str().unwrap_or("null"),
        _ if schema.get("minLength").or(schema.get("pattern")).is_some() => "string",
        _ => return any(random, 2),
    };
    match kind {
        "integer" => json!(random.between(-6, 9)),
        "number" => number(random),
        "string" => text(random),
        "boolean" => json!(random.one_in(2)),
        "array" => array(random, schema, &mut again),
        "object" => object(random, schema, &mut again),
        _ => Value::Null,
    }
}

/// Any value at all.
pub fn any(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 8 }) {
        0 => json!(random.between(-6, 9)),
        1 => number(random),
        2 | 3 => text(random),
        4 => json!(random.one_in(2)),
        5 => Value::Null,
        6 => (0..random.below(3)).map(|_| any(random, depth - 1)).collect(),
        _ => {
            let keys = [PROPERTIES[0], PROPERTIES[2], KEYS[0], KEYS[2]];
            let keys = keys.into_iter().filter(|_| random.one_in(2)).collect::<Vec<_>>();
            keys.into_iter()
                .map(|key| (key.to_owned(), any(random, depth - 1)))
                .collect()
        }
    }
}

/// A number with a fraction: one without is an integer, and whether it keeps its point is a question of its own.
fn number(random: &mut Random) -> Value {
    let quarters = f64::from(i32::try_from(random.between(-8, 12)).unwrap_or_default()) / 4.0;
    match Number::from_f64(quarters) {
        Some(number) if quarters.fract() != 0.0 => Value::Number(number),
        _ => json!(random.between(-2, 3)),
    }
}

fn text(random: &mut Random) -> Value {
    json!(random.pick(&[
        "",
        "a",
        "be",
        "cab",
        "ünï",
        "123",
        "7",
        "true",
        "red",
        "blue",
        "null",
        "[1]",
        "long text"
    ]))
}

fn array(random: &mut Random, schema: &Value, again: &mut dyn FnMut(&Value, &mut Random) -> Value) -> Value {
    let least = schema["minItems"].as_u64().unwrap_or(0);
    let (prefix, rest) = match (&schema["prefixItems"], &schema["items"]) {
        (Value::Array(prefix), rest) => (prefix.as_slice(), rest),
        (_, Value::Array(prefix)) => (prefix.as_slice(), &schema["additionalItems"]),
        (_, items) => (&[][..], items),
    };
    let count = usize::try_from(least).unwrap_or_default().max(prefix.len()) + random.below(2);
    let items = (0..count).map(|place| match prefix.get(place) {
        Some(item) => again(item, random),
        None => again(rest, random),
    });
    items.collect()
}

fn object(random: &mut Random, schema: &Value, again: &mut dyn FnMut(&Value, &mut Random) -> Value) -> Value {
    let mut fields = Map::new();
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if required.contains(&json!(name)) || random.one_in(2) {
            fields.insert(name.clone(), again(property, random));
        }
    }
    if schema["additionalProperties"] != false && random.one_in(3) || schema["minProperties"].is_u64() {
        for key in KEYS {
            if random.one_in(2) {
                let fits = match key {
                    "n_1" if schema["patternProperties"].is_object() => &schema["patternProperties"]["^n_"],
                    _ => &schema["additionalProperties"],
                };
                fields.insert(key.to_owned(), again(fits, random));
            }
        }
    }
    Value::Object(fields)
}

/// A value as a careless model might write it: here and there a scalar in quotes, a list without its brackets, an
/// object as text, a name in another spelling, something else altogether.
pub fn sloppy(random: &mut Random, value: &Value) -> Value {
    let inside = match value {
        Value::Array(items) => items.iter().map(|item| sloppy(random, item)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let name = if random.one_in(12) {
                    respelled(random, name)
                } else {
                    name.clone()
                };
                (name, sloppy(random, value))
            });
            fields.collect()
        }
        scalar => scalar.clone(),
    };
    if random.one_in(3) {
        spoiled(random, inside)
    } else {
        inside
    }
}

fn spoiled(random: &mut Random, value: Value) -> Value {
    if random.one_in(8) {
        return any(random, 1);
    }
    match value {
        Value::String(text) => match random.below(3) {
            0 => json!(text.to_uppercase()),
            1 => json!(format!(" {text} ")),
            _ => json!([text]),
        },
        Value::Array(mut items) if items.len() == 1 && random.one_in(2) => items.remove(0),
        Value::Number(number) if random.one_in(3) => json!(number.as_f64()),
        Value::Bool(truth) if random.one_in(2) => json!(u8::from(truth)),
        Value::Null => json!(random.pick(&["", "null", "None"])),
        other => json!(other.to_string()),
    }
}

fn respelled(random: &mut Random, name: &str) -> String {
    match random.below(3) {
        0 => name.to_uppercase(),
        1 => name.replace('_', "-"),
        _ => name.replace('_', ""),
    }
}
