//! The ten tools as annotated functions of swiftide.

use std::collections::HashMap;

use super::Definition;
use super::types::{Edit, Person, Task, Unit};
use swiftide::chat_completion::{Tool, ToolOutput, errors::ToolError};
use swiftide::traits::AgentContext;

#[swiftide::tool(
    description = "Search files in the project.",
    param(name = "pattern", description = "Glob pattern."),
    param(name = "case_sensitive", description = "Whether case matters."),
    param(name = "max_results", description = "The most results to return.")
)]
async fn search_files(
    _context: &dyn AgentContext,
    pattern: String,
    case_sensitive: Option<bool>,
    max_results: Option<i64>,
) -> Result<ToolOutput, ToolError> {
    let _ = (pattern, case_sensitive, max_results);
    Ok(ToolOutput::text(""))
}

#[swiftide::tool(
    description = "Read a file.",
    param(name = "path", description = "The file to read."),
    param(name = "offset", description = "The first line to read."),
    param(name = "limit", description = "The most lines to read.")
)]
async fn read_file(
    _context: &dyn AgentContext,
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
) -> Result<ToolOutput, ToolError> {
    let _ = (path, offset, limit);
    Ok(ToolOutput::text(""))
}

#[swiftide::tool(
    description = "Write a file.",
    param(name = "path", description = "The file to write."),
    param(name = "content", description = "The text to write.")
)]
async fn write_file(
    _context: &dyn AgentContext,
    path: String,
    content: String,
) -> Result<ToolOutput, ToolError> {
    let _ = (path, content);
    Ok(ToolOutput::text(""))
}

#[swiftide::tool(
    description = "Run a command in a shell.",
    param(name = "command", description = "The command to run."),
    param(name = "timeout_seconds", description = "Seconds until it is stopped."),
    param(name = "environment", description = "Variables to set.")
)]
async fn run_command(
    _context: &dyn AgentContext,
    command: String,
    timeout_seconds: Option<u32>,
    environment: Option<HashMap<String, String>>,
) -> Result<ToolOutput, ToolError> {
    let _ = (command, timeout_seconds, environment);
    Ok(ToolOutput::text(""))
}

#[swiftide::tool(
    description = "Look up the forecast for a city.",
    param(name = "city", description = "The city's name."),
    param(name = "unit", description = "The unit of temperature."),
    param(name = "days", description = "How many days ahead.")
)]
async fn get_weather(
    _context: &dyn AgentContext,
    city: String,
    unit: Unit,
    days: Option<u8>,
) -> Result<ToolOutput, ToolError> {
    let _ = (city, unit, days);
    Ok(ToolOutput::text(""))
}

#[swiftide::tool(
    description = "Send a mail.",
    param(name = "to", description = "Whom it is for."),
    param(name = "subject", description = "What it is about."),
    param(name = "body", description = "What it says."),
    param(name = "cc", description = "Who gets a copy.")
)]
async fn send_mail(
    _context: &dyn AgentContext,
    to: Vec<String>,
    subject: String,
    body: String,
    cc: Option<Vec<String>>,
) -> Result<ToolOutput, ToolError> {
    let _ = (to, subject, body, cc);
    Ok(ToolOutput::text(""))
}

#[swiftide::tool(
    description = "Replace the task list.",
    param(name = "todos", description = "All tasks, in their order.")
)]
async fn todo_write(_context: &dyn AgentContext, todos: Vec<Task>) -> Result<ToolOutput, ToolError> {
    let _ = todos;
    Ok(ToolOutput::text(""))
}

#[swiftide::tool(
    description = "Change files.",
    param(name = "edits", description = "The changes, in their order.")
)]
async fn edit_files(_context: &dyn AgentContext, edits: Vec<Edit>) -> Result<ToolOutput, ToolError> {
    let _ = edits;
    Ok(ToolOutput::text(""))
}

#[swiftide::tool(
    description = "Put an event into the calendar.",
    param(name = "title", description = "What the event is called."),
    param(name = "start", description = "When it begins."),
    param(name = "attendees", description = "Who is invited.")
)]
async fn create_event(
    _context: &dyn AgentContext,
    title: String,
    start: String,
    attendees: Option<Vec<Person>>,
) -> Result<ToolOutput, ToolError> {
    let _ = (title, start, attendees);
    Ok(ToolOutput::text(""))
}

#[swiftide::tool(description = "Tell the time.")]
async fn current_time(_context: &dyn AgentContext) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput::text(""))
}

pub fn definitions() -> Vec<Definition> {
    let tools: Vec<Box<dyn Tool>> = vec![
        search_files(),
        read_file(),
        write_file(),
        run_command(),
        get_weather(),
        send_mail(),
        todo_write(),
        edit_files(),
        create_event(),
        current_time(),
    ];
    let own = |it: &Box<dyn Tool>| {
        let spec = it.tool_spec();
        let schema = spec.parameters_schema.unwrap_or_default();
        Definition::new(&spec.name, &spec.description, schema)
    };
    tools.iter().map(own).collect()
}
