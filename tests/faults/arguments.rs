//! Invalid arguments, for which the function never runs, and warnings, which are logged before the function runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tool_runtime::{CancellationToken, Context, RawArguments, ToolCall, ToolDefinition, ToolRegistry, tool};

use crate::calls::brewing;
use crate::rows::{Row, read_in, row};
use crate::telemetry;

/// Make coffee.
#[tool(name = "brew")]
async fn brew(
    /// Number of cups.
    #[arg(range = 1..=4)]
    cups: u8,
) -> u8 {
    cups
}

async fn sent(row: &Row, name: &str, input: impl Into<RawArguments<'_>>) {
    let mut registry = ToolRegistry::new();
    registry.register::<brew>().unwrap();
    row.check(&registry.call(ToolCall::new(row.id(), name, input)).await);
}

#[tokio::test]
async fn unknown_tool() {
    sent(&row("arguments::unknown_tool"), "steep", "{}").await;
}

#[tokio::test]
async fn unknown_among_many() {
    let row = row("arguments::unknown_among_many");
    let mut registry = brewing(async |_, _| "coffee");
    for name in ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"] {
        let definition = ToolDefinition::new(name, "Stir.", json!({ "type": "object" }));
        registry.register_dynamic(definition, async |_, _| "tea").unwrap();
    }
    row.check(&registry.call(ToolCall::new(row.id(), "bruw", "{}")).await);
}

/// R-REG-7
#[tokio::test]
async fn unknown_with_execute_tool() {
    let row = row("arguments::unknown_with_execute_tool");
    let registry = brewing(async |_, _| "coffee");
    let result = registry.execute_tool(row.id(), "steep", "{}").await;
    row.model_reads(read_in(&result));
    let recorded = telemetry::of(&row.id());
    assert!(recorded.events.is_empty());
    let mut learnt = vec!["error.type".to_owned()];
    learnt.extend(recorded.error_type);
    row.host_learns(learnt);
}

#[tokio::test]
async fn very_long_name() {
    sent(&row("arguments::very_long_name"), &"x".repeat(1 << 20), "{}").await;
}

#[tokio::test]
async fn missing() {
    sent(&row("arguments::missing"), "brew", "{}").await;
}

#[tokio::test]
async fn out_of_range() {
    sent(&row("arguments::out_of_range"), "brew", r#"{ "cups": 5 }"#).await;
}

#[tokio::test]
async fn truncated() {
    sent(&row("arguments::truncated"), "brew", r#"{ "cups": "#).await;
}

#[tokio::test]
async fn not_utf8() {
    sent(&row("arguments::not_utf8"), "brew", &b"{ \"cups\": \xff }"[..]).await;
}

#[tokio::test]
async fn deeply_nested_text() {
    let row = row("arguments::deeply_nested_text");
    let open = "[".repeat(LEVELS);
    let close = "]".repeat(LEVELS);
    sent(&row, "brew", format!(r#"{{ "cups": {open}{close} }}"#)).await;
}

#[tokio::test]
async fn deeply_nested_value() {
    let row = row("arguments::deeply_nested_value");
    let deep = (0..LEVELS).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    // `json!` would copy the value at each level.
    let mut input = json!({});
    input["cups"] = deep;
    sent(&row, "brew", input).await;
}

/// Levels that would overflow the stack of any test, if each level were a frame.
const LEVELS: usize = 200_000;

/// Make coffee without end. Reads the log about its arguments before it waits.
#[tool(name = "brew")]
async fn endless(
    /// Number of cups.
    cups: u8,
    context: Context,
) {
    context.extension::<Log>().unwrap().look();
    std::future::pending::<()>().await;
    let _ = cups;
}

/// Log lines of a call at the time when its function runs.
#[derive(Clone)]
struct Log(String, Arc<Mutex<Option<Vec<String>>>>);

impl Log {
    fn look(&self) {
        *self.1.lock().unwrap() = Some(telemetry::of(&self.0).events);
    }
}

#[tokio::test(start_paused = true)]
async fn coercion_is_logged_before_the_function_runs() {
    let row = row("arguments::coercion_is_logged_before_the_function_runs");
    let mut typed = ToolRegistry::new();
    typed.register::<endless>().unwrap();
    let dynamic = brewing(|_, context: Context| {
        context.extension::<Log>().unwrap().look();
        std::future::pending::<String>()
    });
    let watched = Context::new().with_cancellation(CancellationToken::new());
    for (registry, name) in [(&typed, "cups"), (&dynamic, "cup")] {
        for (place, context) in [Context::new(), watched.clone()].into_iter().enumerate() {
            let log = Log(format!("{}_{name}_{place}", row.id()), Arc::default());
            let call = ToolCall::new(&log.0, "brew", format!(r#"{{ "{name}": "2" }}"#))
                .with_context(context.with_extension(log.clone()));
            let waiting = tokio::time::timeout(Duration::from_secs(3600), registry.call(call));
            waiting.await.unwrap_err();
            row.model_reads::<&str>([]);
            let seen = log.1.lock().unwrap().take().unwrap();
            row.host_learns(seen.iter().map(|event| event.replace("/cups", "/cup")));
            assert_eq!(telemetry::of(&log.0).events, seen, "it is told once");
        }
    }
}
