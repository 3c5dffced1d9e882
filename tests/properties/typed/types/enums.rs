//! Enums in all representations of serde.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::structs::{Newtype, Point, Tree};

#[derive(Debug, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Small,
    #[serde(alias = "mid")]
    MiddleSized,
    Large,
    #[serde(rename = "é\n")]
    Odd,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub enum One {
    Only,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub enum External {
    Unit,
    Other,
    New(i64),
    Optional(Option<u8>),
    Nothing(()),
    Pair(u8, String),
    Named { a: Option<bool>, b: f32 },
    Point(Point),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Internal {
    Unit,
    One {
        a: i8,
        wide: Option<i64>,
    },
    Two {
        b: f32,
        c: Option<char>,
    },
    Three {
        list: Vec<f64>,
        map: BTreeMap<String, u8>,
    },
    Point(Point),
    Deep {
        inner: Box<Internal>,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum InternalClosed {
    A { value: u64 },
    B { value: String, kind: Kind },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
pub enum Adjacent {
    Unit,
    New(u16),
    Optional(Option<i32>),
    List(Vec<char>),
    Pair(i8, f64),
    Named { x: String },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c", deny_unknown_fields)]
pub enum AdjacentClosed {
    A(bool),
    B { x: i32 },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Untagged {
    Nothing,
    Flag(bool),
    Named { x: i64 },
    Other { y: String },
    Point(Point),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    Whole(u64),
    Negative(i8),
    Float(f64),
    Text(String),
    Many(Vec<Scalar>),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    One(Kind),
    Many(Vec<Kind>),
    By(BTreeMap<String, Kind>),
}

#[derive(Debug, Deserialize, JsonSchema)]
pub enum WithOther {
    Known,
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub enum Partly {
    Known(u8),
    #[serde(untagged)]
    Else(Vec<i32>),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Expression {
    Number {
        value: f64,
    },
    Add {
        left: Box<Expression>,
        right: Box<Expression>,
    },
    All {
        of: Vec<Expression>,
    },
    Tree(Tree),
    Any {
        json: Value,
    },
}

probes! {
    a_kind: Kind;
    one: One;
    optional_kind: Option<Kind>;
    kinds: Vec<Kind>;
    external: External;
    optional_external: Option<External>;
    externals_by_name: BTreeMap<String, External>;
    internal: Internal;
    internals: Vec<Internal>;
    optional_internal: Option<Internal>;
    internal_closed: InternalClosed;
    adjacent: Adjacent;
    adjacents: Vec<Adjacent>;
    adjacent_closed: AdjacentClosed;
    untagged: Untagged;
    untaggeds: Vec<Untagged>;
    scalar: Scalar;
    scalars: Vec<Scalar>;
    one_or_many: OneOrMany;
    with_other: WithOther;
    partly: Partly;
    expression: Expression;
    expressions: Vec<Newtype<Expression>>;
}
