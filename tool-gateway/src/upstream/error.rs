//! [`UpstreamError`]: the error of a request without a response.

use std::fmt;

/// An upstream that did not answer: the reason. The client may retry.
#[derive(Debug)]
pub struct UpstreamError {
    message: String,
}

impl UpstreamError {
    /// An error with a message for the client, which names the upstream and no credential.
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
