//! Random JSON Schemas over every keyword that is enforced.

use serde_json::{Map, Value, json};

use super::random::Random;

/// Names of declared properties. No two differ in case, `_` or `-` alone, and none is a key of a map.
pub const PROPERTIES: [&str; 5] = ["alpha", "beta_two", "gamma", "delta", "epsilon"];

/// Values of enums and constants.
const VALUES: [&str; 4] = ["red", "green", "7", "true"];

/// Regular expressions that every dialect reads alike.
const PATTERNS: [&str; 5] = ["^[a-z]+$", "a", "^.{2,3}$", "^[0-9]+$", "b|e"];

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Kinds {
    /// `anyOf`, `oneOf`, lists of types.
    pub unions: bool,
}

/// The schema of a tool's arguments: an object, with a definition that recurs.
pub fn tool(random: &mut Random, kinds: Kinds) -> Value {
    let mut schema = object(random, kinds, 3);
    schema["type"] = json!("object");
    schema["$defs"] = json!({
        "node": {
            "type": "object",
            "properties": { "gamma": { "type": "integer" }, "delta": { "$ref": "#/$defs/node" } },
            "required": ["gamma"],
        },
        "small": { "type": "integer", "maximum": 5 },
    });
    schema
}

/// The same in the words of draft-07: MCP servers send both.
pub fn in_draft_07(schema: &Value) -> Value {
    let mut schema = older(schema);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema
}

fn older(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let is_tuple = fields.contains_key("prefixItems");
            let fields = fields.iter().map(|(key, value)| {
                let key = match key.as_str() {
                    "$defs" => "definitions",
                    "prefixItems" => "items",
                    "items" if is_tuple => "additionalItems",
                    other => other,
                };
                let value = match value {
                    Value::String(target) if key == "$ref" => {
                        json!(target.replace("#/$defs/", "#/definitions/"))
                    }
                    other => older(other),
                };
                (key.to_owned(), value)
            });
            fields.collect()
        }
        Value::Array(items) => items.iter().map(older).collect(),
        scalar => scalar.clone(),
    }
}

fn schema(random: &mut Random, kinds: Kinds, depth: usize) -> Value {
    let last = if depth == 0 { 7 } else { 14 };
    match random.below(last) {
        0 => integer(random),
        1 => number(random),
        2 => string(random),
        3 => json!({ "type": "boolean" }),
        4 => options(random),
        5 if random.one_in(2) => json!({ "type": "null" }),
        5 => random
            .pick(&[json!({}), json!(true), json!({ "description": "anything" })])
            .clone(),
        6 => json!({ "$ref": random.pick(&["#/$defs/node", "#/$defs/small"]) }),
        7 | 8 => array(random, kinds, depth - 1),
        9 | 10 => object(random, kinds, depth - 1),
        11 if random.one_in(3) => untyped(random),
        11 => all_of(random),
        _ if kinds.unions => union(random, kinds, depth - 1),
        _ => string(random),
    }
}

fn integer(random: &mut Random) -> Value {
    let mut schema = json!({ "type": "integer" });
    let least = random.between(-5, 5);
    let most = least + random.between(0, 6);
    limits(random, &mut schema, json!(least), json!(most));
    if random.one_in(4) {
        schema["multipleOf"] = json!(random.between(1, 3));
    }
    schema
}

fn number(random: &mut Random) -> Value {
    let mut schema = json!({ "type": "number" });
    limits(random, &mut schema, json!(-1.5), json!(2.5));
    if random.one_in(5) {
        schema["multipleOf"] = json!(0.5);
    }
    schema
}

fn limits(random: &mut Random, schema: &mut Value, least: Value, most: Value) {
    match random.below(4) {
        0 => schema["minimum"] = least,
        1 => schema["exclusiveMinimum"] = least,
        _ => {}
    }
    match random.below(4) {
        0 => schema["maximum"] = most,
        1 => schema["exclusiveMaximum"] = most,
        _ => {}
    }
}

fn string(random: &mut Random) -> Value {
    let mut schema = json!({ "type": "string" });
    sizes(random, &mut schema, "minLength", "maxLength");
    if random.one_in(4) {
        schema["pattern"] = json!(random.pick(&PATTERNS));
    }
    schema
}

fn sizes(random: &mut Random, schema: &mut Value, least: &str, most: &str) {
    let least_size = random.between(0, 2);
    if random.one_in(4) {
        schema[least] = json!(least_size);
    }
    if random.one_in(4) {
        schema[most] = json!(least_size + random.between(0, 2));
    }
}

fn options(random: &mut Random) -> Value {
    match random.below(5) {
        0 => json!({ "type": "string", "enum": [random.pick(&VALUES), "blue"] }),
        1 => json!({ "type": "integer", "enum": [1, 2, random.between(3, 9)] }),
        2 => json!({ "enum": ["red", 7, true, null, 1.5] }),
        3 => {
            json!({ "const": random.pick(&[json!("red"), json!(7), json!(true), json!([1, "a"]), json!({ "alpha": 1 })]) })
        }
        _ => json!({ "type": "string", "const": random.pick(&VALUES) }),
    }
}

fn array(random: &mut Random, kinds: Kinds, depth: usize) -> Value {
    let mut schema = json!({ "type": "array" });
    if !random.one_in(6) {
        schema["items"] = self::schema(random, kinds, depth);
    }
    if random.one_in(5) {
        let prefix: Vec<_> = (0..=random.below(2))
            .map(|_| self::schema(random, kinds, depth))
            .collect();
        schema["prefixItems"] = json!(prefix);
        if random.one_in(2) {
            schema["items"] = json!(false);
        }
    }
    sizes(random, &mut schema, "minItems", "maxItems");
    if random.one_in(5) {
        schema["uniqueItems"] = json!(true);
    }
    schema
}

fn object(random: &mut Random, kinds: Kinds, depth: usize) -> Value {
    let mut schema = json!({ "type": "object" });
    let mut names = Vec::new();
    if !random.one_in(5) {
        let mut properties = Map::new();
        for name in PROPERTIES {
            if random.one_in(2) {
                properties.insert(name.to_owned(), self::schema(random, kinds, depth));
                names.push(name);
            }
        }
        schema["properties"] = Value::Object(properties);
    }
    let required: Vec<_> = names.iter().filter(|_| random.one_in(2)).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    match random.below(5) {
        0 => schema["additionalProperties"] = json!(false),
        1 => schema["additionalProperties"] = json!(true),
        2 => schema["additionalProperties"] = self::schema(random, kinds, depth),
        _ => {}
    }
    if random.one_in(5) {
        schema["patternProperties"] = json!({ "^n_": self::schema(random, kinds, depth) });
    }
    sizes(random, &mut schema, "minProperties", "maxProperties");
    if kinds.unions && random.one_in(8) {
        schema["anyOf"] = json!([{ "required": ["alpha"] }, { "required": ["gamma"] }]);
    }
    schema
}

/// Limits that hold for one type and let every other pass.
fn untyped(random: &mut Random) -> Value {
    let schemas = [
        json!({ "minimum": 2 }),
        json!({ "exclusiveMaximum": 2.5, "minLength": 2 }),
        json!({ "pattern": "^[a-z]+$", "maxItems": 1 }),
        json!({ "minProperties": 1, "multipleOf": 2 }),
        json!({ "properties": { "alpha": { "type": "integer" } }, "required": ["alpha"] }),
    ];
    random.pick(&schemas).clone()
}

/// The same type from two sides.
fn all_of(random: &mut Random) -> Value {
    match random.below(5) {
        0 => json!({ "allOf": [integer(random), { "minimum": -2 }] }),
        1 => {
            json!({ "type": "string", "allOf": [{ "minLength": 1 }, { "pattern": random.pick(&PATTERNS) }] })
        }
        2 => json!({ "allOf": [{ "$ref": "#/$defs/small" }], "minimum": -1 }),
        3 => json!({
            "type": "object",
            "properties": { "delta": { "type": "boolean" }, "alpha": {} },
            "additionalProperties": false,
            "allOf": [{ "properties": { "alpha": integer(random) }, "required": ["alpha"] }],
        }),
        _ => json!({
            "allOf": [
                { "type": "object", "properties": { "alpha": integer(random) }, "required": ["alpha"] },
                { "type": "object", "properties": { "gamma": string(random) } },
            ],
        }),
    }
}

fn union(random: &mut Random, kinds: Kinds, depth: usize) -> Value {
    let keyword = random.pick(&["anyOf", "oneOf"]);
    match random.below(5) {
        0 => {
            json!({ "type": random.pick(&[["integer", "null"], ["string", "boolean"], ["array", "number"]]) })
        }
        1 => json!({ keyword.to_string(): [self::schema(random, kinds, depth), { "type": "null" }] }),
        2 => json!({ keyword.to_string(): [
            { "type": "object", "properties": { "delta": { "const": "red" }, "alpha": integer(random) }, "required": ["delta", "alpha"] },
            { "type": "object", "properties": { "delta": { "const": "green" }, "beta_two": string(random) }, "required": ["delta"] },
        ] }),
        _ => {
            let branches: Vec<_> = (0..2 + random.below(2))
                .map(|_| self::schema(random, kinds, depth))
                .collect();
            json!({ keyword.to_string(): branches })
        }
    }
}
