//! The errors of types that reject a value which the schema allows: with message and path, or without.

use std::fmt::{self, Display};

use serde::de::Error;

use crate::arguments::tokens::Fault;
use crate::schema::pointer;

/// An error of reading that may know its place.
pub(in crate::arguments) trait ReadError: Error {
    /// Whether the message is read: one that falls back to the tree has none.
    const IS_READ: bool;

    /// The same, one step further out.
    fn within(self, step: impl Display) -> Self;

    /// The same, of a key of a map.
    fn of_key(self, key: &str) -> Self;
}

/// The error of a type that rejects a value: its message and the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeserializeError {
    message: String,
    /// The steps to the value, the last first.
    steps: Vec<String>,
    /// Whether it is the key in the last step that is refused, and not what stands behind it.
    is_of_key: bool,
}

impl DeserializeError {
    /// What was wrong, in the type's own words.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The path to the value below the pointer given.
    pub(crate) fn path(&self, root: &str) -> String {
        let mut path = root.to_owned();
        for step in self.steps() {
            pointer::push(&mut path, step);
        }
        path
    }

    /// The steps to the value, the first first.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().rev().map(String::as_str)
    }

    pub(crate) fn is_of_key(&self) -> bool {
        self.is_of_key
    }
}

impl ReadError for DeserializeError {
    const IS_READ: bool = true;

    fn within(mut self, step: impl Display) -> Self {
        self.steps.push(step.to_string());
        self
    }

    fn of_key(self, key: &str) -> Self {
        Self {
            is_of_key: true,
            ..self.within(key)
        }
    }
}

impl Display for DeserializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for DeserializeError {}

impl Error for DeserializeError {
    fn custom<T: Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            steps: Vec::new(),
            is_of_key: false,
        }
    }
}

/// A type rejected a value that conforms. There is no message, since the tree reads the arguments next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::arguments) struct NotTaken;

impl Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not taken")
    }
}

impl std::error::Error for NotTaken {}

impl ReadError for NotTaken {
    const IS_READ: bool = false;

    fn within(self, _: impl Display) -> Self {
        self
    }

    fn of_key(self, _: &str) -> Self {
        self
    }
}

impl Error for NotTaken {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

impl From<Fault> for NotTaken {
    fn from(_: Fault) -> Self {
        Self
    }
}
