//! Parameter types of the ten tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A unit of temperature.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Celsius,
    Fahrenheit,
}

/// State of one task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
}

/// One task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "others", derive(tools_rs::ToolSchema))]
pub struct Task {
    /// What is to be done, as an order.
    pub content: String,
    /// How far the task is.
    pub status: Status,
    /// What to show while it is being done.
    pub active_form: String,
}

/// One change of a file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Edit {
    /// Write a new file.
    Create {
        /// Where the new file is.
        path: String,
        /// All of its text.
        content: String,
    },
    /// Put text in the place of other text.
    Replace {
        /// Where the changed file is.
        path: String,
        /// The text that is there.
        old: String,
        /// The text in its place.
        new: String,
    },
    /// Delete a file.
    Delete {
        /// Where the deleted file is.
        path: String,
    },
}

/// Somebody who is invited.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "others", derive(tools_rs::ToolSchema))]
pub struct Person {
    /// The person's name.
    pub name: String,
    /// The person's address.
    pub email: String,
    /// Whether it goes without this person.
    pub optional: Option<bool>,
}

/// Facts that a definition must contain in addition to the names.
pub const DESCRIPTIONS: [&str; 46] = [
    "Search files in the project.",
    "Glob pattern.",
    "Whether case matters.",
    "The most results to return.",
    "Read a file.",
    "The file to read.",
    "The first line to read.",
    "The most lines to read.",
    "Write a file.",
    "The file to write.",
    "The text to write.",
    "Run a command in a shell.",
    "The command to run.",
    "Seconds until it is stopped.",
    "Variables to set.",
    "Look up the forecast for a city.",
    "The city's name.",
    "The unit of temperature.",
    "How many days ahead.",
    "Send a mail.",
    "Whom it is for.",
    "What it is about.",
    "What it says.",
    "Who gets a copy.",
    "Replace the task list.",
    "All tasks, in their order.",
    "What is to be done, as an order.",
    "How far the task is.",
    "What to show while it is being done.",
    "Change files.",
    "The changes, in their order.",
    "Write a new file.",
    "Where the new file is.",
    "All of its text.",
    "Put text in the place of other text.",
    "The text that is there.",
    "The text in its place.",
    "Delete a file.",
    "Put an event into the calendar.",
    "What the event is called.",
    "When it begins.",
    "Who is invited.",
    "The person's name.",
    "The person's address.",
    "Whether it goes without this person.",
    "Tell the time.",
];

/// Values of the enums.
pub const VALUES: [&str; 8] = [
    "\"celsius\"",
    "\"fahrenheit\"",
    "\"pending\"",
    "\"in_progress\"",
    "\"completed\"",
    "\"create\"",
    "\"replace\"",
    "\"delete\"",
];

/// Limits of numbers, from descriptions and from types.
pub const LIMITS: [&str; 3] = ["\"minimum\":1", "\"maximum\":10000", "\"maximum\":255"];
