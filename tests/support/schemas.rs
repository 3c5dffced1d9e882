//! Random JSON Schemas with all enforced keywords.

use serde_json::{Map, Value, json};

use super::random::Random;
use super::values::{self, PROPERTIES};

/// Values of enums and constants.
const VALUES: [&str; 4] = ["red", "green", "7", "true"];

/// Regular expressions with one meaning in all dialects.
const PATTERNS: [&str; 6] = ["^[a-z]+$", "a", "^.{2,3}$", "^[0-9]+$", "b|e", "^(re|bl)"];

/// Patterns of keys: some match a declared name, some another key, one matches all keys.
const KEY_PATTERNS: [&str; 4] = ["^n_", "e$", "^[A-Z]", ""];

/// Kinds of generated keywords.
#[derive(Debug, Clone, Copy)]
pub struct Kinds {
    /// `anyOf`, `oneOf`, lists of types.
    pub unions: bool,
}

/// Generates the schema of a tool's arguments: an object with recursive definitions.
pub fn tool(random: &mut Random, kinds: Kinds) -> Value {
    let mut schema = object(random, kinds, 3);
    schema["type"] = json!("object");
    let tree = json!({ "$ref": "#/$defs/tree" });
    let twig = if kinds.unions {
        json!({ (*random.pick(&["anyOf", "oneOf"])): [tree, { "type": "string" }, { "type": "null" }] })
    } else {
        tree
    };
    schema["$defs"] = json!({
        "node": {
            "type": "object",
            "properties": { "gamma": { "type": "integer" }, "delta": { "$ref": "#/$defs/node" } },
            "required": ["gamma"],
        },
        "small": { "type": "integer", "maximum": 5 },
        "tree": {
            "type": "object",
            "properties": {
                "alpha": { "type": "array", "items": { "$ref": "#/$defs/tree" }, "maxItems": 2 },
                "beta_two": { "$ref": "#/$defs/twig" },
            },
            "additionalProperties": random.one_in(2),
        },
        "twig": twig,
        "list": array(random, kinds, 1),
        "bag": object(random, kinds, 1),
        "anchored": { "$anchor": "here", "type": "object", "properties": { "epsilon": self::schema(random, kinds, 1) } },
    });
    schema
}

/// Adds keywords that are enforced after coercion to some of the schemas in a schema.
pub fn add_assertions(random: &mut Random, schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    for keyword in ["properties", "patternProperties", "$defs"] {
        let named = keywords.get_mut(keyword).and_then(Value::as_object_mut);
        for inner in named.into_iter().flat_map(Map::values_mut) {
            add_assertions(random, inner);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        let listed = keywords.get_mut(keyword).and_then(Value::as_array_mut);
        for inner in listed.into_iter().flatten() {
            add_assertions(random, inner);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = keywords.get_mut(keyword) {
            add_assertions(random, inner);
        }
    }
    if random.one_in(3) {
        let (keyword, value) = assertion(random);
        if keyword == "if" {
            keywords.insert("then".to_owned(), judged(random, 1));
            keywords.insert("else".to_owned(), judged(random, 1));
        }
        keywords.insert(keyword.to_owned(), value);
    }
}

fn assertion(random: &mut Random) -> (&'static str, Value) {
    let name = *random.pick(&PROPERTIES);
    match random.below(9) {
        0 => ("not", judged(random, 1)),
        1 | 2 => ("if", judged(random, 1)),
        3 => ("contains", judged(random, 0)),
        4 => ("dependentRequired", json!({ name: [*random.pick(&PROPERTIES)] })),
        5 => ("dependentSchemas", json!({ name: judged(random, 1) })),
        6 => ("unevaluatedProperties", rest(random)),
        7 => ("unevaluatedItems", rest(random)),
        _ => (
            "propertyNames",
            json!({ "not": { "pattern": *random.pick(&KEY_PATTERNS[..3]) } }),
        ),
    }
}

fn rest(random: &mut Random) -> Value {
    if random.one_in(2) {
        json!(false)
    } else {
        judged(random, 0)
    }
}

/// Generates a schema without subschemas and references.
fn judged(random: &mut Random, depth: usize) -> Value {
    let name = *random.pick(&PROPERTIES);
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0 => json!({ "type": *random.pick(&["integer", "string", "object", "array", "boolean"]) }),
        1 => json!({ "minimum": random.between(-2, 5) }),
        2 => json!({ "enum": [1, "red", null, true] }),
        3 => json!({ "required": [name] }),
        4 => json!({ "pattern": *random.pick(&PATTERNS), "maxItems": 2 }),
        5 => json!({ "minProperties": 1, "minItems": 1, "maxLength": 3 }),
        6 => json!({ "properties": { name: judged(random, 0) } }),
        7 => {
            json!({ "properties": { name: judged(random, 0) }, "required": [name], "additionalProperties": random.one_in(2) })
        }
        8 => json!({ (*random.pick(&["anyOf", "oneOf", "allOf"])): [judged(random, 0), judged(random, 0)] }),
        _ => json!({ "not": judged(random, 0), "items": judged(random, 0) }),
    }
}

/// Targets of references.
const TARGETS: [&str; 8] = [
    "#/$defs/node",
    "#/$defs/small",
    "#/$defs/small",
    "#/$defs/tree",
    "#/$defs/list",
    "#/$defs/bag",
    "#here",
    "#",
];

/// Translates a schema to draft-07, since MCP servers send both.
pub fn in_draft_07(schema: &Value) -> Value {
    let mut schema = older(schema);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema
}

fn older(schema: &Value) -> Value {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Array(items) => return items.iter().map(older).collect(),
        scalar => return scalar.clone(),
    };
    let is_tuple = fields.contains_key("prefixItems");
    let mut renamed = Map::new();
    for (key, value) in fields {
        let (key, value) = match (key.as_str(), value) {
            ("$defs", schemas) => ("definitions", older(schemas)),
            ("prefixItems", schemas) => ("items", older(schemas)),
            ("items", schema) if is_tuple => ("additionalItems", older(schema)),
            ("$anchor", Value::String(name)) => ("$id", json!(format!("#{name}"))),
            // Draft-07 ignores all keywords beside a `$ref`.
            ("$ref", Value::String(target)) if fields.len() > 1 => {
                let target = target.replace("#/$defs/", "#/definitions/");
                ("allOf", json!([{ "$ref": target }]))
            }
            ("$ref", Value::String(target)) => ("$ref", json!(target.replace("#/$defs/", "#/definitions/"))),
            (key @ ("enum" | "const" | "default"), values) => (key, values.clone()),
            (key, other) => (key, older(other)),
        };
        renamed.insert(key.to_owned(), value);
    }
    Value::Object(renamed)
}

/// Generates any schema.
pub fn schema(random: &mut Random, kinds: Kinds, depth: usize) -> Value {
    let last = if depth == 0 { 8 } else { 16 };
    let mut schema = match random.below(last) {
        0 => integer(random),
        1 => number(random),
        2 => string(random),
        3 => json!({ "type": "boolean" }),
        4 => options(random),
        5 => random
            .pick(&[
                json!({ "type": "null" }),
                json!({}),
                json!(true),
                json!({ "description": "anything" }),
                json!({ "format": "email", "title": "no type" }),
            ])
            .clone(),
        6 | 7 => reference(random),
        8 | 9 => array(random, kinds, depth - 1),
        10 | 11 => object(random, kinds, depth - 1),
        12 if random.one_in(3) => untyped(random),
        12 => all_of(random, kinds, depth - 1),
        _ if kinds.unions => union(random, kinds, depth - 1),
        _ => string(random),
    };
    if random.one_in(12)
        && let Some(keywords) = schema.as_object_mut()
        && !keywords.contains_key("$ref")
    {
        keywords.insert("default".to_owned(), values::any(random, 1));
    }
    schema
}

fn reference(random: &mut Random) -> Value {
    let target = random.pick(&TARGETS);
    if random.one_in(5) {
        return json!({ "$ref": target, "description": "with something beside it" });
    }
    if *target == "#/$defs/small" && random.one_in(3) {
        return json!({ "$ref": target, "minimum": random.between(-3, 3) });
    }
    json!({ "$ref": target })
}

pub(crate) fn integer(random: &mut Random) -> Value {
    let mut schema = json!({ "type": "integer" });
    let least = random.between(-5, 5);
    let most = least + random.between(0, 6);
    limits(random, &mut schema, &json!(least), &json!(most));
    if random.one_in(4) {
        schema["multipleOf"] = random
            .pick(&[json!(1), json!(2), json!(3), json!(0.5), json!(2.0)])
            .clone();
    }
    if random.one_in(6) {
        schema["format"] = json!(random.pick(&["int32", "uint8", "int64"]));
    }
    schema
}

fn number(random: &mut Random) -> Value {
    let mut schema = json!({ "type": "number" });
    limits(random, &mut schema, &json!(-1.5), &json!(2.5));
    if random.one_in(5) {
        schema["multipleOf"] = random
            .pick(&[json!(0.5), json!(0.25), json!(2), json!(1e-7)])
            .clone();
    }
    if random.one_in(8) {
        schema["format"] = json!("double");
    }
    schema
}

fn limits(random: &mut Random, schema: &mut Value, least: &Value, most: &Value) {
    for (inclusive, exclusive, limit) in [
        ("minimum", "exclusiveMinimum", least),
        ("maximum", "exclusiveMaximum", most),
    ] {
        match random.below(9) {
            0 | 1 => schema[inclusive] = limit.clone(),
            2 | 3 => schema[exclusive] = limit.clone(),
            4 => {
                schema[inclusive] = limit.clone();
                schema[exclusive] = limit.clone();
            }
            _ => {}
        }
    }
}

pub(crate) fn string(random: &mut Random) -> Value {
    let mut schema = json!({ "type": "string" });
    sizes(random, &mut schema, "minLength", "maxLength");
    if random.one_in(4) {
        schema["pattern"] = json!(random.pick(&PATTERNS));
    }
    if random.one_in(8) {
        schema["format"] = json!(random.pick(&["date-time", "uri", "unheard-of"]));
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
    if random.one_in(40) {
        schema[most] = json!(2.0);
    }
}

fn options(random: &mut Random) -> Value {
    match random.below(7) {
        0 => json!({ "type": "string", "enum": [random.pick(&VALUES), "blue"] }),
        1 => json!({ "type": "integer", "enum": [1, 2, random.between(3, 9)] }),
        2 => json!({ "enum": ["red", 7, true, null, 1.5] }),
        3 => json!({ "const": values::any(random, 2) }),
        4 => {
            let values: Vec<_> = (0..=random.below(3)).map(|_| values::any(random, 2)).collect();
            json!({ "enum": values })
        }
        5 => {
            json!({ "type": ["number", "array", "object"], "enum": [values::any(random, 1), 2.0, [1, 2.0], { "alpha": 1 }] })
        }
        _ => json!({ "type": "string", "const": random.pick(&VALUES) }),
    }
}

fn array(random: &mut Random, kinds: Kinds, depth: usize) -> Value {
    let mut schema = json!({ "type": "array" });
    if !random.one_in(6) {
        schema["items"] = self::schema(random, kinds, depth);
    }
    if random.one_in(4) {
        let prefix: Vec<_> = (0..=random.below(3))
            .map(|_| self::schema(random, kinds, depth))
            .collect();
        schema["prefixItems"] = json!(prefix);
        match random.below(3) {
            0 => schema["items"] = json!(false),
            1 => schema["items"] = self::schema(random, kinds, depth),
            _ => {}
        }
    }
    sizes(random, &mut schema, "minItems", "maxItems");
    if random.one_in(4) {
        schema["uniqueItems"] = json!(true);
    }
    schema
}

pub(crate) fn object(random: &mut Random, kinds: Kinds, depth: usize) -> Value {
    let mut schema = json!({ "type": "object" });
    let mut names = Vec::new();
    if !random.one_in(5) {
        let mut properties = Map::new();
        for name in PROPERTIES {
            if random.one_in(2) {
                let property = if random.one_in(30) {
                    json!(false)
                } else {
                    self::schema(random, kinds, depth)
                };
                properties.insert(name.to_owned(), property);
                names.push(name);
            }
        }
        schema["properties"] = Value::Object(properties);
    }
    let mut required: Vec<_> = names.into_iter().filter(|_| random.one_in(2)).collect();
    if random.one_in(15) {
        required.push(*random.pick(&["size", "n_1"]));
    }
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    match random.below(5) {
        0 => schema["additionalProperties"] = json!(false),
        1 => schema["additionalProperties"] = json!(true),
        2 => schema["additionalProperties"] = self::schema(random, kinds, depth),
        _ => {}
    }
    if random.one_in(4) {
        let patterns = (0..=random.below(2)).map(|_| {
            let pattern = (*random.pick(&KEY_PATTERNS)).to_owned();
            (pattern, self::schema(random, kinds, depth))
        });
        schema["patternProperties"] = Value::Object(patterns.collect());
    }
    sizes(random, &mut schema, "minProperties", "maxProperties");
    if kinds.unions && random.one_in(8) {
        let keyword = *random.pick(&["anyOf", "oneOf"]);
        schema[keyword] = json!([{ "required": ["alpha"] }, { "required": ["gamma"] }]);
    }
    schema
}

/// Generates limits that apply to one type and accept every other type.
fn untyped(random: &mut Random) -> Value {
    let schemas = [
        json!({ "minimum": 2 }),
        json!({ "exclusiveMaximum": 2.5, "minLength": 2 }),
        json!({ "pattern": "^[a-z]+$", "maxItems": 1 }),
        json!({ "minProperties": 1, "multipleOf": 2 }),
        json!({ "uniqueItems": true, "maxLength": 2 }),
        json!({ "items": { "type": "integer" }, "minimum": 0 }),
        json!({ "prefixItems": [{ "type": "integer" }, {}], "items": false }),
        json!({ "additionalProperties": { "type": "string" }, "maxProperties": 2 }),
        json!({ "patternProperties": { "^n_": { "type": "integer" } }, "additionalProperties": false }),
        json!({ "properties": { "alpha": { "type": "integer" } }, "required": ["alpha"] }),
    ];
    random.pick(&schemas).clone()
}

/// Generates an `allOf` that constrains a value twice.
fn all_of(random: &mut Random, kinds: Kinds, depth: usize) -> Value {
    match random.below(9) {
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
        4 => json!({ "allOf": [object(random, kinds, depth), { "$ref": "#/$defs/bag" }] }),
        5 => {
            json!({ "allOf": [array(random, kinds, depth), { "uniqueItems": true }, { "$ref": "#/$defs/list" }] })
        }
        6 => {
            let parts: Vec<_> = (0..=random.below(2))
                .map(|_| self::schema(random, kinds, depth))
                .collect();
            json!({ "allOf": parts })
        }
        7 => json!({ "allOf": [untyped(random), untyped(random)] }),
        _ => json!({
            "allOf": [
                { "type": "object", "properties": { "alpha": integer(random) }, "required": ["alpha"] },
                { "type": "object", "properties": { "gamma": string(random) } },
            ],
        }),
    }
}

fn union(random: &mut Random, kinds: Kinds, depth: usize) -> Value {
    let keyword = *random.pick(&["anyOf", "oneOf"]);
    match random.below(8) {
        0 => {
            json!({ "type": random.pick(&[["integer", "null"], ["string", "boolean"], ["array", "number"]]) })
        }
        1 => json!({ keyword: [self::schema(random, kinds, depth), { "type": "null" }] }),
        2 => json!({ keyword: [
            { "type": "object", "properties": { "delta": { "const": "red" }, "alpha": integer(random) }, "required": ["delta", "alpha"] },
            { "type": "object", "properties": { "delta": { "const": "green" }, "beta_two": string(random) }, "required": ["delta"] },
        ] }),
        3 => json!({ keyword: [
            { "type": "object", "properties": { "alpha": self::schema(random, kinds, depth) }, "required": ["alpha"] },
            { "type": "object", "properties": { "gamma": string(random) }, "required": ["gamma"], "additionalProperties": random.one_in(2) },
            { "enum": ["red", "green"] },
        ] }),
        4 => json!({ "type": "object", "properties": { "epsilon": { "type": "boolean" } }, keyword: [
            object(random, kinds, depth), untyped(random),
        ] }),
        5 => {
            json!({ "oneOf": [untyped(random), self::schema(random, kinds, depth)], "anyOf": [integer(random), {}] })
        }
        _ => {
            let branches: Vec<_> = (0..2 + random.below(2))
                .map(|_| self::schema(random, kinds, depth))
                .collect();
            json!({ keyword: branches })
        }
    }
}
