//! Tools whose state belongs to the session: the task list of `TodoWrite` and `TodoRead`.

use serde_json::Value;
use tool_builtins::todo::TodoStore;
use tool_runtime::{State, ToolRegistry};

/// Tools that share the session's state; their calls run in the order of the model.
const IN_ORDER: [&str; 2] = ["TodoWrite", "TodoRead"];

/// Whether calls of this tool run one after the other.
pub(super) fn runs_in_order(name: &str) -> bool {
    IN_ORDER.contains(&name)
}

/// The registry with the state of a session, if any of its tools has one.
pub(super) fn with_state(registry: &ToolRegistry, state: Option<&Value>) -> ToolRegistry {
    if registry.state::<TodoStore>().is_none() {
        return registry.clone();
    }
    let store = TodoStore::default();
    if let Some(todos) = state
        .and_then(|state| state.get("todos"))
        .and_then(|todos| serde_json::from_value(todos.clone()).ok())
    {
        store.replace(todos);
    }
    registry.clone().with_state(store)
}

/// Puts a state in the place of the present one.
pub(super) fn restore(registry: &ToolRegistry, state: Option<&Value>) {
    let store: Option<State<TodoStore>> = registry.state();
    let todos = state.and_then(|state| serde_json::from_value(state.get("todos")?.clone()).ok());
    if let (Some(store), Some(todos)) = (store, todos) {
        store.replace(todos);
    }
}

/// The state behind a turn.
pub(super) fn state(registry: &ToolRegistry) -> Option<Value> {
    let store: State<TodoStore> = registry.state()?;
    let todos = serde_json::to_value(store.todos()).ok()?;
    Some(serde_json::json!({ "todos": todos }))
}
