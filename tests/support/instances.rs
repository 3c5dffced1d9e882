//! Random values: matching a schema, nearly matching, or not matching.

use serde_json::{Map, Value, json};

use super::random::Random;
use super::values::{KEYS, any, edge_case_number, number, text};

/// Returns an object that matches, nearly matches, is spelled carelessly, or is arbitrary.
pub fn object(random: &mut Random, schema: &Value) -> Value {
    let fitting = fitting(random, schema, schema, 6);
    let other = match random.below(10) {
        5 | 6 => nearly(random, &fitting),
        7 | 8 => loosened(random, &fitting),
        9 => any(random, 3),
        _ => return fitting,
    };
    if other.is_object() { other } else { fitting }
}

/// Returns whether a text means "no value" in a place with a `format`.
pub fn has_format_of_nothing(schema: &Value, instance: &Value) -> bool {
    let words = ["", "null", "none", "undefined", "nil"];
    let mut pending = vec![instance];
    let mut is_found = false;
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) => is_found |= words.contains(&&*text.trim().to_lowercase()),
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => pending.extend(fields.values()),
            _ => {}
        }
    }
    is_found && schema.to_string().contains("\"format\"")
}

/// Returns whether no key is a property of the schema, but a value has such a key.
pub fn has_wrapped_properties(schema: &Value, instance: &Value) -> bool {
    let declared = |value: &Value| {
        let mut names = schema["properties"].as_object().into_iter().flatten();
        names.any(|(name, _)| value.get(name).is_some())
    };
    let mut entries = instance.as_object().into_iter().flatten();
    !declared(instance) && entries.any(|(_, value)| declared(value))
}

/// Returns a value that matches each keyword, considered one at a time.
pub fn fitting(random: &mut Random, schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == 0 {
        return json!(1);
    }
    let mut again = |schema: &Value, random: &mut Random| fitting(random, schema, root, depth - 1);
    if let Some(target) = schema["$ref"].as_str() {
        let found = match target.trim_start_matches('#') {
            "here" => root
                .pointer("/$defs/anchored")
                .or(root.pointer("/definitions/anchored")),
            pointer => root.pointer(pointer),
        };
        return again(found.unwrap_or(&Value::Null), random);
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
        "integer" => json!(within(random, schema)),
        "number" => number(random),
        "string" => text(random),
        "boolean" => json!(random.one_in(2)),
        "array" => array(random, schema, &mut again),
        "object" => members(random, schema, &mut again),
        _ => Value::Null,
    }
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

fn members(
    random: &mut Random,
    schema: &Value,
    again: &mut dyn FnMut(&Value, &mut Random) -> Value,
) -> Value {
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
                let patterns = schema["patternProperties"].as_object();
                let fits = patterns
                    .into_iter()
                    .flatten()
                    .find(|(pattern, _)| matches(pattern, key));
                let fits = fits.map_or(&schema["additionalProperties"], |(_, schema)| schema);
                fields.insert(key.to_owned(), again(fits, random));
            }
        }
    }
    Value::Object(fields)
}

/// Returns an integer within the limits, if there are any.
fn within(random: &mut Random, schema: &Value) -> i64 {
    let limit = |keyword: &str, inward: i64| {
        let number = schema[keyword].as_f64()?;
        #[allow(clippy::cast_possible_truncation, reason = "the generator draws small ones")]
        Some(number as i64 + inward)
    };
    let least = [limit("minimum", 0), limit("exclusiveMinimum", 1)]
        .into_iter()
        .flatten()
        .max();
    let most = [limit("maximum", 0), limit("exclusiveMaximum", -1)]
        .into_iter()
        .flatten()
        .min();
    let least = least.unwrap_or(-6);
    random.between(least, most.unwrap_or(9).max(least))
}

/// Returns whether a key matches a pattern of the generator.
fn matches(pattern: &str, key: &str) -> bool {
    match pattern {
        "^n_" => key.starts_with("n_"),
        "e$" => key.ends_with('e'),
        "^[A-Z]" => key.starts_with(|letter: char| letter.is_ascii_uppercase()),
        _ => true,
    }
}

/// Returns the value with one random change.
pub fn nearly(random: &mut Random, value: &Value) -> Value {
    let mut changed = value.clone();
    let mut place = &mut changed;
    // Changes a part of the value, most of the time.
    loop {
        let parts = match place {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        };
        if parts == 0 || random.one_in(4) {
            break;
        }
        let chosen = random.below(parts);
        place = match place {
            Value::Array(items) => &mut items[chosen],
            Value::Object(fields) => fields.values_mut().nth(chosen).unwrap(),
            _ => unreachable!("it has parts"),
        };
    }
    *place = altered(random, place.take());
    changed
}

fn altered(random: &mut Random, value: Value) -> Value {
    if random.one_in(6) {
        return any(random, 1);
    }
    match value {
        Value::Number(_) if random.one_in(5) => edge_case_number(random),
        Value::Number(number) => match (random.below(4), number.as_i64(), number.as_f64()) {
            (0, Some(integer), _) => json!(integer.saturating_add(1)),
            (1, Some(integer), _) => json!(integer.saturating_sub(1)),
            (2, _, Some(float)) => json!(float),
            (_, _, Some(float)) => json!(float + 0.5),
            _ => Value::Number(number),
        },
        Value::String(mut text) => {
            match random.below(3) {
                0 => drop(text.pop()),
                1 => text.push('é'),
                _ => text.insert(0, '1'),
            }
            Value::String(text)
        }
        Value::Array(mut items) => {
            match (random.below(4), items.len()) {
                (0, 1..) => drop(items.pop()),
                (1, 1..) => items.push(items[0].clone()),
                (2, 2..) => items.swap(0, 1),
                _ => items.push(any(random, 1)),
            }
            Value::Array(items)
        }
        Value::Object(mut fields) => {
            let first = fields.keys().next().cloned().filter(|_| random.one_in(2));
            match first {
                Some(key) => drop(fields.shift_remove(&key)),
                None => drop(fields.insert((*random.pick(&KEYS)).to_owned(), any(random, 1))),
            }
            Value::Object(fields)
        }
        Value::Bool(is) => Value::Bool(!is),
        Value::Null => json!({}),
    }
}

/// Returns a value as a careless model might write it: some scalars in quotes, a list without its brackets, an object as text, a name in
/// another spelling, or another value.
pub fn loosened(random: &mut Random, value: &Value) -> Value {
    let inside = match value {
        Value::Array(items) => items.iter().map(|item| loosened(random, item)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let name = if random.one_in(12) {
                    respelled(random, name)
                } else {
                    name.clone()
                };
                (name, loosened(random, value))
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
