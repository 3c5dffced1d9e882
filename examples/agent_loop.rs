//! A whole agent: the model calls tools, reads their results and continues until it has an answer.
//!
//! The model is a script, so that all runs are equal. It behaves like real models: it spells values differently (which is coerced), makes a
//! wrong call (and corrects it after the error), calls several tools at once, and calls a tool with a bug.

use std::time::{Duration, Instant};

use examples::model::{ScriptedModel, blocks};
use examples::voice::{chapter, log_panics_in_one_line, say, show};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::format::anthropic;
use tool_runtime::message::Message;
use tool_runtime::serde_json::{Value, from_value, json};
use tool_runtime::{ToolOutcome, ToolRegistry, tool, tool_set};

/// Look up the weather forecast of a city.
#[tool(read_only)]
async fn get_forecast(
    /// The city, for example `Oslo`.
    city: String,
    /// How many days ahead.
    #[arg(default = 1, range = 1..=7)]
    days: u8,
    /// Unit of the temperature.
    #[arg(default = Unit::Celsius)]
    unit: Unit,
) -> Result<Forecast, String> {
    let celsius = match city.as_str() {
        "Oslo" => vec![18, 21, 16, 12, 9, 11, 15],
        other => {
            return Err(format!(
                "no station is called `{other}`; try the nearest large city"
            ));
        }
    };
    let in_unit = |celsius: i32| match unit {
        Unit::Celsius => celsius,
        Unit::Fahrenheit => celsius * 9 / 5 + 32,
    };
    let highs = celsius.into_iter().take(days.into()).map(in_unit).collect();
    Ok(Forecast { city, unit, highs })
}

/// A unit of temperature.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Serialize)]
struct Forecast {
    city: String,
    unit: Unit,
    highs: Vec<i32>,
}

/// Find ferries between two places.
#[tool(read_only)]
async fn find_ferries(
    /// Start of the route.
    from: String,
    /// Destination.
    to: String,
    /// The earliest departure, as `HH:MM`.
    #[arg(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$")]
    after: String,
    /// Number of people.
    #[arg(range = 1..=9)]
    people: u8,
) -> String {
    format!("{after} {from} → {to}, 12 minutes, room for {people}")
}

/// Look up when a museum is open.
#[tool(read_only)]
async fn opening_hours(
    /// The museum.
    museum: String,
) -> String {
    tokio::time::sleep(Duration::from_millis(200)).await; // a slow web site
    format!("{museum}: 10:00 to 18:00")
}

/// Reserve a table for lunch.
#[tool]
async fn reserve_table(
    /// Number of people.
    people: u8,
) -> String {
    let free = [2, 4];
    let table = free
        .iter()
        .position(|&seats| seats >= people)
        .expect("a table that is large enough");
    format!("table {table} is yours")
}

#[tokio::main]
async fn main() {
    log_panics_in_one_line();
    let mut registry = ToolRegistry::new();
    registry
        .register_all(tool_set![
            get_forecast,
            find_ferries,
            opening_hours,
            reserve_table
        ])
        .expect("four different names, four valid schemas");
    run(
        &registry,
        script(),
        "We are six and have a day in Oslo tomorrow. What shall we do?",
    )
    .await;
}

/// Runs the agent loop: sends the messages, runs the calls of the model, and appends their results, until the model makes no call.
async fn run(registry: &ToolRegistry, mut model: ScriptedModel, question: &str) {
    let mut messages: Vec<Message> =
        from_value(json!([{ "role": "user", "content": question }])).expect("a message");
    say("user", question);
    for title in CHAPTERS {
        let answer = model.answer(&registry.tool_definitions(), &messages);
        chapter(title);
        say("model", text(&answer.message));
        if answer.stop_reason == "end_turn" {
            return;
        }

        let calls = anthropic::calls(&answer.message).expect("the API sends well-formed messages");
        for call in &calls {
            show(&call.name, &call.input);
        }
        let began = Instant::now();
        let outcomes = registry.execute_all(calls).await;
        print_outcomes(&outcomes, began.elapsed());

        messages.push(answer.message);
        messages.push(anthropic::results(outcomes.iter().map(|outcome| &outcome.result)));
    }
}

fn print_outcomes(outcomes: &[ToolOutcome], elapsed: Duration) {
    for outcome in outcomes {
        for warning in &outcome.warnings {
            say("warning", warning);
        }
        show("tool_result", &outcome.result);
    }
    let (slowest, together) = (Duration::from_millis(200), outcomes.len());
    if elapsed >= slowest && elapsed < 2 * slowest {
        say(
            "",
            format!("({together} calls side by side took as long as the slowest of them)"),
        );
    }
}

fn text(message: &Message) -> String {
    blocks(message)
        .iter()
        .filter_map(|block| block.str("text"))
        .collect()
}

const CHAPTERS: [&str; 5] = [
    "A sloppy call: a name and a value in the wrong case, a number in quotes. It is mended",
    "A wrong call: no destination, a time in words, nobody on board. It is not run",
    "The error said what to send, and the model sends it",
    "Three calls at once, and the last one has a bug",
    "The model needs no more tools",
];

/// Answers of the model, in order.
fn script() -> ScriptedModel {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let call = |id: &str, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    ScriptedModel::new([
        json!([
            text("First the weather."),
            call(
                "toolu_01",
                "get_forecast",
                json!({ "City": "Oslo", "days": "2", "unit": "CELSIUS" })
            ),
        ]),
        json!([
            text("Sunny! Then a ferry to the museums."),
            call(
                "toolu_02",
                "find_ferries",
                json!({ "from": "Rådhuset", "after": "half past nine", "people": 0 })
            ),
        ]),
        json!([
            text("I see. Once more, properly."),
            call(
                "toolu_03",
                "find_ferries",
                json!({ "from": "Rådhuset", "to": "Bygdøy", "after": "09:30", "people": 6 })
            ),
        ]),
        json!([
            text("When are the museums open, and is there a table for six?"),
            call("toolu_04", "opening_hours", json!({ "museum": "Fram" })),
            call("toolu_05", "opening_hours", json!({ "museum": "Kon-Tiki" })),
            call("toolu_06", "reserve_table", json!({ "people": 6 })),
        ]),
        json!([text(
            "Take the 09:30 ferry to Bygdøy; Fram and Kon-Tiki open at 10:00. It will be 21 °C, so bring a picnic: \
             I could not reserve a table."
        )]),
    ])
}
