//! Objects, maps and recursive types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Point {
    /// A number.
    a: i64,
    /// A text.
    b: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// A number.
    a: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct OddNames {
    /// A name with a slash.
    #[serde(rename = "a/b")]
    slash: i64,
    /// A name with a tilde.
    #[serde(rename = "m~n")]
    tilde: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Tree {
    /// Value of the node.
    value: i64,
    /// Child nodes.
    children: Option<Vec<Tree>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(
    extend("not" = { "required": ["locker", "street"] }),
    extend("dependentRequired" = { "street": ["city"] })
)]
pub struct Address {
    /// A locker.
    #[serde(skip_serializing_if = "Option::is_none")]
    locker: Option<i64>,
    /// A street.
    #[serde(skip_serializing_if = "Option::is_none")]
    street: Option<String>,
    /// A city.
    #[serde(skip_serializing_if = "Option::is_none")]
    city: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(extend("contains" = { "minimum": 5 }))]
pub struct Weights(Vec<i64>);

echo_nested! {
    exclusive_fields(Address);
    some_heavy(Weights);
    object(Point);
    optional_object(Option<Point>);
    object_map(BTreeMap<String, Point>);
    any_map(BTreeMap<String, Value>);
    int_map(BTreeMap<String, i64>);
    optional_int_map(Option<BTreeMap<String, i64>>);
    list_map(BTreeMap<String, Vec<i64>>);
    string_map(BTreeMap<String, String>);
    nullable_map(BTreeMap<String, Option<i64>>);
    integer_keys(BTreeMap<i64, String>);
    entries(#[arg(length = 1..=2)] BTreeMap<String, i64>);
    closed(Closed);
    odd_names(OddNames);
    tree(Tree);
}
