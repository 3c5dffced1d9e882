//! Outcome of a command: success, success with errors in the input, or a failure with a message.

use std::io;

/// Outcome of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Exit status 0.
    Success,
    /// Exit status 1: a part of the input could not be repaired or read.
    WithErrors,
}

impl Outcome {
    /// Returns `Success` if there were no errors, otherwise `WithErrors`.
    pub fn success_if(no_errors: bool) -> Self {
        if no_errors {
            Self::Success
        } else {
            Self::WithErrors
        }
    }
}

/// Failure of a command that could not run to its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// Exit status 0 without a message: the reader of standard output has exited, like `head`.
    OutputClosed,
    /// Exit status 2, with a message that contains the problem and advice.
    Message(String),
}

impl Failure {
    /// Creates the failure of a write to the output.
    pub fn writing(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::OutputClosed;
        }
        Self::Message(format!(
            "the output cannot be written: {error}; the output so far is incomplete"
        ))
    }

    /// Creates the failure of a read of the input `name`.
    pub fn reading(name: &str, error: &io::Error) -> Self {
        Self::Message(format!(
            "{name} cannot be read: {error}; expected a readable file, or `-` for standard input"
        ))
    }
}
