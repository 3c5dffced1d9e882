//! [`ToolError`]: an error with a code, or a transient error.

use std::error::Error;
use std::fmt;

/// Error of a tool. It has a code, by which callers distinguish errors, or it is [transient](Self::retry). An error with
/// a code is displayed as `code: message`.
///
/// ```
/// use tool_runtime::ToolError;
///
/// let error = ToolError::new("maxResults_out_of_range", "maxResults must be between 1 and 10000");
/// assert_eq!(error.to_string(), "maxResults_out_of_range: maxResults must be between 1 and 10000");
///
/// let wrong = "x".parse::<u8>().unwrap_err();
/// assert_eq!(ToolError::new("no_number", wrong).message(), "invalid digit found in string");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    /// Code; `None` for a transient error.
    code: Option<String>,
    message: String,
}

impl ToolError {
    /// Creates an error with a code, and with a message that advises the model.
    pub fn new(code: impl fmt::Display, message: impl fmt::Display) -> Self {
        Self {
            code: Some(code.to_string()),
            message: message.to_string(),
        }
    }

    /// Creates a transient error: a repeated call may succeed. A note after the message informs the model, and the host
    /// receives [`Failure::Retryable`](crate::result::Failure::Retryable). A transient error is also detected in the `source()`
    /// chain of the function's error, in an `anyhow::Error`, and in an error with `#[error(transparent)]`.
    ///
    /// ```
    /// use tool_runtime::result::Failure;
    /// use tool_runtime::{ToolCall, ToolError, ToolRegistry, tool};
    ///
    /// /// Reserve a seat.
    /// #[tool]
    /// async fn reserve() -> Result<u8, ToolError> {
    ///     Err(ToolError::retry("the booking system is busy"))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let mut registry = ToolRegistry::new();
    /// registry.register::<reserve>()?;
    /// let outcome = registry.call(ToolCall::new("toolu_01", "reserve", "{}")).await;
    /// assert_eq!(outcome.failure, Some(Failure::Retryable));
    /// let text = "the booking system is busy\n\nThis may succeed when it is tried again.";
    /// assert_eq!(outcome.result.text(), Some(text));
    /// # Ok(())
    /// # }
    /// ```
    pub fn retry(message: impl fmt::Display) -> Self {
        Self {
            code: None,
            message: message.to_string(),
        }
    }

    /// Returns the code; `retry` for a transient error.
    pub fn code(&self) -> &str {
        self.code.as_deref().unwrap_or("retry")
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns whether the error is transient.
    pub fn is_retryable(&self) -> bool {
        self.code.is_none()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code {
            Some(code) => write!(f, "{code}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.is_retryable().then_some(&Retryable)
    }
}

/// Source of a transient error. Error wrappers, such as `anyhow::Error`, hide the type of a [`ToolError`] but show
/// its source.
#[derive(Debug)]
pub(crate) struct Retryable;

impl Retryable {
    pub(crate) const TEXT: &str = "this may succeed when it is tried again";
}

impl fmt::Display for Retryable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::TEXT)
    }
}

impl Error for Retryable {}
