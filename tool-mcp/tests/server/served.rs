//! Served registry. The test program starts itself as a server: the only test that runs there is `serve`.

use std::time::Duration;

use tool_mcp::McpServer;
use tool_runtime::serde_json::json;
use tool_runtime::{
    CancellationToken, Context, Progress, SessionState, Structured, ToolDefinition, ToolOutput, ToolRegistry,
    tool, tool_set,
};

/// Environment variable that makes the program a server. The value is a number of further tools.
pub(crate) const SERVED: &str = "MCP_TEST_SERVED";

/// Runs the server, if this program was started as one.
#[test]
fn serve() {
    if std::env::var_os(SERVED).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let server = McpServer::new(registry())
            .with_instructions("Add first.")
            .with_name("served", "1.0");
        REPLACED.set(server.clone()).unwrap();
        runtime.block_on(server.serve_stdio()).unwrap();
        eprintln!("the server has ended");
        std::process::exit(0);
    }
}

static REPLACED: std::sync::OnceLock<McpServer> = std::sync::OnceLock::new();

/// Add two numbers.
#[tool(read_only, title = "Add")]
async fn add(
    /// The first number.
    left: i64,
    /// The second number.
    right: i64,
) -> i64 {
    left + right
}

/// Print to standard output, and read standard input.
#[tool]
async fn print() -> usize {
    println!("printed");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin(), &mut text).unwrap_or(usize::MAX)
}

/// Run a program that prints and reads.
#[tool]
async fn run() -> String {
    let output = std::process::Command::new("sh")
        .args(["-c", "echo printed; cat"])
        .status();
    output.unwrap().to_string()
}

/// Wait until the call is cancelled.
#[tool]
async fn wait(cancel: CancellationToken) {
    eprintln!("waiting");
    cancel.cancelled().await;
    eprintln!("cancelled");
}

/// Block the thread of the call.
#[tool]
async fn block() {
    eprintln!("blocking");
    std::thread::sleep(Duration::from_secs(3600));
}

/// Report progress.
#[tool]
async fn report(
    /// The number of steps.
    steps: u64,
    progress: Progress,
) -> u64 {
    for step in 1..=steps {
        progress.report(step, steps, format_args!("step {step}"));
        tokio::task::yield_now().await;
    }
    steps
}

/// Fail.
#[tool]
async fn fail() -> Result<(), String> {
    Err("no water".to_owned())
}

/// Panic.
#[tool]
async fn panic() {
    panic!("no water");
}

/// List numbers.
#[tool]
async fn numbers() -> Structured<Vec<u32>> {
    Structured(vec![1, 2])
}

/// Count the calls of a session.
#[tool]
async fn count(count: SessionState<u32>) -> u32 {
    *count.lock() += 1;
    *count.lock()
}

/// Return a text of this length.
#[tool]
async fn text(
    /// The number of characters.
    length: usize,
) -> String {
    "x".repeat(length)
}

/// Add a tool.
#[tool]
async fn change() -> &'static str {
    let mut registry = registry();
    let definition = ToolDefinition::new("added", "Added later.", json!({ "type": "object" }));
    registry
        .register_dynamic(definition, async |_, _| "added")
        .unwrap();
    REPLACED.get().unwrap().replace(registry);
    "changed"
}

/// Returns the registry of the server.
pub(crate) fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new()
        .with_tools(tool_set![
            add, print, run, wait, block, report, fail, panic, numbers, count, text, change
        ])
        .unwrap();
    let schema = json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
    let definition = ToolDefinition::new("blocks", "Return MCP content.", schema);
    registry
        .register_dynamic(definition, async |_, _: Context| {
            ToolOutput::blocks([
                tool_runtime::message::Block::text("text"),
                tool_runtime::message::Block::image("image/png", "AAAA"),
            ])
        })
        .unwrap();
    let further = std::env::var(SERVED).ok().and_then(|count| count.parse().ok());
    for number in 0..further.unwrap_or(0) {
        let definition = ToolDefinition::new(format!("t{number}"), "", json!({ "type": "object" }));
        registry.register_dynamic(definition, async |_, _| "").unwrap();
    }
    registry
}
