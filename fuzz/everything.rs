//! An annotated function with a parameter of every kind, and the same tool known by its schema alone.

use std::collections::BTreeMap;

use serde::Deserialize;
use tool_runtime::schemars::{self, JsonSchema};
use tool_runtime::serde_json::Value;
use tool_runtime::{ToolRegistry, tool};

/// A registry of the function.
pub fn typed() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register::<everything>().expect("the tool is sound");
    registry
}

/// A registry of a tool with the same schema, which answers with its arguments.
pub fn dynamic() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    for definition in typed().tool_definitions() {
        let added = registry.register_dynamic(definition.clone(), async |arguments: Value, _| arguments);
        added.expect("the tool is sound");
    }
    registry
}

/// Answers with its arguments.
#[tool]
#[expect(clippy::too_many_arguments, reason = "that is the point")]
async fn everything(
    /// A text.
    name: String,
    /// An integer.
    count: Option<i64>,
    /// A number with a default.
    #[arg(default = 0.5)]
    ratio: f64,
    /// A switch with a default.
    #[arg(default = true)]
    is_on: bool,
    /// A small number within limits.
    #[arg(range = 1..=100)]
    level: Option<i64>,
    /// A short text.
    #[arg(length = 1..=3, pattern = "^[a-z]+$")]
    short: Option<String>,
    /// Kinds.
    kinds: Option<Vec<Kind>>,
    /// Texts.
    tags: Option<Vec<String>>,
    /// Lists of lists.
    rows: Option<Vec<Vec<i64>>>,
    /// Numbers by name.
    by_name: Option<BTreeMap<String, Option<f64>>>,
    /// Shapes.
    shapes: Option<Vec<Shape>>,
    /// The last event.
    event: Option<Event>,
    /// One thing or another.
    either: Option<Either>,
    /// A tree.
    tree: Option<Tree>,
    /// Anything.
    any: Option<Value>,
    /// Types have to match in here.
    #[arg(strict)]
    pair: Option<(i64, String)>,
) -> String {
    let one = (name, count, ratio, is_on, level, short, kinds, tags);
    format!(
        "{:?}",
        (one, rows, by_name, shapes, event, either, tree, any, pair)
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "schemars")]
enum Kind {
    Small,
    MiddleSized,
    Large,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(crate = "schemars")]
#[expect(dead_code, reason = "what is read is shown, by `Debug`")]
enum Shape {
    Point,
    Circle { radius: f64, center: Option<(f64, f64)> },
    Named { long_name: String, kind: Option<Kind> },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
#[expect(dead_code, reason = "what is read is shown, by `Debug`")]
enum Event {
    Nothing,
    Moved(i64, i64),
    Said { some_words: Vec<String>, is_loud: bool },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(crate = "schemars")]
#[expect(dead_code, reason = "what is read is shown, by `Debug`")]
enum Either {
    Whole(i64),
    Flag(bool),
    Texts(Vec<String>),
    Where { x: i64, y: Option<i64> },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
#[expect(dead_code, reason = "what is read is shown, by `Debug`")]
struct Tree {
    its_value: Option<i64>,
    children: Option<Vec<Tree>>,
    odd: Option<Odd>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what is read is shown, by `Debug`")]
struct Odd {
    #[serde(rename = "a/b~c \"d\"")]
    name: char,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
#[expect(dead_code, reason = "what is read is shown, by `Debug`")]
struct Rest {
    last: bool,
}
