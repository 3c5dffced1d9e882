//! Arguments that are larger than those of `search_files`: a task list, a nested configuration, a list of tagged edits.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_builtins::todo::Todo;
use tool_runtime::tool;

/// Arguments of `TodoWrite` and `plan`.
#[derive(Deserialize)]
pub struct Todos {
    pub todos: Vec<Todo>,
}

/// Accepts a task list like any tool: unlike `TodoWrite`, without further rules.
#[tool]
pub async fn plan(
    /// All tasks.
    todos: Vec<Todo>,
) -> usize {
    todos.len()
}

/// Builds a task list of a model.
pub fn todos(count: usize) -> String {
    todos_with(count, |_, todo| todo)
}

/// Changes each task of the list.
pub fn todos_with(count: usize, change: impl Fn(usize, String) -> String) -> String {
    const STATES: [&str; 3] = ["pending", "in_progress", "completed"];
    let todos: Vec<_> = (0..count)
        .map(|number| {
            let status = STATES[number % 3];
            let todo = format!(
                r#"{{"content":"Read file number {number}","status":"{status}","activeForm":"Reading file number {number}"}}"#
            );
            change(number, todo)
        })
        .collect();
    format!(r#"{{"todos":[{}]}}"#, todos.join(","))
}

/// Six structs of ten fields, each containing the next.
macro_rules! levels {
    ($($level:ident holds $next:ty;)*) => {$(
        #[derive(Deserialize, JsonSchema)]
        pub struct $level {
            /// What it is called.
            pub name: String,
            /// Purpose of the part.
            pub summary: String,
            /// Position of the part.
            pub path: String,
            /// Whether it is used.
            pub enabled: bool,
            /// Whether it may be changed.
            pub read_only: bool,
            /// The most at once.
            pub limit: i64,
            /// Number of attempts.
            pub retries: u32,
            /// Total count.
            pub weight: f64,
            /// Name of the contact.
            pub owner: Option<String>,
            /// What is inside.
            pub inside: $next,
        }
    )*};
}

levels! {
    Level1 holds Level2;
    Level2 holds Level3;
    Level3 holds Level4;
    Level4 holds Level5;
    Level5 holds Level6;
    Level6 holds Vec<String>;
}

/// Arguments of `configure`.
#[derive(Deserialize)]
pub struct Configuration {
    pub configuration: Level1,
}

/// Accept a configuration.
#[tool]
pub async fn configure(
    /// The whole configuration.
    configuration: Level1,
) -> usize {
    configuration.inside.inside.inside.inside.inside.inside.len()
}

/// Builds a configuration with six levels.
pub fn configuration() -> String {
    let mut inside = r#"["src","tests"]"#.to_owned();
    for level in (1..=6).rev() {
        inside = format!(
            r#"{{"name":"level {level}","summary":"what level {level} is for","path":"/etc/service/{level}","enabled":true,"read_only":false,"limit":{level}00,"retries":3,"weight":{level}.5,"owner":"team-{level}","inside":{inside}}}"#
        );
    }
    format!(r#"{{"configuration":{inside}}}"#)
}

/// One change of a file.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Edit {
    /// Write a new file.
    Create {
        /// Path of the file.
        path: String,
        /// What.
        content: String,
    },
    /// Replace lines by a text.
    Replace {
        /// Path of the file.
        path: String,
        /// The first line.
        from: u32,
        /// The last line.
        to: u32,
        /// What.
        content: String,
    },
    /// Move a file.
    Move {
        /// Old path.
        path: String,
        /// New path.
        target: String,
    },
    /// Delete a file.
    Delete {
        /// Which.
        path: String,
    },
}

/// Arguments of `edit`.
#[derive(Deserialize)]
pub struct Edits {
    pub edits: Vec<Edit>,
}

/// Change files.
#[tool]
pub async fn edit(
    /// The changes, in order.
    edits: Vec<Edit>,
) -> usize {
    edits.len()
}

/// Builds a hundred edits with the tag as the first field.
pub fn edits() -> String {
    let mut text = r#"{"edits":["#.to_owned();
    for number in 0..100 {
        let rest = match number % 4 {
            0 => r#""create","path":"src/new.rs","content":"fn main() {}""#,
            1 => r#""replace","path":"src/main.rs","from":10,"to":12,"content":"let there = true;""#,
            2 => r#""move","path":"src/old.rs","target":"src/older.rs""#,
            _ => r#""delete","path":"src/older.rs""#,
        };
        let comma = if number == 0 { "" } else { "," };
        // Writes to a string cannot fail.
        let _ = write!(text, r#"{comma}{{"kind":{rest}}}"#);
    }
    text + "]}"
}
