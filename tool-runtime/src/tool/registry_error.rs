//! [`RegistryError`]: why a tool was not registered.

use crate::wire::definition::InvalidName;
use crate::wire::issue::excerpt_path;

/// Why a tool was not registered. The registry is as it was before.
///
/// ```
/// use tool_runtime::{RegistryError, ToolRegistry, tool};
///
/// /// Ring a bell.
/// #[tool]
/// async fn ring() {}
///
/// let mut registry = ToolRegistry::new();
/// registry.register::<ring>().unwrap();
/// let error = registry.register::<ring>().unwrap_err();
/// assert_eq!(error.to_string(), "a tool named `ring` is already registered; give one of the two another `name`");
/// assert!(matches!(error, RegistryError::Duplicate { tool } if tool == "ring"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The name is invalid.
    #[error(transparent)]
    InvalidName(#[from] InvalidName),
    /// A tool with this name exists.
    #[error("a tool named `{tool}` is already registered; give one of the two another `name`")]
    Duplicate {
        /// The name.
        tool: String,
    },
    /// The registry does not have the state of a parameter.
    #[error(
        "`{tool}` takes `{parameter}: State<{state}>`, and the registry has none; \
         call `.with_state(..)` before you register it"
    )]
    MissingState {
        /// The tool.
        tool: String,
        /// The parameter.
        parameter: &'static str,
        /// The type of the state.
        state: &'static str,
    },
    /// The schema is invalid.
    #[error("the schema of `{tool}` is invalid{}: {reason}", location(path))]
    InvalidSchema {
        /// The tool.
        tool: String,
        /// An RFC 6901 JSON Pointer into the schema.
        path: String,
        /// The fault, and what to write instead.
        reason: String,
    },
    /// An attribute or the default of a parameter is invalid.
    #[error("the parameter `{parameter}` of `{tool}` is refused: {reason}")]
    InvalidParameter {
        /// The tool.
        tool: String,
        /// The parameter.
        parameter: String,
        /// The fault.
        reason: String,
    },
    /// An example violates the schema.
    #[error("example {index} of `{tool}` is refused: {reason}")]
    InvalidExample {
        /// The tool.
        tool: String,
        /// Its index in `input_examples`.
        index: usize,
        /// The fault.
        reason: String,
    },
    /// No tool with this name is registered.
    #[error("no tool named `{tool}` is registered")]
    NotRegistered {
        /// The name.
        tool: String,
    },
}

/// The location in a schema; empty for the root.
fn location(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!(" at `{}`", excerpt_path(path))
    }
}
