//! [`StreamError`]: error of a streamed response.

use std::fmt;

use serde_json::Value;

use super::fields::FormatError;

/// Reason why a streamed response cannot be used. No part of the response may run or be sent back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// The stream ended before the response was complete.
    Incomplete {
        /// Missing event or field, for example `message_stop`.
        missing: &'static str,
    },
    /// The stream reported an error.
    Api {
        /// Type or code of the error, for example `overloaded_error`; empty if there is none.
        kind: String,
        /// Message of the error.
        message: String,
    },
    /// An event is not JSON, or does not have the form of the API.
    InvalidEvent {
        /// Description of the fault.
        reason: String,
    },
    /// The response is larger than the reader's limits.
    TooLarge {
        /// Exceeded limit.
        reason: String,
    },
    /// A call lacks a required field.
    Call(FormatError),
}

impl StreamError {
    pub(super) fn invalid(reason: impl Into<String>) -> Self {
        Self::InvalidEvent {
            reason: reason.into(),
        }
    }

    pub(super) fn unattributed() -> Self {
        Self::invalid("the pieces of the calls cannot be told apart")
    }

    /// Returns the error in an event: an object with a `message`, or a text.
    pub(super) fn api(error: &Value) -> Self {
        let field = |name| error.get(name).filter(|value| !value.is_null());
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let kind = field("type").or_else(|| field("code"));
        let message = field("message").unwrap_or(error);
        Self::Api {
            kind: kind.map(text).unwrap_or_default(),
            message: text(message),
        }
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete { missing } => write!(f, "the stream ended early: missing {missing}"),
            Self::Api { kind, message } if kind.is_empty() => {
                write!(f, "the API reported an error: {message}")
            }
            Self::Api { kind, message } => write!(f, "the API reported an error: {message} ({kind})"),
            Self::InvalidEvent { reason } => write!(f, "invalid event in the stream: {reason}"),
            Self::TooLarge { reason } => write!(f, "the streamed response is too large: {reason}"),
            Self::Call(error) => write!(f, "invalid call in the stream: {error}"),
        }
    }
}

impl std::error::Error for StreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }
}
