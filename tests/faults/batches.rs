//! Turns with very many calls, or with two calls of one id.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Barrier;
use tool_builtins::offload::{MemoryWriter, OffloadLayer, OffloadOptions};
use tool_runtime::{Context, ToolCall};

use crate::calls::{PanicsInDrop, brewing};
use crate::rows::{learnt_from, row};

/// At most 8 calls run at once, and 8 calls wait for each other. Waiting calls have no task and no future.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls() {
    let row = row("batches::ten_thousand_calls");
    let gauge = || AtomicUsize::new(0);
    let watched = Arc::new((gauge(), gauge(), gauge(), Barrier::new(8)));
    let watching = Arc::clone(&watched);
    let registry = brewing(move |arguments, _| {
        let watched = Arc::clone(&watching);
        async move {
            let (inside, most, tasks, eight) = &*watched;
            tasks.fetch_max(Handle::current().metrics().num_alive_tasks(), Ordering::SeqCst);
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            eight.wait().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            arguments["cup"].clone()
        }
    });
    let calls = (0..10_000).map(|n| {
        let id = format!("{}_{n}", row.id());
        ToolCall::new(id, "brew", format!(r#"{{ "cup": {n} }}"#))
    });
    let registry = registry.with_max_concurrency(8);
    // Fewer concurrent calls would wait forever.
    let batch = tokio::time::timeout(Duration::from_secs(60), registry.execute_all(calls));
    let outcomes = batch.await.unwrap();
    assert_eq!(outcomes.len(), 10_000);
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.result.tool_use_id, format!("{}_{n}", row.id()));
        assert_eq!(outcome.result.text(), Some(n.to_string().as_str()));
        row.host_learns(learnt_from(outcome));
    }
    assert_eq!(watched.1.load(Ordering::SeqCst), 8);
    // Running calls, and ended calls that were not yet noticed.
    let tasks = watched.2.load(Ordering::SeqCst);
    assert!(tasks <= 16, "{tasks} tasks");
    row.model_reads::<&str>([]);
}

/// The registry cannot determine the intended call, so each call is run and answered, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicate_id() {
    let row = row("batches::duplicate_id");
    let registry = brewing(async |arguments, _| arguments["cup"].clone());
    let outcomes = registry
        .execute_all([1, 2].map(|cup| ToolCall::new(row.id(), "brew", format!(r#"{{ "cup": {cup} }}"#))))
        .await;
    row.model_reads(outcomes.iter().map(|outcome| outcome.result.text().unwrap()));
    for outcome in &outcomes {
        assert_eq!(outcome.result.tool_use_id, row.id());
        row.host_learns(learnt_from(outcome));
    }
}

/// Values that the host gave to the call are dropped after the call, outside of the tool and its layers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panic_outside_of_the_tool() {
    let row = row("batches::panic_outside_of_the_tool");
    let registry = brewing(async |_, _| "coffee");
    let outcomes = registry
        .execute_all([1, 2, 3].map(|n| {
            let call = ToolCall::new(format!("{}_{n}", row.id()), "brew", "{}");
            match n {
                2 => call.with_context(Context::new().with_extension(PanicsInDrop)),
                _ => call,
            }
        }))
        .await;
    let [before, that_one, after] = outcomes.as_slice() else {
        panic!("{outcomes:?}")
    };
    for other in [before, after] {
        assert_eq!((other.result.text(), other.failure), (Some("coffee"), None));
    }
    assert_eq!(that_one.result.tool_use_id, format!("{}_2", row.id()));
    assert!(that_one.result.is_error);
    row.model_reads(["is_error", that_one.result.text().unwrap()]);
    // The call's span has ended, so the event is not in the span.
    row.host_learns(that_one.failure.map(|failure| format!("{failure:?}")));
}

/// Each pointer names a file with its own content.
#[tokio::test]
async fn duplicate_id_offloaded() {
    let row = row("batches::duplicate_id_offloaded");
    let memory = MemoryWriter::new();
    let layer = OffloadLayer::new(OffloadOptions::new("s", "/DIR"))
        .with_threshold(1)
        .with_writer(memory.clone());
    let registry = brewing(async |arguments, _| arguments["cup"].clone())
        .layer(layer)
        .with_max_concurrency(1);
    let outcomes = registry
        .execute_all([1, 2].map(|cup| ToolCall::new(row.id(), "brew", format!(r#"{{ "cup": {cup} }}"#))))
        .await;
    let pointers = outcomes.iter().map(|outcome| outcome.result.text().unwrap());
    let directory = std::path::absolute("/DIR").unwrap();
    let short = |text: &str| {
        text.replace(directory.to_str().unwrap(), "DIR")
            .replace(&row.id(), "ID")
    };
    row.model_reads(pointers.map(|text| short(text).replace('\\', "/")));
    let files = ["", "-2"].map(|number| directory.join("s").join(format!("{}{number}.md", row.id())));
    assert_eq!(
        memory.files(),
        files.into_iter().zip(["1", "2"].map(str::to_owned)).collect()
    );
    for outcome in &outcomes {
        row.host_learns(learnt_from(outcome));
    }
}
