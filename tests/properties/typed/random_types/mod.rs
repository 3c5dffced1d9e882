//! Random types, which are described by data and read themselves like serde's derived code.

mod read;

use std::borrow::Cow;
use std::cell::RefCell;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tests::random::Random;

use crate::properties::typed::probe::{Probe, Reader, answer};

/// A random type.
#[derive(Debug, Clone)]
pub enum Form {
    Scalar(Scalar),
    Optional(Box<Form>),
    List(Box<Form>),
    Tuple(Vec<Form>),
    Map(Key, Box<Form>),
    Newtype(Box<Form>),
    /// Fields have the names of [`FIELDS`], in order.
    Struct(Vec<(Form, Need)>),
    /// Variants have the names of [`VARIANTS`], in order.
    Enum(Vec<Content>),
}

#[derive(Debug, Clone, Copy)]
pub enum Scalar {
    Bool,
    I8,
    U8,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    Char,
    Text,
    Unit,
    Any,
}

#[derive(Debug, Clone, Copy)]
pub enum Key {
    Text,
    I64,
    U8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Required; an `Option` is optional.
    Sent,
    /// `#[serde(default)]` of a scalar or a list.
    Default,
}

/// Content of a variant.
#[derive(Debug, Clone)]
pub enum Content {
    Unit,
    Newtype(Form),
    Tuple(Vec<Form>),
    Struct(Vec<(Form, Need)>),
}

pub const FIELDS: [&str; 5] = ["first", "second_one", "a/b~\"é\"", "type", "last"];

pub const VARIANTS: [&str; 4] = ["Nothing", "One", "Some_Of", "é"];

const SCALARS: [Scalar; 13] = [
    Scalar::Bool,
    Scalar::I8,
    Scalar::U8,
    Scalar::I32,
    Scalar::U32,
    Scalar::I64,
    Scalar::U64,
    Scalar::F32,
    Scalar::F64,
    Scalar::Char,
    Scalar::Text,
    Scalar::Unit,
    Scalar::Any,
];

thread_local! {
    static CURRENT: RefCell<Form> = const { RefCell::new(Form::Scalar(Scalar::Unit)) };
}

/// A value of the type that was generated last, in its shown form.
pub struct RandomType(String);

impl std::fmt::Debug for RandomType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for RandomType {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = CURRENT.with_borrow(Clone::clone);
        serde::de::DeserializeSeed::deserialize(&form, deserializer).map(Self)
    }
}

impl JsonSchema for RandomType {
    fn schema_name() -> Cow<'static, str> {
        "RandomType".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let schema = CURRENT.with_borrow(|form| form.schema(generator));
        schema.try_into().unwrap_or_default()
    }
}

/// Answers with its argument.
#[tool_runtime::tool]
async fn random_type(
    /// The argument.
    it: RandomType,
    /// Records the deserializer.
    reader: Reader,
) -> String {
    answer(&it, reader)
}

/// Builds a tool whose parameter has a new random type, which stays until the next one is generated.
pub fn probe(random: &mut Random) -> (Probe, Form) {
    let form = Form::draw(random, 4);
    CURRENT.set(form.clone());
    (Probe::new::<random_type, RandomType>("random_type"), form)
}

impl Form {
    fn draw(random: &mut Random, depth: usize) -> Self {
        let again = |random: &mut Random| Box::new(Self::draw(random, depth.saturating_sub(1)));
        match random.below(if depth == 0 { 1 } else { 10 }) {
            0 | 1 => Self::Scalar(*random.pick(&SCALARS)),
            2 => Self::Optional(again(random)),
            3 => Self::List(again(random)),
            4 => Self::Tuple((0..1 + random.below(3)).map(|_| *again(random)).collect()),
            5 => Self::Map(*random.pick(&[Key::Text, Key::I64, Key::U8]), again(random)),
            6 => Self::Newtype(again(random)),
            7 => Self::Enum(
                (0..1 + random.below(VARIANTS.len()))
                    .map(|_| Content::draw(random, depth - 1))
                    .collect(),
            ),
            _ => Self::Struct(Self::fields(random, depth - 1)),
        }
    }

    fn fields(random: &mut Random, depth: usize) -> Vec<(Self, Need)> {
        let fields = (0..random.below(FIELDS.len() + 1)).map(|_| {
            let form = Self::draw(random, depth);
            let has_default = form.default().is_some() && random.one_in(3);
            (form, if has_default { Need::Default } else { Need::Sent })
        });
        fields.collect()
    }

    /// Returns the value of `Default`, in JSON and in its `Debug` form.
    fn default(&self) -> Option<&'static str> {
        match self {
            Self::Scalar(Scalar::Bool) => Some("false"),
            Self::Scalar(Scalar::I8 | Scalar::U8 | Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64) => {
                Some("0")
            }
            Self::Scalar(Scalar::Text) => Some("\"\""),
            Self::List(_) => Some("[]"),
            _ => None,
        }
    }

    /// Returns the schema that schemars would generate for the type.
    fn schema(&self, generator: &mut SchemaGenerator) -> Value {
        match self {
            Self::Scalar(scalar) => scalar.schema(generator).to_value(),
            Self::Optional(inner) => json!({ "anyOf": [inner.schema(generator), { "type": "null" }] }),
            Self::List(item) => json!({ "type": "array", "items": item.schema(generator) }),
            Self::Tuple(items) => Self::tuple(items, generator),
            Self::Map(Key::Text, entry) => {
                json!({ "type": "object", "additionalProperties": entry.schema(generator) })
            }
            Self::Map(key, entry) => {
                let pattern = if matches!(key, Key::U8) {
                    "^\\d+$"
                } else {
                    "^-?\\d+$"
                };
                json!({
                    "type": "object",
                    "patternProperties": { pattern: entry.schema(generator) },
                    "additionalProperties": false,
                })
            }
            Self::Newtype(inner) => inner.schema(generator),
            Self::Struct(fields) => Self::object(fields, generator),
            Self::Enum(variants) => {
                let variants = variants
                    .iter()
                    .zip(VARIANTS)
                    .map(|(content, name)| content.schema(name, generator));
                json!({ "oneOf": variants.collect::<Vec<_>>() })
            }
        }
    }

    fn tuple(items: &[Self], generator: &mut SchemaGenerator) -> Value {
        let count = items.len();
        let items: Vec<_> = items.iter().map(|item| item.schema(generator)).collect();
        json!({ "type": "array", "prefixItems": items, "minItems": count, "maxItems": count })
    }

    fn object(fields: &[(Self, Need)], generator: &mut SchemaGenerator) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for ((form, need), name) in fields.iter().zip(FIELDS) {
            let mut schema = form.schema(generator);
            match form.default().filter(|_| *need == Need::Default) {
                Some(default) => schema["default"] = serde_json::from_str(default).unwrap_or_default(),
                None if matches!(form, Self::Optional(_)) => {}
                None => required.push(name),
            }
            properties.insert(name.to_owned(), schema);
        }
        json!({ "type": "object", "properties": properties, "required": required })
    }
}

impl Content {
    fn draw(random: &mut Random, depth: usize) -> Self {
        match random.below(4) {
            0 => Self::Unit,
            1 => Self::Newtype(Form::draw(random, depth)),
            2 => Self::Tuple(
                (0..2 + random.below(2))
                    .map(|_| Form::draw(random, depth))
                    .collect(),
            ),
            _ => Self::Struct(Form::fields(random, depth)),
        }
    }

    fn schema(&self, name: &str, generator: &mut SchemaGenerator) -> Value {
        let content = match self {
            Self::Unit => return json!({ "type": "string", "const": name }),
            Self::Newtype(form) => form.schema(generator),
            Self::Tuple(items) => Form::tuple(items, generator),
            Self::Struct(fields) => Form::object(fields, generator),
        };
        json!({
            "type": "object",
            "properties": { name: content },
            "required": [name],
            "additionalProperties": false,
        })
    }
}

impl Scalar {
    fn schema(self, generator: &mut SchemaGenerator) -> Schema {
        match self {
            Self::Bool => bool::json_schema(generator),
            Self::I8 => i8::json_schema(generator),
            Self::U8 => u8::json_schema(generator),
            Self::I32 => i32::json_schema(generator),
            Self::U32 => u32::json_schema(generator),
            Self::I64 => i64::json_schema(generator),
            Self::U64 => u64::json_schema(generator),
            Self::F32 => f32::json_schema(generator),
            Self::F64 => f64::json_schema(generator),
            Self::Char => char::json_schema(generator),
            Self::Text => String::json_schema(generator),
            Self::Unit => <()>::json_schema(generator),
            Self::Any => Schema::default(),
        }
    }
}
