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
    /// The API would refuse the name.
    #[error(transparent)]
    InvalidName(#[from] InvalidName),
    /// The name is taken.
    #[error("a tool named `{tool}` is already registered; give one of the two another `name`")]
    Duplicate {
        /// The name.
        tool: String,
    },
    /// A parameter wants a state that the registry does not have.
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
    /// The schema cannot be enforced as it stands.
    #[error("the schema of `{tool}` is invalid{}: {reason}", location(path))]
    InvalidSchema {
        /// The tool.
        tool: String,
        /// Where in the schema: an RFC 6901 JSON Pointer.
        path: String,
        /// What is wrong and what to write instead.
        reason: String,
    },
    /// What a parameter's attributes say cannot be said, or its default does not keep to it.
    #[error("the parameter `{parameter}` of `{tool}` is refused: {reason}")]
    InvalidParameter {
        /// The tool.
        tool: String,
        /// The parameter.
        parameter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An example that the tool itself would refuse.
    #[error("example {index} of `{tool}` is refused: {reason}")]
    InvalidExample {
        /// The tool.
        tool: String,
        /// Which of its `input_examples`, from 0.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such tool to change.
    #[error("no tool named `{tool}` is registered")]
    NotRegistered {
        /// The name.
        tool: String,
    },
}

/// The place in a schema, unless it is the whole.
fn location(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!(" at `{}`", excerpt_path(path))
    }
}
