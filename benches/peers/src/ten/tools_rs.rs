//! The ten tools as annotated functions of tools-rs, which has no derive for enums and no place for a parameter's description.

use std::collections::HashMap;

use super::Definition;
use super::types::{Edit, Person, Status, Task, Unit};
use serde_json::{Value, json};
use tools_rs::{ToolSchema, collect_tools, tool};

/// Read a file.
#[tool]
async fn read_file(path: String, offset: Option<u64>, limit: Option<u64>) -> String {
    let _ = (path, offset, limit);
    String::new()
}

/// Write a file.
#[tool]
async fn write_file(path: String, content: String) -> String {
    let _ = (path, content);
    String::new()
}

/// Run a command in a shell.
#[tool]
async fn run_command(
    command: String,
    timeout_seconds: Option<u32>,
    environment: Option<HashMap<String, String>>,
) -> String {
    let _ = (command, timeout_seconds, environment);
    String::new()
}

/// Look up the forecast for a city.
#[tool]
async fn get_weather(city: String, unit: Unit, days: Option<u8>) -> String {
    let _ = (city, unit, days);
    String::new()
}

/// Send a mail.
#[tool]
async fn send_mail(to: Vec<String>, subject: String, body: String, cc: Option<Vec<String>>) -> String {
    let _ = (to, subject, body, cc);
    String::new()
}

/// Replace the task list.
#[tool]
async fn todo_write(todos: Vec<Task>) -> String {
    let _ = todos;
    String::new()
}

/// Change files.
#[tool]
async fn edit_files(edits: Vec<Edit>) -> String {
    let _ = edits;
    String::new()
}

/// Put an event into the calendar.
#[tool]
async fn create_event(title: String, start: String, attendees: Option<Vec<Person>>) -> String {
    let _ = (title, start, attendees);
    String::new()
}

/// Tell the time.
#[tool]
async fn current_time() -> String {
    String::new()
}

impl ToolSchema for Unit {
    fn schema() -> Value {
        json!({ "type": "string", "enum": ["celsius", "fahrenheit"] })
    }
}

impl ToolSchema for Status {
    fn schema() -> Value {
        json!({ "type": "string", "enum": ["pending", "in_progress", "completed"] })
    }
}

/// Handwritten, and therefore as short as possible.
impl ToolSchema for Edit {
    fn schema() -> Value {
        let text = json!({ "type": "string" });
        json!({ "anyOf": [
            {
                "type": "object",
                "properties": { "kind": { "const": "create" }, "path": text, "content": text },
                "required": ["kind", "path", "content"],
            },
            {
                "type": "object",
                "properties": { "kind": { "const": "replace" }, "path": text, "old": text, "new": text },
                "required": ["kind", "path", "old", "new"],
            },
            {
                "type": "object",
                "properties": { "kind": { "const": "delete" }, "path": text },
                "required": ["kind", "path"],
            },
        ] })
    }
}

const NAMES: [&str; 10] = [
    "search_files",
    "read_file",
    "write_file",
    "run_command",
    "get_weather",
    "send_mail",
    "todo_write",
    "edit_files",
    "create_event",
    "current_time",
];

/// The registry belongs to the whole program and already has `search_files`; a second tool would silently replace it.
pub fn definitions() -> Vec<Definition> {
    let Value::Array(all) = collect_tools().json().expect("JSON") else {
        unreachable!("a list of tools");
    };
    let own = |it: &Value| {
        let text = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
        Definition::new(&text("name"), &text("description"), &it["parameters"])
    };
    let all = all.iter().map(own);
    all.filter(|it| NAMES.contains(&it.name.as_str())).collect()
}
