//! How a command ends: with its work done, or with words for whoever must act.

use std::io;

/// The work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// And all is well: exit status 0.
    Fine,
    /// And something could not be repaired or read: exit status 1.
    WithErrors,
}

impl Ending {
    /// `Fine` if all is well, else `WithErrors`.
    pub fn fine_if(all_is_well: bool) -> Self {
        if all_is_well { Self::Fine } else { Self::WithErrors }
    }
}

/// The work could not be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// Whoever read our output has gone, as `head` does: the end, and nothing to say about it.
    OutputClosed,
    /// What is wrong and what to do: exit status 2.
    Message(String),
}

impl Failure {
    /// Output could not be written.
    pub fn writing(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::OutputClosed;
        }
        Self::Message(format!(
            "the output cannot be written: {error}; what is there so far is incomplete"
        ))
    }

    /// Input could not be read.
    pub fn reading(name: &str, error: &io::Error) -> Self {
        Self::Message(format!(
            "{name} cannot be read: {error}; name a file that can, or `-` for standard input"
        ))
    }
}
