//! [`UpstreamError`]: the error of a request without a response.

use std::fmt;

/// Error of an upstream that did not answer, with the reason. The client may retry.
#[derive(Debug)]
pub struct UpstreamError {
    message: String,
}

impl UpstreamError {
    /// Creates an error with a message for the client. The message must name the upstream and contain no credential.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UpstreamError {}
