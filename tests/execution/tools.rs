//! Tools that several tests use.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tool_runtime::{Context, ToolDefinition, ToolRegistry};

/// Builds a definition without parameters.
pub fn definition(name: &str) -> ToolDefinition {
    ToolDefinition::new(
        name,
        format!("Does what `{name}` says."),
        json!({ "type": "object", "properties": {} }),
    )
}

/// Builds a registry with tools that answer, and tools that do not.
pub fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry
        .register_dynamic(definition("answer"), async |_, _| "42")
        .unwrap()
        .register_dynamic(definition("panic"), async |_, _| -> String {
            panic!("the secret is 1234")
        })
        .unwrap()
        .register_dynamic(definition("hang"), async |_, _| {
            std::future::pending::<String>().await
        })
        .unwrap()
        .register_dynamic(definition("polite"), async |_, context: Context| {
            context.cancellation().cancelled().await;
            "tidied up"
        })
        .unwrap()
        .register_dynamic(definition("fail"), async |_, _| {
            Err::<String, _>("no such city; try `Oslo`")
        })
        .unwrap();
    registry
}

/// Number of concurrent calls, now and at most.
#[derive(Default)]
pub struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    pub fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    /// Counts a call until the guard is dropped.
    pub fn enter(self: &Arc<Self>) -> Inside {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Inside(Arc::clone(self))
    }
}

pub struct Inside(Arc<Gauge>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Builds a tool that sleeps for `ms` and returns `n`, counted by a gauge.
pub fn sleeper(gauge: &Arc<Gauge>) -> ToolRegistry {
    let gauge = Arc::clone(gauge);
    let schema = json!({
        "type": "object",
        "properties": { "n": { "type": "integer" }, "ms": { "type": "integer" } },
        "required": ["n", "ms"],
    });
    let mut registry = ToolRegistry::new();
    registry
        .register_dynamic(
            ToolDefinition::new("sleep", "Sleep.", schema),
            move |arguments: Value, _: Context| {
                let gauge = Arc::clone(&gauge);
                async move {
                    let _inside = gauge.enter();
                    tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap())).await;
                    arguments["n"].clone()
                }
            },
        )
        .unwrap();
    registry
}
