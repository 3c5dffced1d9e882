//! The ten tools as methods of an rmcp server, each with a struct for its parameters.

use std::collections::HashMap;

use super::Definition;
use super::types::{Edit, Person, Task, Unit};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::task::{hundred, yes};

#[derive(Deserialize, JsonSchema)]
struct SearchFiles {
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    #[serde(default = "yes")]
    case_sensitive: bool,
    /// The most results to return.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10_000))]
    max_results: i64,
}

#[derive(Deserialize, JsonSchema)]
struct ReadFile {
    /// The file to read.
    path: String,
    /// The first line to read.
    offset: Option<u64>,
    /// The most lines to read.
    limit: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
struct WriteFile {
    /// The file to write.
    path: String,
    /// The text to write.
    content: String,
}

#[derive(Deserialize, JsonSchema)]
struct RunCommand {
    /// The command to run.
    command: String,
    /// Seconds until it is stopped.
    timeout_seconds: Option<u32>,
    /// Variables to set.
    environment: Option<HashMap<String, String>>,
}

#[derive(Deserialize, JsonSchema)]
struct GetWeather {
    /// The city's name.
    city: String,
    /// The unit of temperature.
    unit: Unit,
    /// How many days ahead.
    days: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
struct SendMail {
    /// Whom it is for.
    to: Vec<String>,
    /// What it is about.
    subject: String,
    /// What it says.
    body: String,
    /// Who gets a copy.
    cc: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
struct TodoWrite {
    /// All tasks, in their order.
    todos: Vec<Task>,
}

#[derive(Deserialize, JsonSchema)]
struct EditFiles {
    /// The changes, in their order.
    edits: Vec<Edit>,
}

#[derive(Deserialize, JsonSchema)]
struct CreateEvent {
    /// What the event is called.
    title: String,
    /// When it begins.
    start: String,
    /// Who is invited.
    attendees: Option<Vec<Person>>,
}

struct Server;

#[tool_router]
impl Server {
    /// Search files in the project.
    #[tool]
    async fn search_files(&self, Parameters(args): Parameters<SearchFiles>) -> String {
        let _ = (args.pattern, args.case_sensitive, args.max_results);
        String::new()
    }

    /// Read a file.
    #[tool]
    async fn read_file(&self, Parameters(args): Parameters<ReadFile>) -> String {
        let _ = (args.path, args.offset, args.limit);
        String::new()
    }

    /// Write a file.
    #[tool]
    async fn write_file(&self, Parameters(args): Parameters<WriteFile>) -> String {
        let _ = (args.path, args.content);
        String::new()
    }

    /// Run a command in a shell.
    #[tool]
    async fn run_command(&self, Parameters(args): Parameters<RunCommand>) -> String {
        let _ = (args.command, args.timeout_seconds, args.environment);
        String::new()
    }

    /// Look up the forecast for a city.
    #[tool]
    async fn get_weather(&self, Parameters(args): Parameters<GetWeather>) -> String {
        let _ = (args.city, args.unit, args.days);
        String::new()
    }

    /// Send a mail.
    #[tool]
    async fn send_mail(&self, Parameters(args): Parameters<SendMail>) -> String {
        let _ = (args.to, args.subject, args.body, args.cc);
        String::new()
    }

    /// Replace the task list.
    #[tool]
    async fn todo_write(&self, Parameters(args): Parameters<TodoWrite>) -> String {
        let _ = args.todos;
        String::new()
    }

    /// Change files.
    #[tool]
    async fn edit_files(&self, Parameters(args): Parameters<EditFiles>) -> String {
        let _ = args.edits;
        String::new()
    }

    /// Put an event into the calendar.
    #[tool]
    async fn create_event(&self, Parameters(args): Parameters<CreateEvent>) -> String {
        let _ = (args.title, args.start, args.attendees);
        String::new()
    }

    /// Tell the time.
    #[tool]
    async fn current_time(&self) -> String {
        String::new()
    }
}

pub fn definitions() -> Vec<Definition> {
    let own = |it: &rmcp::model::Tool| {
        Definition::new(
            &it.name,
            it.description.as_deref().unwrap_or_default(),
            &it.input_schema,
        )
    };
    Server::tool_router().list_all().iter().map(own).collect()
}
