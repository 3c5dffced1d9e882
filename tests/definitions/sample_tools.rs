//! Sample tools: with nested values, an enum, a union, recursion, a map, and no parameters.

use std::collections::BTreeMap;

use tool_runtime::schemars::{self, JsonSchema};
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::{ToolDefinition, tool};

use crate::definitions::declared::registered;

/// Returns the tools by the feature that they show.
pub fn definitions() -> Vec<(&'static str, ToolDefinition)> {
    vec![
        ("nested", registered::<create_event>()),
        ("enum", registered::<set_effort>()),
        ("union", registered::<draw>()),
        ("recursive", registered::<render>()),
        ("map", registered::<set_labels>()),
        ("none", registered::<ping>()),
    ]
}

/// Who takes part.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "camelCase", deny_unknown_fields)]
pub struct Guest {
    /// The name on the badge.
    #[schemars(length(min = 1, max = 80), with = "tool_runtime::NotBlank")]
    full_name: String,
    /// Where to write to.
    #[schemars(email)]
    email: Option<String>,
    /// How many come along.
    #[serde(default)]
    companions: u8,
}

/// Put an event into the calendar.
#[tool(title = "New event", destructive = false)]
pub async fn create_event(
    /// What it is called.
    #[arg(length = 1..=200)]
    title: String,
    /// When it begins.
    start: chrono::DateTime<chrono::Utc>,
    /// How long it takes, in minutes.
    #[arg(default = 60, range = 5..=1440)]
    minutes: u32,
    /// Who is invited, each once.
    #[arg(length = 1..)]
    guests: Vec<Guest>,
    /// Where more is written.
    link: Option<url::Url>,
) -> String {
    let names: Vec<_> = guests.iter().map(|guest| guest.full_name.as_str()).collect();
    format!("{title} at {start} for {minutes} minutes with {names:?}, {link:?}")
}

/// How hard to try.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
enum Effort {
    /// One look.
    Low,
    /// Some looks.
    Middle,
    /// As long as it takes.
    High,
}

/// Say how hard to try.
#[tool(idempotent)]
async fn set_effort(
    /// From now on.
    effort: Effort,
    /// For the next step only.
    once: Option<Effort>,
) {
    let _ = (effort, once);
}

/// What to draw.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", tag = "kind", rename_all = "snake_case")]
enum Shape {
    /// A point where the pen is.
    Point,
    /// A circle around the pen.
    Circle {
        /// From its middle to its edge.
        radius: f64,
        /// What it is filled with.
        fill: Option<String>,
    },
}

/// Where to draw.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
enum Place {
    /// Where the pen is.
    Here,
    /// By coordinates.
    At {
        /// To the right.
        x: i32,
        /// Upwards.
        y: i32,
    },
}

/// Draw something.
#[tool]
async fn draw(
    /// What to draw.
    shape: Shape,
    /// Where to draw it.
    place: Option<Place>,
) {
    let _ = (shape, place);
}

/// A part of a page.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
struct Element {
    /// The element's name.
    name: String,
    /// What is inside.
    children: Vec<Element>,
    /// What to show when it cannot be shown.
    fallback: Option<Box<Element>>,
}

/// Render a page.
#[tool(read_only)]
async fn render(
    /// The outermost element.
    root: Element,
) {
    let _ = root;
}

/// Label a thing.
#[tool(idempotent)]
async fn set_labels(
    /// The labels.
    labels: BTreeMap<String, String>,
    /// Anything to keep with them.
    extra: Option<serde_json::Value>,
) {
    let _ = (labels, extra);
}

/// See whether anyone is there.
#[tool(read_only, idempotent, open_world = false)]
async fn ping() {}
