//! Progress of a call, for a host that receives it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tool_runtime::result::Failure;
use tool_runtime::{Context, Progress, ProgressReport, State, ToolCall, ToolDefinition, ToolRegistry, tool};

/// A message that counts its formatting.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fetch_add(1, Ordering::SeqCst);
        f.write_str("page by page")
    }
}

/// Copy pages.
#[tool]
async fn copy(
    /// Number of pages.
    pages: u64,
    message: State<Counted>,
    progress: Progress,
) -> u64 {
    for page in 1..=pages {
        progress.report(page, pages, &*message);
    }
    pages
}

fn call(context: Context) -> ToolCall {
    ToolCall::new("toolu_01", "copy", r#"{ "pages": 3 }"#).with_context(context)
}

fn registry() -> (ToolRegistry, Counted) {
    let message = Counted::default();
    let mut registry = ToolRegistry::new().with_state(message.clone());
    registry.register::<copy>().unwrap();
    (registry, message)
}

#[tokio::test]
async fn progress_is_hidden_from_the_model() {
    let (registry, _) = registry();
    let definition = &registry.tool_definitions()[0];
    let names: Vec<_> = definition.input_schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names, ["pages"]);
    let result = registry.call(call(Context::new())).await.result;
    assert_eq!(result.text(), Some("3"));
}

#[tokio::test]
async fn receiver_has_the_latest_report() {
    let (registry, message) = registry();
    let (sender, mut reports) = watch::channel(ProgressReport::default());
    registry.call(call(Context::new().with_progress(sender))).await;
    assert!(reports.has_changed().is_err(), "nobody can report any more");
    let latest = reports.borrow_and_update().clone();
    assert_eq!((latest.done, latest.total), (3, Some(3)));
    assert_eq!(latest.to_string(), "3 of 3: page by page");
    assert_eq!(message.0.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn skips_messages_without_a_receiver() {
    let (registry, message) = registry();
    registry.call(call(Context::new())).await;
    let (sender, reports) = watch::channel(ProgressReport::default());
    drop(reports);
    registry.call(call(Context::new().with_progress(sender))).await;
    assert_eq!(message.0.load(Ordering::SeqCst), 0);
}

/// Dump a table of unknown length.
#[tool]
async fn dump(progress: Progress, go_on: State<Semaphore>) {
    for row in 1..=2 {
        progress.report(row, None, "");
        go_on.acquire().await.unwrap().forget();
    }
}

#[tokio::test]
async fn reports_arrive_while_the_call_runs() {
    let mut registry = ToolRegistry::new().with_state(Semaphore::new(0));
    registry.register::<dump>().unwrap();
    let registry = Arc::new(registry);
    let (sender, mut reports) = watch::channel(ProgressReport::default());
    let call = ToolCall::new("toolu_01", "dump", "{}").with_context(Context::new().with_progress(sender));
    let running = tokio::spawn({
        let registry = Arc::clone(&registry);
        async move { registry.call(call).await.result }
    });
    let mut seen = Vec::new();
    while reports.changed().await.is_ok() {
        seen.push(reports.borrow_and_update().to_string());
        registry.state::<Semaphore>().unwrap().add_permits(1);
    }
    assert_eq!(seen, ["1", "2"]);
    assert!(!running.await.unwrap().is_error);
}

#[tokio::test]
async fn dynamic_tools_report_through_the_context() {
    let mut registry = ToolRegistry::new();
    registry
        .register_dynamic(
            ToolDefinition::new("fetch", "Fetch.", json!({ "type": "object" })),
            |_: Value, context: Context| async move { context.progress().report(1, 2, "half") },
        )
        .unwrap();
    let (sender, reports) = watch::channel(ProgressReport::default());
    let context = Context::new().with_progress(sender);
    registry
        .call(ToolCall::new("toolu_01", "fetch", "{}").with_context(context))
        .await;
    assert_eq!(reports.borrow().to_string(), "1 of 2: half");
}

/// Waits for the end of a channel, with a timeout that only a failed test reaches.
async fn is_closed(mut reports: watch::Receiver<ProgressReport>) -> bool {
    let closed = async { while reports.changed().await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), closed)
        .await
        .is_ok()
}

/// Blocks a thread until the end of the test.
struct Gate(Mutex<mpsc::Receiver<()>>);

/// Compress a file.
#[tool(blocking, timeout = "10ms")]
fn compress(progress: Progress, gate: State<Gate>) {
    progress.report(1, 2, "half");
    let _ = gate.0.lock().unwrap().recv();
    progress.report(2, 2, "after the call");
}

#[tokio::test]
async fn channel_closes_with_a_call_that_leaves_its_thread() {
    let (open, gate) = mpsc::channel();
    let mut registry = ToolRegistry::new().with_state(Gate(Mutex::new(gate)));
    registry.register::<compress>().unwrap();
    let (sender, reports) = watch::channel(ProgressReport::default());
    let call = ToolCall::new("toolu_01", "compress", "{}").with_context(Context::new().with_progress(sender));
    let (outcome, is_closed) = tokio::join!(registry.call(call), is_closed(reports));
    assert_eq!((outcome.failure, is_closed), (Some(Failure::TimedOut), true));
    drop(open);
}

type Kept<T> = State<Mutex<Vec<T>>>;

/// Keep the progress.
#[tool]
async fn keep(progress: Progress, kept: Kept<Progress>) {
    progress.report(1, 1, "done");
    kept.lock().unwrap().push(progress);
}

/// Keep the context.
#[tool]
async fn keep_context(context: Context, kept: Kept<Context>) {
    context.progress().report(1, 1, "done");
    kept.lock().unwrap().push(context);
}

#[tokio::test]
async fn channel_closes_although_the_parameter_is_kept() {
    let mut registry = ToolRegistry::new()
        .with_state(Mutex::new(Vec::<Progress>::new()))
        .with_state(Mutex::new(Vec::<Context>::new()));
    registry
        .register::<keep>()
        .unwrap()
        .register::<keep_context>()
        .unwrap();
    let contexts: Kept<Context> = registry.state().unwrap();
    let keep_it = Arc::new(Mutex::new(Vec::<Context>::new()));
    let kept = Arc::clone(&keep_it);
    registry
        .register_dynamic(
            ToolDefinition::new("fetch", "Fetch.", json!({ "type": "object" })),
            move |_: Value, context: Context| {
                context.progress().report(1, 1, "done");
                kept.lock().unwrap().push(context);
                std::future::ready("fetched")
            },
        )
        .unwrap();
    let mut outer = ToolRegistry::new();
    outer.nest("inner", registry.clone()).unwrap();
    for (registry, tool) in [
        (&registry, "keep"),
        (&registry, "keep_context"),
        (&registry, "fetch"),
        (&outer, "inner__keep"),
        (&outer, "inner__fetch"),
    ] {
        let (sender, reports) = watch::channel(ProgressReport::default());
        let call = ToolCall::new("toolu_01", tool, "{}").with_context(Context::new().with_progress(sender));
        registry.call(call).await;
        assert_eq!(reports.borrow().to_string(), "1 of 1: done", "{tool}");
        assert!(is_closed(reports).await, "{tool}");
    }
    // Reports after the end are not errors.
    contexts.lock().unwrap()[0].progress().report(2, 2, "");
}

#[tokio::test]
async fn calls_that_share_a_context_share_its_channel() {
    let (registry, _) = registry();
    let (sender, reports) = watch::channel(ProgressReport::default());
    let context = Context::new().with_progress(sender);
    registry.call(call(context.clone())).await;
    assert!(reports.has_changed().is_ok(), "another call may follow");
    registry.call(call(context)).await;
    assert!(is_closed(reports).await);
}
