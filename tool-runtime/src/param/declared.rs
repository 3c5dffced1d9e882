//! [`Param`]: a declared parameter with its name, description and attributes.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// A parameter of type `T`.
pub struct Param<T> {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) default: Option<DefaultValue<T>>,
    /// Schema keywords from the parameter's attributes.
    pub(crate) keywords: Map<String, Value>,
    /// Reason why an attribute is invalid.
    pub(crate) error: Option<String>,
}

pub(crate) struct DefaultValue<T> {
    pub(crate) make: fn() -> T,
    pub(crate) show: fn(&T) -> Result<Value, serde_json::Error>,
}

impl<T> Param<T> {
    /// Creates a parameter without checking its type.
    pub fn unchecked(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description: description.trim(),
            default: None,
            keywords: Map::new(),
            error: None,
        }
    }

    pub(crate) fn set(&mut self, keyword: &str, value: impl Serialize) {
        match serde_json::to_value(value) {
            Ok(value) => {
                self.keywords.insert(keyword.to_owned(), value);
            }
            Err(error) => self.error = Some(format!("its `{keyword}` cannot be shown as JSON: {error}")),
        }
    }
}

impl<T> fmt::Debug for Param<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Param")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
