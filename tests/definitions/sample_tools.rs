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

/// Names of the participants.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "camelCase", deny_unknown_fields)]
pub struct Guest {
    /// The name on the badge.
    #[schemars(length(min = 1, max = 80), with = "tool_runtime::NotBlank")]
    full_name: String,
    /// Address of the recipient.
    #[schemars(email)]
    email: Option<String>,
    /// Number of companions.
    #[serde(default)]
    companions: u8,
}

/// Put an event into the calendar.
#[tool(title = "New event", destructive = false)]
pub async fn create_event(
    /// Name.
    #[arg(length = 1..=200)]
    title: String,
    /// Start time.
    start: chrono::DateTime<chrono::Utc>,
    /// Duration in minutes.
    #[arg(default = 60, range = 5..=1440)]
    minutes: u32,
    /// Unique email addresses of the guests.
    #[arg(length = 1..)]
    guests: Vec<Guest>,
    /// Address of further information.
    link: Option<url::Url>,
) -> String {
    let names: Vec<_> = guests.iter().map(|guest| guest.full_name.as_str()).collect();
    format!("{title} at {start} for {minutes} minutes with {names:?}, {link:?}")
}

/// Effort of the search.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
enum Effort {
    /// One look.
    Low,
    /// Several looks.
    Middle,
    /// Unlimited effort.
    High,
}

/// Set the effort of the search.
#[tool(idempotent)]
async fn set_effort(
    /// Setting for all following steps.
    effort: Effort,
    /// Setting for the next step.
    once: Option<Effort>,
) {
    let _ = (effort, once);
}

/// Shape to draw.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", tag = "kind", rename_all = "snake_case")]
enum Shape {
    /// A point where the pen is.
    Point,
    /// A circle around the pen.
    Circle {
        /// Distance from the centre to the edge.
        radius: f64,
        /// Color of the filling.
        fill: Option<String>,
    },
}

/// Position of the drawing.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
enum Place {
    /// Position of the pen.
    Here,
    /// Place by coordinates.
    At {
        /// Direction to the right.
        x: i32,
        /// Direction upwards.
        y: i32,
    },
}

/// Draw a shape.
#[tool]
async fn draw(
    /// Shape to draw.
    shape: Shape,
    /// Position of the drawing.
    place: Option<Place>,
) {
    let _ = (shape, place);
}

/// Element of a page.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
struct Element {
    /// The element's name.
    name: String,
    /// Child elements.
    children: Vec<Element>,
    /// Alternative text of the image.
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

/// Set labels.
#[tool(idempotent)]
async fn set_labels(
    /// The labels.
    labels: BTreeMap<String, String>,
    /// Additional data of the labels.
    extra: Option<serde_json::Value>,
) {
    let _ = (labels, extra);
}

/// Check whether the server answers.
#[tool(read_only, idempotent, open_world = false)]
async fn ping() {}
