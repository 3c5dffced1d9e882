//! State that tools share, and state that panics and ended calls leave.

use std::any::type_name;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::serde_json::{Map, json};
use tool_runtime::{
    CancellationToken, Context, Extension, SessionState, SessionValues, State, ToolCall, ToolRegistry, tool,
};

use crate::calls::call_of;
use crate::rows::row;

/// Number of times that coffee was made.
#[derive(Default)]
struct Brewed(Mutex<u32>);

/// Make coffee, and panic with the lock of the count.
#[tool]
async fn spoil(brewed: State<Brewed>) {
    let _count = brewed.0.lock().unwrap();
    panic!("with the lock held");
}

/// Count a call without a check of the lock.
#[tool(name = "brew")]
async fn count_unwrapping(brewed: State<Brewed>) -> u32 {
    *brewed
        .0
        .lock()
        .unwrap_or_else(|_| panic!("the count is poisoned"))
}

/// Count a call after a panic.
#[tool(name = "brew")]
async fn count_recovering(brewed: State<Brewed>) -> u32 {
    *brewed.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Count a call, or return an error.
#[tool(name = "brew")]
async fn count_reporting(brewed: State<Brewed>) -> Result<u32, &'static str> {
    let count = brewed
        .0
        .lock()
        .map_err(|_| "the count is out of order; go on without")?;
    Ok(*count)
}

/// Builds a registry whose count is poisoned by a call.
async fn poisoned() -> ToolRegistry {
    let mut registry = ToolRegistry::new().with_state(Brewed::default());
    registry.register::<spoil>().unwrap();
    registry.execute_tool("spoil", "spoil", "{}").await;
    assert!(registry.state::<Brewed>().unwrap().0.is_poisoned());
    registry
}

#[tokio::test]
async fn poisoned_lock_unwrapped() {
    let row = row("state::poisoned_lock_unwrapped");
    let mut registry = poisoned().await;
    registry.register::<count_unwrapping>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn poisoned_lock_recovered() {
    let row = row("state::poisoned_lock_recovered");
    let mut registry = poisoned().await;
    registry.register::<count_recovering>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn poisoned_lock_reported() {
    let row = row("state::poisoned_lock_reported");
    let mut registry = poisoned().await;
    registry.register::<count_reporting>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// The model never receives a tool that could not run.
#[test]
fn missing_state() {
    let row = row("state::missing_state");
    let mut registry = ToolRegistry::new();
    let error = registry.register::<count_recovering>().unwrap_err();
    assert!(registry.tool_definitions().is_empty());
    row.model_reads::<&str>([]);
    row.host_learns([error.to_string()]);
    let mut registry = ToolRegistry::new().with_state(Brewed::default());
    registry.register::<count_recovering>().unwrap();
}

/// Name of the barista.
#[derive(Clone)]
struct Barista;

/// Make coffee for the barista.
#[tool(name = "brew")]
async fn brew_for(barista: Extension<Barista>) {
    let Extension(Barista) = barista;
}

#[tokio::test]
async fn missing_extension() {
    let row = row("state::missing_extension");
    let mut registry = ToolRegistry::new();
    registry.register::<brew_for>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
    let with_it = call_of(&row).with_context(Context::new().with_extension(Barista));
    assert_eq!(registry.call(with_it).await.failure, None);
}

/// Open orders.
#[derive(Default, Serialize, Deserialize)]
struct Orders {
    open: u32,
}

/// Take an order.
#[tool(name = "brew")]
async fn take_order(orders: SessionState<Orders>) -> u32 {
    let mut orders = orders.lock();
    orders.open += 1;
    orders.open
}

#[tokio::test]
async fn stored_session_state_of_another_form() {
    let row = row("state::stored_session_state_of_another_form");
    let mut registry = ToolRegistry::new();
    registry.register::<take_order>().unwrap();
    let stored = Map::from_iter([(type_name::<Orders>().to_owned(), json!({ "closed": 1 }))]);
    let values = SessionValues::from_json(stored.clone());
    let call = call_of(&row).with_context(Context::new().with_session_values(values.clone()));
    row.check(&registry.call(call).await);
    assert_eq!(values.to_json().unwrap(), stored);
}

/// Orders that cannot be deserialized.
#[derive(Serialize, Deserialize)]
struct NoOrders;

impl Default for NoOrders {
    fn default() -> Self {
        panic!("no orders")
    }
}

/// Take an order.
#[tool(name = "brew")]
async fn take_no_order(orders: SessionState<NoOrders>) {
    drop(orders);
}

#[tokio::test]
async fn session_state_panics_when_made() {
    let row = row("state::session_state_panics_when_made");
    let mut registry = ToolRegistry::new();
    registry.register::<take_no_order>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
    // Values of the other types are present.
    registry.session_values(None).get::<Orders>().unwrap();
}

/// Make coffee, and panic.
#[tool]
async fn drop_order(orders: SessionState<Orders>) {
    let _orders = orders.lock();
    panic!("with the lock held");
}

#[tokio::test]
async fn panic_with_a_locked_session_state() {
    let row = row("state::panic_with_a_locked_session_state");
    let mut registry = ToolRegistry::new();
    registry.register::<drop_order>().unwrap();
    registry.execute_tool("drop_order", "drop_order", "{}").await;
    registry.register::<take_order>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// A pause without real time, while tokio's clock is paused.
const HOUR: Duration = Duration::from_secs(3600);

/// Observations of a task that outlived its call.
#[derive(Default)]
struct Spawned {
    cancelled: AtomicUsize,
    done: Notify,
}

/// Leave a machine on.
#[tool(name = "brew")]
async fn spawn_task(spawned: State<Arc<Spawned>>, token: CancellationToken) -> &'static str {
    tokio::spawn(async move {
        token.cancelled().await;
        spawned.cancelled.fetch_add(1, Ordering::SeqCst);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        spawned.done.notify_one();
    });
    "on its way"
}

/// A spawned task sees the end of its call, continues, and keeps the state alive.
#[tokio::test(start_paused = true)]
async fn spawned_task_outlives_the_call() {
    let row = row("state::spawned_task_outlives_the_call");
    let spawned = Arc::new(Spawned::default());
    let alive = Arc::downgrade(&spawned);
    let mut registry = ToolRegistry::new().with_state(Arc::clone(&spawned));
    registry.register::<spawn_task>().unwrap();
    drop(spawned);
    row.check(&registry.call(call_of(&row)).await);
    drop(registry);
    let spawned = alive.upgrade().expect("the task holds it");
    timeout(HOUR, spawned.done.notified()).await.unwrap();
    assert_eq!(spawned.cancelled.load(Ordering::SeqCst), 1);
}

/// Leave a machine on that breaks.
#[tool(name = "brew")]
async fn spawn_panicking(spawned: State<Spawned>) -> &'static str {
    tokio::spawn(async move {
        spawned.done.notify_one();
        panic!("nobody was there");
    });
    "on its way"
}

/// Only the owner of the task's handle would receive the panic; the registry did not start the task.
#[tokio::test(start_paused = true)]
async fn spawned_task_panics() {
    let row = row("state::spawned_task_panics");
    let mut registry = ToolRegistry::new().with_state(Spawned::default());
    registry.register::<spawn_panicking>().unwrap();
    let outcome = registry.call(call_of(&row)).await;
    let spawned = registry.state::<Spawned>().unwrap();
    timeout(HOUR, spawned.done.notified()).await.unwrap();
    row.check(&outcome);
    let again = registry.call(ToolCall::new("again", "brew", "{}")).await;
    assert!(!again.result.is_error);
}
