//! Times of the client: calls over stdio and HTTP beside bare exchanges of equal messages, a large result, and a long list.
//!
//! `cargo bench -p tool-mcp --features client,http --bench calls` prints the table, and fails if a limit is exceeded. The server is this
//! program, too.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program that measures"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use peak_alloc::PeakAlloc;
use tool_mcp::{McpClient, Protocol};
use tool_runtime::serde_json::{Value, from_slice, from_str, json};
use tool_runtime::{ToolCall, ToolRegistry};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Argument of this program as a server.
const SERVE: &str = "serve-mcp";
const CALLS: usize = 2_000;
const LARGE: usize = 10 << 20;

/// Returns the answer to a message, if it needs one.
fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let text = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
    let tool = |name: String| {
        let properties = json!({ "word": { "type": "string" }, "count": { "type": "integer" } });
        json!({ "name": name, "description": "A tool.", "inputSchema": { "type": "object", "properties": properties } })
    };
    let result = match message["method"].as_str()? {
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }, "ttlMs": 0,
            "cacheScope": "private",
        }),
        "tools/list" => {
            let names = ["echo".to_owned(), "large".to_owned()];
            let many = (0..998).map(|number| format!("tool_{number}"));
            let tools: Vec<_> = names.into_iter().chain(many).map(tool).collect();
            json!({ "tools": tools })
        }
        "tools/call" if message["params"]["name"] == "large" => text("x".repeat(LARGE)),
        _ => text("tea".to_owned()),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn serve() {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = from_str(&line.unwrap()) else {
            return;
        };
        if let Some(answer) = answer(&message) {
            writeln!(output, "{answer}").unwrap();
            output.flush().unwrap();
        }
    }
}

fn request() -> String {
    let params = json!({ "name": "echo", "arguments": { "word": "tea", "count": 3 }, "_meta": {} });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Returns the median of a duration.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns the median of an exchange of lines with the server, without a client.
fn bare_stdio() -> Duration {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(SERVE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut output, mut line) = (BufReader::new(output), String::new());
    let request = request() + "\n";
    let times = (0..CALLS).map(|_| {
        let start = Instant::now();
        input.write_all(request.as_bytes()).unwrap();
        line.clear();
        output.read_line(&mut line).unwrap();
        start.elapsed()
    });
    let median = median(times.collect());
    drop(input);
    child.wait().unwrap();
    median
}

/// Returns the median of a call.
async fn calls(registry: &ToolRegistry) -> Duration {
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let call = ToolCall::new("toolu_01", "echo", r#"{"word":"tea","count":3}"#);
        let start = Instant::now();
        let outcome = registry.call(call).await;
        times.push(start.elapsed());
        assert_eq!(outcome.result.text(), Some("tea"));
    }
    median(times)
}

/// Prints a line of the table, and returns whether the limit holds.
fn report(name: &str, found: f64, limit: f64, unit: &str) -> bool {
    let holds = found <= limit;
    let mark = if holds { "" } else { "  ABOVE THE LIMIT" };
    println!("{name:<48} {found:>9.1} {unit:<3} (limit {limit} {unit}){mark}");
    holds
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

async fn measure() -> bool {
    let mut holds = true;
    let command = McpClient::command(std::env::current_exe().unwrap())
        .arg(SERVE)
        .protocol(Protocol::Modern)
        .max_tools(1_000)
        .max_result_chars(usize::MAX);
    let stdio = command.connect().await.unwrap();
    assert_eq!(stdio.definitions().len(), 1_000);

    let start = Instant::now();
    let registry = stdio.registry();
    let shown = registry.tool_definitions().len();
    holds &= report(
        "1,000 tools after their list",
        microseconds(start.elapsed()) / 1e3,
        100.0,
        "ms",
    );
    assert_eq!(shown, 1_000);

    let bare = tokio::task::spawn_blocking(bare_stdio).await.unwrap();
    let call = calls(&registry).await;
    println!("{:<48} {:>9.1} µs", "exchange of lines", microseconds(bare));
    holds &= report(
        "call over stdio, in addition",
        microseconds(call.saturating_sub(bare)),
        150.0,
        "µs",
    );

    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let start = Instant::now();
    let outcome = registry.call(ToolCall::new("toolu_02", "large", "{}")).await;
    let time = start.elapsed();
    let peak = HEAP.peak_usage().saturating_sub(before);
    assert_eq!(outcome.result.text().map(str::len), Some(LARGE));
    holds &= report(
        "result of 10 MiB over stdio",
        microseconds(time) / 1e3,
        150.0,
        "ms",
    );
    #[allow(clippy::cast_precision_loss, reason = "a number of bytes")]
    let times = peak as f64 / LARGE as f64;
    holds &= report("its peak of the heap", times, 4.0, "×");
    stdio.stop().await;

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let handler = async |body: bytes::Bytes| {
        let message = from_slice(&body).unwrap();
        axum::Json(answer(&message).unwrap_or_default())
    };
    let app = axum::Router::new().route("/mcp", axum::routing::post(handler));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let http = Client::builder(TokioExecutor::new()).build_http();
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let post = http::Request::post(&url).header("content-type", "application/json");
        let post = post.body(Full::<bytes::Bytes>::from(request())).unwrap();
        let start = Instant::now();
        let response = http.request(post).await.unwrap();
        response.into_body().collect().await.unwrap();
        times.push(start.elapsed());
    }
    let bare = median(times);
    let server = McpClient::url(url, http)
        .max_tools(1_000)
        .connect()
        .await
        .unwrap();
    let call = calls(&server.registry()).await;
    println!("{:<48} {:>9.1} µs", "exchange over HTTP", microseconds(bare));
    holds &= report(
        "call over HTTP, in addition",
        microseconds(call.saturating_sub(bare)),
        400.0,
        "µs",
    );
    holds
}

fn main() {
    if std::env::args().any(|argument| argument == SERVE) {
        return serve();
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if !runtime.block_on(measure()) {
        std::process::exit(1);
    }
}
