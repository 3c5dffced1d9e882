//! Error of a type that rejects a value allowed by the schema.

use std::fmt::{self, Display};

use serde::de::Error;

use crate::arguments::input::tokens::Fault;
use crate::schema::keywords::pointer;

/// Error of a type that rejects a value: the message and the path. The box keeps results small; few results are errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeserializeError(Box<Rejection>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rejection {
    message: String,
    /// Steps to the value, innermost first.
    steps: Vec<String>,
    /// Whether the error is about the key in the last step, not about its value.
    is_of_key: bool,
}

impl DeserializeError {
    /// Leaves the arguments to the tree, which produces the message.
    #[cold]
    pub(super) fn fall_back() -> Self {
        Self::custom("")
    }

    /// Returns the type's own message.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the path to the value, below the path of the root.
    pub(crate) fn path(&self, root: &str) -> String {
        let mut path = root.to_owned();
        for step in self.steps() {
            pointer::push(&mut path, step);
        }
        path
    }

    /// Returns the steps to the value, outermost first.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &str> {
        self.0.steps.iter().rev().map(String::as_str)
    }

    pub(crate) fn is_of_key(&self) -> bool {
        self.0.is_of_key
    }

    /// Adds an outer step to the path.
    #[cold]
    pub(super) fn within(mut self, step: impl Display) -> Self {
        self.0.steps.push(step.to_string());
        self
    }

    /// Marks the error as one of a map's key.
    #[cold]
    pub(super) fn at_key(mut self, key: &str) -> Self {
        self.0.is_of_key = true;
        self.within(key)
    }
}

impl Display for DeserializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for DeserializeError {}

impl Error for DeserializeError {
    #[cold]
    fn custom<T: Display>(message: T) -> Self {
        Self(Box::new(Rejection {
            message: message.to_string(),
            steps: Vec::new(),
            is_of_key: false,
        }))
    }
}

impl From<Fault> for DeserializeError {
    #[cold]
    fn from(_: Fault) -> Self {
        Self::fall_back()
    }
}
