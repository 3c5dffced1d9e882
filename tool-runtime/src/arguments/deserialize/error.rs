//! What a type says of a value that the schema allows.

use std::fmt::Display;

use serde::de::Error;

use crate::schema::pointer;

/// What a type says of a value that it refuses.
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

    /// Of a key of a map.
    pub(crate) fn of_key(self, key: &str) -> Self {
        Self {
            is_of_key: true,
            ..self.within(key)
        }
    }

    pub(crate) fn is_of_key(&self) -> bool {
        self.is_of_key
    }

    pub(crate) fn within(mut self, step: impl Display) -> Self {
        self.steps.push(step.to_string());
        self
    }
}

impl Display for DeserializeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
