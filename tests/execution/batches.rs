//! The calls of one turn: a limited number runs at once, results are in order, and the runtime's threads are used.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use serde_json::{Value, json};
use tool_runtime::{Context, ToolCall, ToolRegistry};

use crate::execution::tools::{Gauge, definition, registry, sleeper};

fn sleeping(calls: u64, ms: impl Fn(u64) -> u64) -> Vec<ToolCall> {
    (0..calls)
        .map(|n| ToolCall::new(format!("toolu_{n}"), "sleep", json!({ "n": n, "ms": ms(n) })))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_respects_the_limit_and_the_order_of_calls() {
    let gauge = Arc::default();
    let registry = sleeper(&gauge).with_max_concurrency(8);
    // The first call is the slowest.
    let outcomes = registry
        .execute_all(sleeping(64, |n| if n == 0 { 100 } else { 5 }))
        .await;
    assert_eq!(outcomes.len(), 64);
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.result.tool_use_id, format!("toolu_{n}"));
        assert_eq!(outcome.result.text(), Some(n.to_string().as_str()));
    }
    assert_eq!(gauge.most(), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn computing_calls_run_on_several_threads() {
    let barrier = Arc::new(Barrier::new(2));
    let mut registry = ToolRegistry::new();
    registry
        .register_dynamic(definition("compute"), move |_: Value, _: Context| {
            let barrier = Arc::clone(&barrier);
            // Blocks its thread; on one thread, the two calls would wait for each other forever.
            async move {
                barrier.wait();
                "done"
            }
        })
        .unwrap();
    let calls = [
        ToolCall::new("1", "compute", "{}"),
        ToolCall::new("2", "compute", "{}"),
    ];
    let outcomes = tokio::time::timeout(Duration::from_secs(60), registry.execute_all(calls))
        .await
        .unwrap();
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.result.text() == Some("done"))
    );
}

#[tokio::test(start_paused = true)]
async fn dropping_a_batch_ends_its_calls() {
    let gauge: Arc<Gauge> = Arc::default();
    let registry = sleeper(&gauge);
    let batch = registry.execute_all(sleeping(20, |_| 60_000));
    assert!(
        tokio::time::timeout(Duration::from_millis(50), batch)
            .await
            .is_err()
    );
    // Aborted tasks are dropped when their threads poll them.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((gauge.most(), gauge.now()), (8, 0));
}

#[tokio::test]
async fn empty_batch_has_no_outcomes() {
    assert!(registry().execute_all([]).await.is_empty());
}
