//! The ten tools as annotated functions of this runtime.

use std::collections::HashMap;

use super::Definition;
use super::types::{Edit, Person, Task, Unit};
use tool_runtime::{ToolRegistry, tool, tool_set};

/// Search files in the project.
#[tool]
async fn search_files(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    #[arg(default = true)]
    case_sensitive: bool,
    /// The most results to return.
    #[arg(default = 100, range = 1..=10_000)]
    max_results: i64,
) {
    let _ = (pattern, case_sensitive, max_results);
}

/// Read a file.
#[tool]
async fn read_file(
    /// The file to read.
    path: String,
    /// The first line to read.
    offset: Option<u64>,
    /// The most lines to read.
    limit: Option<u64>,
) {
    let _ = (path, offset, limit);
}

/// Write a file.
#[tool]
async fn write_file(
    /// The file to write.
    path: String,
    /// The text to write.
    content: String,
) {
    let _ = (path, content);
}

/// Run a command in a shell.
#[tool]
async fn run_command(
    /// The command to run.
    command: String,
    /// Seconds until it is stopped.
    timeout_seconds: Option<u32>,
    /// Variables to set.
    environment: Option<HashMap<String, String>>,
) {
    let _ = (command, timeout_seconds, environment);
}

/// Look up the forecast for a city.
#[tool]
async fn get_weather(
    /// The city's name.
    city: String,
    /// The unit of temperature.
    unit: Unit,
    /// How many days ahead.
    days: Option<u8>,
) {
    let _ = (city, unit, days);
}

/// Send a mail.
#[tool]
async fn send_mail(
    /// Whom it is for.
    to: Vec<String>,
    /// What it is about.
    subject: String,
    /// What it says.
    body: String,
    /// Who gets a copy.
    cc: Option<Vec<String>>,
) {
    let _ = (to, subject, body, cc);
}

/// Replace the task list.
#[tool]
async fn todo_write(
    /// All tasks, in their order.
    todos: Vec<Task>,
) {
    let _ = todos;
}

/// Change files.
#[tool]
async fn edit_files(
    /// The changes, in their order.
    edits: Vec<Edit>,
) {
    let _ = edits;
}

/// Put an event into the calendar.
#[tool]
async fn create_event(
    /// What the event is called.
    title: String,
    /// When it begins.
    start: String,
    /// Who is invited.
    attendees: Option<Vec<Person>>,
) {
    let _ = (title, start, attendees);
}

/// Tell the time.
#[tool]
async fn current_time() {}

pub fn definitions(with_defaults: bool) -> Vec<Definition> {
    let mut registry = ToolRegistry::new().with_defaults_in_schemas(with_defaults);
    let tools = tool_set![
        search_files,
        read_file,
        write_file,
        run_command,
        get_weather,
        send_mail,
        todo_write,
        edit_files,
        create_event,
        current_time
    ];
    registry.register_all(tools).expect("tools of different names");
    let definitions = registry.tool_definitions();
    let own =
        |it: &&tool_runtime::ToolDefinition| Definition::new(&it.name, &it.description, &it.input_schema);
    definitions.iter().map(own).collect()
}
