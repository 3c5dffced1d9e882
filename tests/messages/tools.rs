//! Seven typical tools.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{Patch, ToolRegistry, tool};

pub fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry
        .register::<edit_file>()
        .and_then(|registry| registry.register::<create_event>())
        .and_then(|registry| registry.register::<query>())
        .and_then(|registry| registry.register::<pay>())
        .and_then(|registry| registry.register::<upload_image>())
        .and_then(|registry| registry.register::<draw>())
        .and_then(|registry| registry.register::<change_request>())
        .expect("the tools are sound");
    registry
}

/// One replacement.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Edit {
    /// Text to replace.
    old_text: String,
    /// New text.
    new_text: String,
    /// Number of the occurrence, from 1.
    #[schemars(range(min = 1))]
    occurrence: Option<u32>,
}

/// Replace parts of a file.
#[tool]
async fn edit_file(
    /// The file, from the root of the workspace.
    #[arg(not_blank)]
    path: String,
    /// The replacements, one after the other.
    #[arg(length = 1..)]
    edits: Vec<Edit>,
    /// Show the changes without applying them.
    #[arg(default = false)]
    dry_run: bool,
) -> String {
    format!("{path}, {}, {dry_run}", json(&edits))
}

/// A day of the week.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Day {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

/// Repetition of an event.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Repeat {
    /// Every day.
    Daily,
    /// Every week.
    Weekly {
        /// Days of the week.
        days: Vec<Day>,
        /// Number of events.
        times: u8,
    },
    /// Number of days between events.
    EveryDays(u16),
}

/// Invited person.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Guest {
    /// Name on the badge.
    full_name: String,
    /// Address of the recipient.
    email: Option<String>,
}

/// Put an event into the calendar.
#[tool]
async fn create_event(
    /// Name.
    #[arg(length = 1..=80)]
    title: String,
    /// Start time.
    start: chrono::DateTime<chrono::Utc>,
    /// Duration.
    #[arg(default = 60, range = 5..=1440)]
    minutes: u32,
    /// Who is invited.
    guests: Vec<Guest>,
    /// Whether it comes again.
    repeat: Option<Repeat>,
) -> String {
    format!(
        "{title}, {start}, {minutes}, {}, {}",
        json(&guests),
        json(&repeat)
    )
}

/// Filter of rows.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Filter {
    /// Rows that match all filters.
    All {
        /// The filters.
        of: Vec<Filter>,
    },
    /// Rows that do not match a filter.
    Not {
        /// The filter.
        of: Box<Filter>,
    },
    /// Rows with this value in a column.
    Equals {
        /// The column.
        column: String,
        /// Value of the column.
        value: Scalar,
    },
    /// Rows with an empty column.
    Empty {
        /// The column.
        column: String,
    },
    /// All rows.
    Everything,
}

/// A value in a table.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum Scalar {
    Number(f64),
    Bool(bool),
    Text(String),
}

/// A table.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Table {
    Customers,
    Orders,
    Products,
}

/// Ascending or descending.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Asc,
    Desc,
}

/// Read rows of a table.
#[tool]
async fn query(
    /// The table.
    table: Table,
    /// Filter of rows.
    filter: Filter,
    /// The most rows.
    #[arg(default = 100, range = 1..=1000)]
    limit: u16,
    /// Column and direction of the order.
    sort: Option<(String, Direction)>,
) -> String {
    format!("{}, {}, {limit}, {}", json(&table), json(&filter), json(&sort))
}

/// Recipient of a payment.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", content = "details", rename_all = "snake_case")]
enum Recipient {
    /// An account at a bank.
    Iban(String),
    /// Person in the address book.
    Contact {
        /// The number in the book.
        id: u64,
        /// The name, to be sure.
        name: String,
    },
}

/// A currency.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Currency {
    Eur,
    Usd,
    Chf,
}

/// Pay a person.
#[tool]
async fn pay(
    /// Amount of money.
    #[arg(range = 0.01..=10_000.0)]
    amount: f64,
    /// Name of the object.
    #[arg(case_sensitive)]
    currency: Currency,
    /// Recipient.
    to: Recipient,
    /// The order that it is for.
    order: uuid::Uuid,
) -> String {
    format!("{amount}, {}, {}, {order}", json(&currency), json(&to))
}

/// Store an image.
#[tool]
async fn upload_image(
    /// Name.
    #[arg(pattern = "^[a-z0-9_-]+[.](png|jpg)$")]
    name: String,
    /// Content in base64.
    #[arg(pattern = "^[A-Za-z0-9+/]+={0,2}$")]
    data: String,
    /// Width and height in pixels.
    size: (u32, u32),
    /// Position of the image.
    source: Option<url::Url>,
    /// Labels and how sure they are.
    labels: Option<BTreeMap<String, f32>>,
) -> String {
    format!("{name}, {data}, {size:?}, {source:?}, {labels:?}")
}

/// A colour by its name.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Named {
    Black,
    White,
    Red,
}

/// A colour.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum Color {
    Named(Named),
    Rgb([u8; 3]),
}

/// One stroke of the pen.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Stroke {
    /// Points of the stroke, each with x and y.
    #[schemars(length(min = 2))]
    points: Vec<(i32, i32)>,
    /// Colour of the stroke.
    color: Color,
}

/// Draw lines.
#[tool]
async fn draw(
    /// The strokes, one over the other.
    strokes: Vec<Stroke>,
    /// Background colour; transparent by default.
    background: Option<Color>,
) -> String {
    format!("{}, {}", json(&strokes), json(&background))
}

/// Change a request that waits to be sent.
#[tool]
async fn change_request(
    /// The request.
    id: u32,
    /// Body as JSON.
    body: Option<String>,
    /// Headers of the request.
    headers_json: Option<String>,
    /// The day to send it; null for none.
    day: Patch<chrono::NaiveDate>,
    /// Number of attempts.
    #[arg(range = 1..=9)]
    attempts: Patch<u8>,
    /// Labels of the request; null for none.
    #[arg(length = 1..=2)]
    labels: Patch<Vec<String>>,
) -> String {
    format!("{id}, {body:?}, {headers_json:?}, {day:?}, {attempts:?}, {labels:?}")
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it is JSON")
}
