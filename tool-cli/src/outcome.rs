//! Outcome of a command: success, success with errors in the input, or a failure with a message.

use std::io;

/// Outcome of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Exit status 0.
    Success,
    /// Part of the input could not be repaired or read: exit status 1.
    WithErrors,
}

impl Outcome {
    /// `Success` if there were no errors, else `WithErrors`.
    pub fn success_if(no_errors: bool) -> Self {
        if no_errors {
            Self::Success
        } else {
            Self::WithErrors
        }
    }
}

/// Reason why a command could not run to its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// The reader of standard output has gone, as `head` does: exit status 0, without a message.
    OutputClosed,
    /// Message that names the problem and what to do: exit status 2.
    Message(String),
}

impl Failure {
    /// Failure to write output.
    pub fn writing(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::OutputClosed;
        }
        Self::Message(format!(
            "the output cannot be written: {error}; what is there so far is incomplete"
        ))
    }

    /// Failure to read the input `name`.
    pub fn reading(name: &str, error: &io::Error) -> Self {
        Self::Message(format!(
            "{name} cannot be read: {error}; name a file that can, or `-` for standard input"
        ))
    }
}
