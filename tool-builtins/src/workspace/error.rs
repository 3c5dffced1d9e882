//! [`ErrorCode`]: stable codes of the errors of tools that touch the machine.

use std::fmt;
use std::io;

use tool_runtime::ToolError;

/// Code at the beginning of an error's text. Codes are API: hosts and models react to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    OutsideWorkspace,
    Denied,
    NotFound,
    IsADirectory,
    NotAFile,
    ReadOnly,
    TooLarge,
    Binary,
    NotText,
    NotRead,
    Changed,
    NoMatch,
    SeveralMatches,
    NoChange,
    InvalidPattern,
    TimedOut,
    NoSpace,
    Io,
}

impl ErrorCode {
    /// Returns an error with this code.
    pub(crate) fn error(self, message: impl fmt::Display) -> ToolError {
        ToolError::new(self, message)
    }

    /// Returns the error of an operation of the system on a path.
    pub(crate) fn from_io(error: &io::Error, path: &str) -> ToolError {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound.error(format_args!("`{path}` does not exist")),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::NoSpace.error(format_args!(
                    "no space to write `{path}` ({error}); nothing was changed"
                ))
            }
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly.error(format_args!(
                "`{path}` is on a read-only file system; nothing was changed"
            )),
            // cap-std reports a path that leads out of its folder as an error without a number.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::outside(path),
            io::ErrorKind::PermissionDenied => Self::Denied.error(format_args!(
                "the operating system refuses access to `{path}` ({error})"
            )),
            _ => Self::Io.error(format_args!("`{path}`: {error}")),
        }
    }

    /// Returns the error of a path that leads out of the workspace.
    pub(crate) fn outside(path: &str) -> ToolError {
        Self::OutsideWorkspace.error(format_args!(
            "`{path}` is outside of the workspace; send a path inside, relative to its root"
        ))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutsideWorkspace => "outside_workspace",
            Self::Denied => "denied",
            Self::NotFound => "not_found",
            Self::IsADirectory => "is_a_directory",
            Self::NotAFile => "not_a_file",
            Self::ReadOnly => "read_only",
            Self::TooLarge => "too_large",
            Self::Binary => "binary",
            Self::NotText => "not_text",
            Self::NotRead => "not_read",
            Self::Changed => "changed",
            Self::NoMatch => "no_match",
            Self::SeveralMatches => "several_matches",
            Self::NoChange => "no_change",
            Self::InvalidPattern => "invalid_pattern",
            Self::TimedOut => "timed_out",
            Self::NoSpace => "no_space",
            Self::Io => "io",
        })
    }
}
