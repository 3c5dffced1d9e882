//! Structs with all attributes of serde.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::enums::{External, Internal, Kind, Untagged};

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Point {
    x: f64,
    y: Option<i32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Closed {
    first_name: String,
    #[serde(rename = "a/b~c \"é\"")]
    odd_name: u8,
    #[serde(alias = "also")]
    has_alias: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AllDefaults {
    count: u32,
    label: String,
    sizes: Vec<f32>,
    kind: Kind,
}

impl Default for AllDefaults {
    fn default() -> Self {
        Self {
            count: 7,
            label: "seven".to_owned(),
            sizes: vec![0.5],
            kind: Kind::Large,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct SomeDefaults {
    name: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default = "three")]
    level: i16,
    #[serde(default)]
    inner: AllDefaults,
    #[serde(skip)]
    skipped: Option<u8>,
    #[serde(skip_deserializing)]
    #[schemars(skip)]
    written_only: u8,
}

fn three() -> i16 {
    3
}

/// Only a null that was sent is `Some(None)`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Patch {
    #[serde(default, deserialize_with = "deserialize_or_default")]
    value: Option<Option<i64>>,
    plain: Option<Option<String>>,
}

fn deserialize_or_default<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
pub struct Newtype<T>(T);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Transparent {
    inner: Vec<Newtype<u8>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Triple(u8, Option<String>, f32);

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Unit;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Braces {}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Flat {
    id: u8,
    #[serde(flatten)]
    point: Point,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct FlatNumbers {
    id: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct FlatOptional {
    id: Option<i32>,
    #[serde(flatten)]
    maybe: Option<Point>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct FlatEnum {
    id: i64,
    #[serde(flatten)]
    what: Internal,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct FlatKey {
    id: i64,
    #[serde(flatten)]
    what: External,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct FlatUntagged {
    name: String,
    #[serde(flatten)]
    what: Untagged,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Tree {
    value: Option<i32>,
    #[serde(default)]
    children: Vec<Tree>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Chain {
    link: i8,
    next: Option<Box<Chain>>,
}

/// Limits that exceed every type.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Limited {
    #[schemars(range(min = -2, max = 300))]
    number: i64,
    #[schemars(range(min = 0.25, max = 1e3))]
    ratio: f64,
    #[schemars(length(min = 1, max = 4))]
    text: String,
    #[schemars(regex(pattern = "^[a-e]*$"))]
    letters: Option<String>,
    #[schemars(length(min = 1, max = 3))]
    list: Vec<u8>,
    #[schemars(length(max = 2))]
    map: BTreeMap<String, bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(from = "Newtype<u16>")]
pub struct From16(u32);

impl From<Newtype<u16>> for From16 {
    fn from(from: Newtype<u16>) -> Self {
        Self(u32::from(from.0) + 1)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct Short(String);

impl TryFrom<String> for Short {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.len() < 5 {
            Ok(Self(text))
        } else {
            Err("too long")
        }
    }
}

/// A map whose schema is less specific than its keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Switches {
    #[schemars(with = "BTreeMap<String, u8>")]
    by_boolean: BTreeMap<bool, u8>,
    #[schemars(with = "BTreeMap<String, u8>")]
    by_number: BTreeMap<i32, u8>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Everything {
    point: Point,
    closed: Option<Closed>,
    kinds: Vec<Kind>,
    chains: BTreeMap<String, Chain>,
    cow: Cow<'static, str>,
    pair: (i8, Option<Triple>),
    single: f32,
    external: External,
    #[serde(default)]
    flags: [bool; 2],
}

/// Fields that may be missing, `null` or a value.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Changes {
    id: u32,
    #[serde(default)]
    number: tool_runtime::Patch<i8>,
    #[serde(default)]
    label: tool_runtime::Patch<String>,
    #[serde(default)]
    kind: tool_runtime::Patch<Kind>,
    #[serde(default)]
    points: tool_runtime::Patch<Vec<Point>>,
    #[serde(default)]
    tried: tool_runtime::Patch<Untagged>,
    #[serde(default)]
    next: tool_runtime::Patch<Box<Changes>>,
}

probes! {
    a_point: Point;
    changes: Changes;
    many_changes: Vec<Changes>;
    closed: Closed;
    all_defaults: AllDefaults;
    some_defaults: SomeDefaults;
    optional_defaults: Option<SomeDefaults>;
    a_patch: Patch;
    a_newtype: Newtype<Option<i32>>;
    a_transparent: Transparent;
    a_tuple_struct: Triple;
    a_unit_struct: Unit;
    braces: Braces;
    points: Vec<Point>;
    flat: Flat;
    flat_numbers: FlatNumbers;
    flat_optional: FlatOptional;
    flat_enum: FlatEnum;
    flat_key: FlatKey;
    flat_untagged: FlatUntagged;
    flats: Vec<Flat>;
    a_tree: Tree;
    a_chain: Chain;
    limited: Limited;
    from_another: From16;
    tried: Short;
    switches: Switches;
    everything: Everything;
    much: Vec<Everything>;
}
