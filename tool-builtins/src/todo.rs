//! `TodoWrite` and `TodoRead`: a model's task list, and an example of a tool from its schema to its result.
//!
//! Six numbered comments explain the parts of the file, from top to bottom. A host uses the tools as follows:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tool_builtins::todo::{todo_read, todo_write};
//! use tool_runtime::{ToolRegistry, serde_json::json};
//!
//! // 1. Registration. A registry has the names, the definitions and the shared states: here the task list.
//! //    The host sends `tool_definitions()` to the model. A duplicate name is an error of the registration.
//! let mut registry = ToolRegistry::new();
//! registry.register::<todo_write>()?.register::<todo_read>()?;
//!
//! // 2. tool_use_id. Each call of the model has an id, and the result must have the id of its call, also if the call
//! //    fails. The registry sets the id, so the functions below do not handle ids.
//! let input = json!({ "todos": [{ "content": "Write", "status": "pending", "activeForm": "Writing" }] });
//! let result = registry.execute_tool("toolu_01", "TodoWrite", input).await;
//!
//! // 3. tool_result. The result for the model: the id, the function's output as text, and `is_error` after a failure.
//! assert_eq!(
//!     serde_json::to_value(&result)?,
//!     json!({ "type": "tool_result", "tool_use_id": "toolu_01", "content": r#"{"success":true,"count":1}"# }),
//! );
//! # Ok(())
//! # }
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::issue::Code;
use tool_runtime::{Issue, SessionState, tool};

// 4. Schema definition. The model chooses a tool by its description, and its arguments by its schema. Both come from
//    this code: comments with three slashes are descriptions, types are the schema.

/// Replace the task list. Send all tasks, also those that did not change; an empty list clears it.
#[tool(name = "TodoWrite", idempotent, errors = first_error)]
pub async fn todo_write(
    /// All tasks, in their order.
    #[arg(strict)]
    todos: Vec<Todo>,
    list: SessionState<TodoList>,
) -> Written {
    let count = todos.len();
    // The list is replaced by a single assignment, so a reader never sees a partial list.
    *list.lock() = TodoList { todos };
    Written { success: true, count }
}

/// Read the task list.
#[tool(name = "TodoRead", read_only)]
pub async fn todo_read(list: SessionState<TodoList>) -> TodoList {
    // 5. Async execution. A tool is asynchronous, since most tools wait for a disk, a database or a service. This tool
    //    does not wait. With a list in a database, the function would have an `.await` here.
    list.lock().clone()
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
// The schema allows only these fields. Other fields are dropped with a warning.
#[schemars(extend("additionalProperties" = false))]
pub struct Todo {
    /// Task as an imperative: "Run the tests".
    #[schemars(length(min = 1), with = "tool_runtime::NotBlank")]
    pub content: String,
    /// Progress of the task.
    pub status: Status,
    /// Text to show while the task is in progress: "Running the tests".
    #[schemars(length(min = 1), with = "tool_runtime::NotBlank")]
    pub active_form: String,
}

/// Progress of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
}

/// Result of `TodoWrite`: `{"success":true,"count":3}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Always `true`: an invalid list is an error.
    pub success: bool,
    /// Number of tasks after the call.
    pub count: usize,
}

/// The task list, and the result of `TodoRead`: `{"todos":[..]}`.
///
/// Each session has its own list, in memory unless the host stores sessions; calls without a session share a list.
///
/// ```
/// use tool_builtins::todo::{Status, TodoList, todo_write};
/// use tool_runtime::{Context, ToolCall, ToolRegistry, serde_json::json};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut registry = ToolRegistry::new();
/// registry.register::<todo_write>()?;
/// let input = json!({ "todos": [{ "content": "Write", "status": "pending", "activeForm": "Writing" }] });
/// let call = ToolCall::new("toolu_01", "TodoWrite", input).with_context(Context::new().with_session("s-1"));
/// registry.call(call).await;
/// // The host reads the list of the model.
/// let list = registry.session_values(Some("s-1")).get::<TodoList>()?;
/// assert_eq!(list.lock().todos[0].status, Status::Pending);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoList {
    /// All tasks, in their order.
    pub todos: Vec<Todo>,
}

// 6. Parameter validation. The schema is enforced before the function runs: with an invalid list, the function is not
//    called. The errors are passed to `first_error` as a list of issues, in the order of the parameters. Most tools use
//    the messages of the registry. This tool has its own messages, and reports only the first error.

// R-TODO-10 to R-TODO-14 specify the texts.
fn first_error(errors: &[Issue]) -> String {
    let Some(first) = errors.first() else {
        return String::new();
    };
    // An RFC 6901 pointer: `/todos/2/status`.
    let place: Vec<_> = first.path.split('/').skip(1).collect();
    match *place {
        // If the text is not JSON, for example because of a lone surrogate, the message of the issue is more useful than
        // the messages below.
        _ if first.code == Code::JsonParseError => first.to_string(),
        ["todos"] if first.code == Code::MissingRequired => "'todos' array is required".to_owned(),
        ["todos"] => "'todos' must be an array".to_owned(),
        ["todos", index, "status"] => {
            let sent = first.sent().unwrap_or("undefined");
            format!(
                "Todo at index {index}: invalid status '{sent}'. Must be one of: pending, in_progress, completed"
            )
        }
        ["todos", index, field @ ("content" | "activeForm")] => blank(index, field),
        // An item that is not an object has no content.
        ["todos", index] => blank(index, "content"),
        _ => first.to_string(),
    }
}

fn blank(index: &str, field: &str) -> String {
    format!("Todo at index {index}: {field} is required and cannot be empty")
}
