//! Lists, sets and tuples.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::composed::Point;
use super::scalars::Scope;

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Limited {
    /// A number.
    #[schemars(range(min = 1))]
    n: i64,
    /// A text.
    #[schemars(length(max = 3))]
    s: String,
}

echo_nested! {
    int_list(Vec<i64>);
    optional_int_list(Option<Vec<i64>>);
    string_list(Vec<String>);
    optional_string_list(Option<Vec<String>>);
    bool_list(Vec<bool>);
    number_list(Vec<f64>);
    any_list(Vec<Value>);
    mode_list(Vec<Access>);
    optional_scopes(Option<Vec<Scope>>);
    uuid_list(Vec<Uuid>);
    nested_list(Vec<Vec<i64>>);
    nested_string_list(Vec<Vec<String>>);
    nullable_list(Vec<Option<i64>>);
    object_list(Vec<Point>);
    nested_limits(Vec<Limited>);
    int_set(BTreeSet<i64>);
    items(#[arg(length = 2..=3)] Vec<i64>);
    pair((i64, String));
    optional_pair(Option<(i64, String)>);
}
