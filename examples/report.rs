//! A long job: a function that blocks its thread reports its progress, and returns a value that programs can read, too. The host draws a
//! progress bar.

use std::io::{self, IsTerminal as _, Write as _};
use std::thread;
use std::time::Duration;

use examples::voice::{chapter, say, show};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;
use tool_runtime::format::mcp;
use tool_runtime::{Context, Progress, ProgressReport, Structured, ToolCall, ToolRegistry, tool};

/// The visitors of a year.
#[derive(Serialize, JsonSchema)]
struct Visitors {
    /// Total number of visitors.
    total: u32,
    /// The month with most of them.
    busiest: &'static str,
    /// Number of visitors in the month.
    most: u32,
}

/// Visitors of each month, from a slow archive.
const ARCHIVE: [(&str, u32); 12] = [
    ("January", 310),
    ("February", 295),
    ("March", 402),
    ("April", 515),
    ("May", 640),
    ("June", 811),
    ("July", 1204),
    ("August", 1130),
    ("September", 702),
    ("October", 488),
    ("November", 301),
    ("December", 377),
];

/// Report how many people visited the museum in a year.
#[tool(blocking, read_only)]
fn report_visitors(
    /// The year.
    #[arg(range = 2000..=2100)]
    year: u16,
    progress: Progress,
) -> Result<Structured<Visitors>, String> {
    if year != 2025 {
        return Err(format!("the archive has no visitors of {year}; ask for 2025"));
    }
    let mut visitors = Visitors {
        total: 0,
        busiest: "",
        most: 0,
    };
    for (done, (month, count)) in (0..).zip(ARCHIVE) {
        progress.report(done, 12, month);
        thread::sleep(Duration::from_millis(25)); // an archive that knows nothing of `async`
        visitors.total += count;
        if count > visitors.most {
            (visitors.busiest, visitors.most) = (month, count);
        }
    }
    progress.report(12, 12, "done");
    Ok(Structured(visitors))
}

#[tokio::main]
async fn main() {
    let mut registry = ToolRegistry::new();
    registry
        .register::<report_visitors>()
        .expect("a tool without any state");

    chapter("What a client of MCP is told: the answer has a schema, too");
    let definition = registry.tool_definitions()[0];
    show("outputSchema", &mcp::tool(definition)["outputSchema"]);

    chapter("The call, and a bar while it runs");
    let (sender, mut latest) = watch::channel(ProgressReport::default());
    let context = Context::new().with_progress(sender);
    let call = ToolCall::new("toolu_01", "report_visitors", r#"{"year":"2025"}"#).with_context(context);
    let mut call = std::pin::pin!(registry.call(call));
    let outcome = loop {
        tokio::select! {
            outcome = &mut call => break outcome,
            Ok(()) = latest.changed() => draw(&latest.borrow_and_update()),
        }
    };
    draw(&latest.borrow());
    println!();

    chapter("The answer: a text for the model, a value for programs");
    for warning in &outcome.warnings {
        say("warning", warning);
    }
    show("to the model", &outcome.result);
    let answer = mcp::result(&outcome.result).expect("a text has a form in MCP");
    show("to MCP", &answer["structuredContent"]);
}

/// Draws the bar over the previous one, or on a separate line without a terminal.
fn draw(report: &ProgressReport) {
    const WIDTH: u64 = 36;
    let filled = report.total.map_or(0, |total| report.done * WIDTH / total.max(1));
    let bar: String = (0..WIDTH).map(|at| if at < filled { '█' } else { '░' }).collect();
    let start = if io::stdout().is_terminal() { "\r" } else { "\n" };
    // Padded, to cover a longer line.
    print!("{start}{bar}  {:<28}", report.to_string());
    io::stdout().flush().expect("the terminal takes it");
}
