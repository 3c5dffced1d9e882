//! Random kinds of values, with their schemas and with valid values.

use serde_json::{Map, Value, json};
use tests::random::Random;

/// A small description of values, from which both the schema and its values are generated.
#[derive(Debug, Clone)]
pub enum Kind {
    Integer,
    /// A non-negative integer.
    Small,
    Number,
    Boolean,
    Text,
    Choice,
    List(Box<Kind>),
    Map(Box<Kind>),
    Pair(Box<(Kind, Kind)>),
    Object(Vec<Field>),
}

#[derive(Debug, Clone)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub need: Need,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Required,
    /// Optional.
    Optional,
    /// Required, and may be null.
    Nullable,
}

/// Allowed values of a [`Kind::Choice`].
pub const CHOICES: [&str; 4] = ["small", "middle-sized", "Large One", "7up"];

/// Names that do not differ only in case, `_` and `-`.
pub const NAMES: [&str; 8] = [
    "name",
    "max_results",
    "is_on",
    "kind_of_thing",
    "rows",
    "x",
    "long_list_2",
    "by_id",
];

/// Texts with one meaning, and some with another possible meaning.
const TEXTS: [&str; 12] = [
    "a",
    "some words",
    "42",
    "-1.5",
    "true",
    "false",
    "2.25",
    "é🦀",
    "it's",
    "say \"so\"",
    "a\\b\nc",
    "0x1F",
];

/// Arguments of a tool.
pub fn tool(random: &mut Random) -> Kind {
    object(random, 4)
}

fn kind(random: &mut Random, depth: usize) -> Kind {
    match random.below(if depth == 0 { 5 } else { 11 }) {
        0 => Kind::Integer,
        1 => Kind::Number,
        2 => Kind::Boolean,
        3 => Kind::Text,
        4 => Kind::Choice,
        5..=7 => Kind::List(Box::new(kind(random, depth - 1))),
        8 => Kind::Map(Box::new(kind(random, depth - 1))),
        9 => Kind::Pair(Box::new((kind(random, depth - 1), kind(random, depth - 1)))),
        _ => object(random, depth - 1),
    }
}

fn object(random: &mut Random, depth: usize) -> Kind {
    let mut fields = Vec::new();
    for name in NAMES {
        if random.one_in(2) {
            let need = *random.pick(&[Need::Required, Need::Optional, Need::Nullable]);
            fields.push(Field {
                name,
                kind: kind(random, depth),
                need,
            });
        }
    }
    Kind::Object(fields)
}

impl Kind {
    /// Returns the schema of the kind.
    pub fn schema(&self) -> Value {
        match self {
            Self::Integer => json!({ "type": "integer" }),
            Self::Small => json!({ "type": "integer", "minimum": 0 }),
            Self::Number => json!({ "type": "number" }),
            Self::Boolean => json!({ "type": "boolean" }),
            Self::Text => json!({ "type": "string" }),
            Self::Choice => json!({ "type": "string", "enum": CHOICES }),
            Self::List(item) => json!({ "type": "array", "items": item.schema() }),
            Self::Map(entry) => json!({ "type": "object", "additionalProperties": entry.schema() }),
            Self::Pair(pair) => json!({
                "type": "array",
                "prefixItems": [pair.0.schema(), pair.1.schema()],
                "minItems": 2,
                "maxItems": 2,
            }),
            Self::Object(fields) => {
                let mut properties = Map::new();
                for Field { name, kind, need } in fields {
                    let schema = match need {
                        Need::Nullable => json!({ "anyOf": [kind.schema(), { "type": "null" }] }),
                        Need::Required | Need::Optional => kind.schema(),
                    };
                    properties.insert((*name).to_owned(), schema);
                }
                let required = fields.iter().filter(|field| field.need != Need::Optional);
                let required: Vec<_> = required.map(|field| field.name).collect();
                json!({ "type": "object", "properties": properties, "required": required })
            }
        }
    }

    /// Returns a valid value.
    pub fn value(&self, random: &mut Random) -> Value {
        match self {
            Self::Integer => json!(random.between(-1_000_000, 1_000_000)),
            Self::Small => json!(random.below(1000)),
            Self::Number => {
                // A number with a fraction; whether `2.0` keeps its point is tested separately.
                let quarters = i16::try_from(random.between(-4000, 4000)).unwrap_or_default();
                json!(f64::from(quarters) / 4.0 + 0.125)
            }
            Self::Boolean => json!(random.one_in(2)),
            Self::Text => json!(random.pick(&TEXTS)),
            Self::Choice => json!(random.pick(&CHOICES)),
            Self::List(item) => (0..random.below(4)).map(|_| item.value(random)).collect(),
            Self::Map(entry) => {
                let keys = ["a", "b c", "Max-Results", "7"].into_iter();
                let keys: Vec<_> = keys.filter(|_| random.one_in(2)).collect();
                let entries = keys.into_iter().map(|key| (key.to_owned(), entry.value(random)));
                Value::Object(entries.collect())
            }
            Self::Pair(pair) => json!([pair.0.value(random), pair.1.value(random)]),
            Self::Object(fields) => {
                let mut members = Map::new();
                for Field { name, kind, need } in fields {
                    match need {
                        Need::Optional if random.one_in(3) => {}
                        Need::Nullable if random.one_in(3) => {
                            members.insert((*name).to_owned(), Value::Null);
                        }
                        _ => {
                            members.insert((*name).to_owned(), kind.value(random));
                        }
                    }
                }
                Value::Object(members)
            }
        }
    }

    /// Returns whether the kind accepts a string.
    pub fn takes_text(&self) -> bool {
        matches!(self, Self::Text | Self::Choice)
    }

    /// Returns whether the kind is a list whose items may be strings.
    pub fn lists_texts(&self) -> bool {
        match self {
            Self::List(item) => item.takes_text(),
            Self::Pair(pair) => pair.0.takes_text() || pair.1.takes_text(),
            _ => false,
        }
    }
}
