//! [`RegistryError`]: the reason why a tool was not registered.

use std::fmt;

use crate::wire::definition::InvalidName;
use crate::wire::issue::{excerpt, excerpt_path};

/// Reason why a tool was not registered. The registry remains unchanged.
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
/// assert_eq!(error.to_string(), "a tool named `ring` is already registered; give one of the two another `name`, or a prefix");
/// assert!(matches!(error, RegistryError::Duplicate { tool } if tool == "ring"));
/// ```
///
/// `Debug` prints the same text as `Display`, so a `main` that returns the error shows a readable message.
#[non_exhaustive]
pub enum RegistryError {
    /// The name is invalid.
    InvalidName(InvalidName),
    /// A tool with this name is already registered.
    Duplicate {
        /// Name of both tools.
        tool: String,
    },
    /// A registry cannot be nested under this prefix.
    InvalidPrefix {
        /// Invalid prefix.
        prefix: String,
        /// Description of the fault, with advice.
        reason: String,
    },
    /// The description of a tool is an expression whose value is blank.
    MissingDescription {
        /// Name of the tool.
        tool: String,
    },
    /// The registry does not have the state of a parameter.
    MissingState {
        /// Name of the tool.
        tool: String,
        /// Name of the parameter.
        parameter: &'static str,
        /// Type of the state.
        state: &'static str,
        /// Type of an existing state that contains the missing type or is contained in it: an `Arc<Db>` for `Db`.
        similar: Option<&'static str>,
    },
    /// The schema is invalid.
    InvalidSchema {
        /// Name of the tool.
        tool: String,
        /// RFC 6901 JSON Pointer into the schema.
        path: String,
        /// Description of the fault, with advice.
        reason: String,
    },
    /// The schema of the structured results is invalid.
    InvalidOutputSchema {
        /// Name of the tool.
        tool: String,
        /// RFC 6901 JSON Pointer into the schema.
        path: String,
        /// Description of the fault, with advice.
        reason: String,
    },
    /// An attribute or the default of a parameter is invalid.
    InvalidParameter {
        /// Name of the tool.
        tool: String,
        /// Name of the parameter.
        parameter: String,
        /// Description of the fault.
        reason: String,
    },
    /// An example violates the schema.
    InvalidExample {
        /// Name of the tool.
        tool: String,
        /// Index in `input_examples`.
        index: usize,
        /// Description of the fault.
        reason: String,
    },
    /// No tool with this name is registered.
    NotRegistered {
        /// Unknown name.
        tool: String,
    },
}

impl RegistryError {
    /// Returns the kind of error, for a metric or a comparison.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidName(_) => "invalid_name",
            Self::Duplicate { .. } => "duplicate",
            Self::InvalidPrefix { .. } => "invalid_prefix",
            Self::MissingDescription { .. } => "missing_description",
            Self::MissingState { .. } => "missing_state",
            Self::InvalidSchema { .. } => "invalid_schema",
            Self::InvalidOutputSchema { .. } => "invalid_output_schema",
            Self::InvalidParameter { .. } => "invalid_parameter",
            Self::InvalidExample { .. } => "invalid_example",
            Self::NotRegistered { .. } => "not_registered",
        }
    }
}

impl fmt::Debug for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidName(error) => error.fmt(f),
            Self::Duplicate { tool } => write!(
                f,
                "a tool named `{tool}` is already registered; give one of the two another `name`, or a prefix"
            ),
            Self::InvalidPrefix { prefix, reason } => {
                write!(f, "no registry can be nested as `{}`: {reason}", excerpt(prefix))
            }
            Self::MissingDescription { tool } => write!(
                f,
                "the description of `{tool}` is blank; models choose a tool by its description"
            ),
            Self::MissingState {
                tool,
                parameter,
                state,
                similar,
            } => {
                write!(
                    f,
                    "`{tool}` takes `{parameter}: State<{state}>`, and the registry has "
                )?;
                match similar {
                    Some(similar) => write!(
                        f,
                        "a `{similar}` instead; write `{parameter}: State<{similar}>`, or give `.with_state(..)` a `{state}`"
                    ),
                    None => f.write_str("none; call `.with_state(..)` before you register it"),
                }
            }
            Self::InvalidSchema { tool, path, reason } if path.is_empty() => {
                write!(f, "the schema of `{tool}` is invalid: {reason}")
            }
            Self::InvalidSchema { tool, path, reason } => {
                let path = excerpt_path(path);
                write!(f, "the schema of `{tool}` is invalid at `{path}`: {reason}")
            }
            Self::InvalidOutputSchema { tool, path, reason } => {
                write!(f, "the output schema of `{tool}` is invalid")?;
                if !path.is_empty() {
                    write!(f, " at `{}`", excerpt_path(path))?;
                }
                write!(f, ": {reason}")
            }
            Self::InvalidParameter {
                tool,
                parameter,
                reason,
            } => {
                write!(f, "the parameter `{parameter}` of `{tool}` is refused: {reason}")
            }
            Self::InvalidExample { tool, index, reason } => {
                write!(f, "example {index} of `{tool}` is refused: {reason}")
            }
            Self::NotRegistered { tool } => write!(f, "no tool named `{tool}` is registered"),
        }
    }
}

impl std::error::Error for RegistryError {}

impl From<InvalidName> for RegistryError {
    fn from(error: InvalidName) -> Self {
        Self::InvalidName(error)
    }
}
