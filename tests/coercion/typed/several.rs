//! Tools without parameters, or with several.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{RegistryError, ToolRegistry, tool};

use super::composed::Point;
use super::{echoed, json};

/// Accepts no arguments.
#[tool]
pub async fn nothing() -> String {
    echoed(&[])
}

/// The example of R-DEF-4.
#[tool]
pub async fn search_files(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    case_sensitive: Option<bool>,
    /// The most results.
    max_results: Option<i64>,
) -> String {
    echoed(&[
        ("pattern", json(&pattern)),
        ("case_sensitive", json(&case_sensitive)),
        ("max_results", json(&max_results)),
    ])
}

/// Two parameters whose names differ in what a model may confuse.
#[tool]
pub async fn two_spellings(
    /// One.
    a_b: Option<i64>,
    /// The other.
    #[arg(name = "aB")]
    other: Option<i64>,
) -> String {
    echoed(&[("a_b", json(&a_b)), ("aB", json(&other))])
}

/// Three parameters in an order.
#[tool]
pub async fn three(
    /// An integer.
    a: i64,
    /// A boolean.
    b: bool,
    /// A number.
    c: f64,
) -> String {
    echoed(&[("a", json(&a)), ("b", json(&b)), ("c", json(&c))])
}

/// One parameter that is strict, beside one that is not.
#[tool]
pub async fn strict_object(
    /// Types must match in here.
    #[arg(strict)]
    x: Point,
    /// Second strict parameter.
    y: i64,
) -> String {
    echoed(&[("x", json(&x)), ("y", json(&y))])
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Filter {
    /// The limit.
    max_size: i64,
    /// List of labels.
    tags: Option<Vec<String>>,
    /// Second part.
    nested: Option<Nested>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Nested {
    /// A switch.
    on: bool,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Step {
    /// Whether to.
    do_it: bool,
    /// Optional value.
    args: Option<BTreeMap<String, i64>>,
}

/// Parameters with a lot inside.
#[tool]
pub async fn deep(
    /// Values to keep.
    filter: Filter,
    /// Actions.
    steps: Option<Vec<Step>>,
) -> String {
    echoed(&[("filter", json(&filter)), ("steps", json(&steps))])
}

pub fn register(registry: &mut ToolRegistry) -> Result<(), RegistryError> {
    registry
        .register::<nothing>()?
        .register::<search_files>()?
        .register::<two_spellings>()?
        .register::<three>()?
        .register::<strict_object>()?
        .register::<deep>()?;
    Ok(())
}
