//! A registry with one tool, `brew`, calls of `brew`, and helpers of several suites.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tool_runtime::{Context, HandlerOutput, ToolCall, ToolDefinition, ToolRegistry};

use crate::rows::Row;

/// Builds a registry whose only tool is `handler`.
pub fn brewing<F, R>(handler: F) -> ToolRegistry
where
    F: Fn(Value, Context) -> R + Send + Sync + 'static,
    R: Future<Output: HandlerOutput> + Send + 'static,
{
    let mut registry = ToolRegistry::new();
    let schema = json!({ "type": "object", "properties": { "cup": { "type": "integer" } } });
    registry
        .register_dynamic(ToolDefinition::new("brew", "Make coffee.", schema), handler)
        .unwrap();
    registry
}

/// Builds a call of `brew` with the id of a row.
pub fn call_of(row: &Row) -> ToolCall {
    ToolCall::new(row.id(), "brew", "{}")
}

/// Repeats `again` on a separate thread while `work` runs. Needs a runtime with several threads.
pub fn meanwhile<T>(mut again: impl FnMut() + Send, work: impl Future<Output = T>) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                again();
            }
        });
        // Also if the work panics, since the thread would never end otherwise.
        let _end = Ended(&done);
        tokio::task::block_in_place(|| Handle::current().block_on(work))
    })
}

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A value that panics when it is dropped.
pub struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "spilt");
    }
}
