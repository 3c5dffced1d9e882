//! The ten tools as annotated functions of rig.

use std::collections::HashMap;

use super::Definition;
use super::types::{Edit, Person, Task, Unit};
use std::convert::Infallible;

use rig_agent::tool::registry::ToolSet;
use rig_core::rig_tool;

/// Search files in the project.
#[rig_tool]
async fn search_files(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    case_sensitive: Option<bool>,
    /// The most results to return.
    max_results: Option<i64>,
) -> Result<String, Infallible> {
    let _ = (pattern, case_sensitive, max_results);
    Ok(String::new())
}

/// Read a file.
#[rig_tool]
async fn read_file(
    /// The file to read.
    path: String,
    /// The first line to read.
    offset: Option<u64>,
    /// The most lines to read.
    limit: Option<u64>,
) -> Result<String, Infallible> {
    let _ = (path, offset, limit);
    Ok(String::new())
}

/// Write a file.
#[rig_tool]
async fn write_file(
    /// The file to write.
    path: String,
    /// The text to write.
    content: String,
) -> Result<String, Infallible> {
    let _ = (path, content);
    Ok(String::new())
}

/// Run a command in a shell.
#[rig_tool]
async fn run_command(
    /// The command to run.
    command: String,
    /// Seconds until it is stopped.
    timeout_seconds: Option<u32>,
    /// Variables to set.
    environment: Option<HashMap<String, String>>,
) -> Result<String, Infallible> {
    let _ = (command, timeout_seconds, environment);
    Ok(String::new())
}

/// Look up the forecast for a city.
#[rig_tool]
async fn get_weather(
    /// The city's name.
    city: String,
    /// The unit of temperature.
    unit: Unit,
    /// How many days ahead.
    days: Option<u8>,
) -> Result<String, Infallible> {
    let _ = (city, unit, days);
    Ok(String::new())
}

/// Send a mail.
#[rig_tool]
async fn send_mail(
    /// Whom it is for.
    to: Vec<String>,
    /// What it is about.
    subject: String,
    /// What it says.
    body: String,
    /// Who gets a copy.
    cc: Option<Vec<String>>,
) -> Result<String, Infallible> {
    let _ = (to, subject, body, cc);
    Ok(String::new())
}

/// Replace the task list.
#[rig_tool]
async fn todo_write(
    /// All tasks, in their order.
    todos: Vec<Task>,
) -> Result<String, Infallible> {
    let _ = todos;
    Ok(String::new())
}

/// Change files.
#[rig_tool]
async fn edit_files(
    /// The changes, in their order.
    edits: Vec<Edit>,
) -> Result<String, Infallible> {
    let _ = edits;
    Ok(String::new())
}

/// Put an event into the calendar.
#[rig_tool]
async fn create_event(
    /// What the event is called.
    title: String,
    /// When it begins.
    start: String,
    /// Who is invited.
    attendees: Option<Vec<Person>>,
) -> Result<String, Infallible> {
    let _ = (title, start, attendees);
    Ok(String::new())
}

/// Tell the time.
#[rig_tool]
async fn current_time() -> Result<String, Infallible> {
    Ok(String::new())
}

pub fn definitions() -> Vec<Definition> {
    let mut tools = ToolSet::default();
    tools.add_tool(SearchFiles);
    tools.add_tool(ReadFile);
    tools.add_tool(WriteFile);
    tools.add_tool(RunCommand);
    tools.add_tool(GetWeather);
    tools.add_tool(SendMail);
    tools.add_tool(TodoWrite);
    tools.add_tool(EditFiles);
    tools.add_tool(CreateEvent);
    tools.add_tool(CurrentTime);
    let definitions = tools.tool_definitions();
    let own = definitions
        .iter()
        .map(|it| Definition::new(&it.name, &it.description, &it.parameters));
    own.collect()
}
