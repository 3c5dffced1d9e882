//! The ten tools as annotated functions of llm-tool.

use std::collections::HashMap;

use super::Definition;
use super::types::{Edit, Person, Task, Unit};
use llm_tool::{ToolRegistry, llm_tool};

/// Search files in the project.
#[llm_tool]
async fn search_files(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    case_sensitive: Option<bool>,
    /// The most results to return.
    max_results: Option<i64>,
) -> String {
    let _ = (pattern, case_sensitive, max_results);
    String::new()
}

/// Read a file.
#[llm_tool]
async fn read_file(
    /// The file to read.
    path: String,
    /// The first line to read.
    offset: Option<u64>,
    /// The most lines to read.
    limit: Option<u64>,
) -> String {
    let _ = (path, offset, limit);
    String::new()
}

/// Write a file.
#[llm_tool]
async fn write_file(
    /// The file to write.
    path: String,
    /// The text to write.
    content: String,
) -> String {
    let _ = (path, content);
    String::new()
}

/// Run a command in a shell.
#[llm_tool]
async fn run_command(
    /// The command to run.
    command: String,
    /// Seconds until it is stopped.
    timeout_seconds: Option<u32>,
    /// Variables to set.
    environment: Option<HashMap<String, String>>,
) -> String {
    let _ = (command, timeout_seconds, environment);
    String::new()
}

/// Look up the forecast for a city.
#[llm_tool]
async fn get_weather(
    /// The city's name.
    city: String,
    /// The unit of temperature.
    unit: Unit,
    /// How many days ahead.
    days: Option<u8>,
) -> String {
    let _ = (city, unit, days);
    String::new()
}

/// Send a mail.
#[llm_tool]
async fn send_mail(
    /// Whom it is for.
    to: Vec<String>,
    /// What it is about.
    subject: String,
    /// What it says.
    body: String,
    /// Who gets a copy.
    cc: Option<Vec<String>>,
) -> String {
    let _ = (to, subject, body, cc);
    String::new()
}

/// Replace the task list.
#[llm_tool]
async fn todo_write(
    /// All tasks, in their order.
    todos: Vec<Task>,
) -> String {
    let _ = todos;
    String::new()
}

/// Change files.
#[llm_tool]
async fn edit_files(
    /// The changes, in their order.
    edits: Vec<Edit>,
) -> String {
    let _ = edits;
    String::new()
}

/// Put an event into the calendar.
#[llm_tool]
async fn create_event(
    /// What the event is called.
    title: String,
    /// When it begins.
    start: String,
    /// Who is invited.
    attendees: Option<Vec<Person>>,
) -> String {
    let _ = (title, start, attendees);
    String::new()
}

/// Tell the time.
#[llm_tool]
async fn current_time() -> String {
    String::new()
}

pub fn definitions() -> Vec<Definition> {
    let registry = ToolRegistry::new()
        .with_tool(SearchFiles)
        .with_tool(ReadFile)
        .with_tool(WriteFile)
        .with_tool(RunCommand)
        .with_tool(GetWeather)
        .with_tool(SendMail)
        .with_tool(TodoWrite)
        .with_tool(EditFiles)
        .with_tool(CreateEvent)
        .with_tool(CurrentTime);
    let own = |it: llm_tool::ToolDefinition| Definition::new(&it.name, &it.description, &it.parameter_schema);
    registry.definitions().into_iter().map(own).collect()
}
