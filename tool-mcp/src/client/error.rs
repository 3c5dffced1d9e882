//! [`McpError`]: the server and the fact.

use std::error::Error;
use std::fmt;

/// Error of a connection to an MCP server: the server, and the fact.
///
/// `Debug` prints the text of `Display` with all last lines of standard error, so a `main` that returns the error, and `unwrap`, show
/// a readable message.
#[derive(Clone, PartialEq, Eq)]
pub struct McpError {
    server: String,
    fact: String,
    stderr: String,
    is_unauthorized: bool,
}

impl McpError {
    pub(crate) fn new(server: &str, fact: impl fmt::Display) -> Self {
        Self {
            server: server.to_owned(),
            fact: fact.to_string(),
            stderr: String::new(),
            is_unauthorized: false,
        }
    }

    pub(crate) fn with_unauthorized(mut self, is_unauthorized: bool) -> Self {
        self.is_unauthorized = is_unauthorized;
        self
    }

    pub(crate) fn with_stderr(mut self, lines: String) -> Self {
        self.stderr = lines;
        self
    }

    /// Returns the name of the server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns whether the server refuses the credentials (HTTP status 401).
    pub fn is_unauthorized(&self) -> bool {
        self.is_unauthorized
    }

    /// Returns the fact, without the name of the server.
    pub fn fact(&self) -> &str {
        &self.fact
    }

    /// Returns the last lines that the server wrote to standard error before its start failed. They are for the operator of this program,
    /// and not for a model.
    pub fn stderr(&self) -> &str {
        &self.stderr
    }
}

/// Displays the server, the fact, and the line of standard error that describes the cause: the last line that begins at the margin and has
/// the word "error" in any case, or the last line. Node.js ends its report of an error with its version.
impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MCP server `{}`: {}", self.server, self.fact)?;
        let mut lines = self.stderr.lines().rev().filter(|line| !line.trim().is_empty());
        let is_cause = |line: &&str| {
            !line.starts_with(char::is_whitespace) && line.to_ascii_lowercase().contains("error")
        };
        match lines.clone().find(is_cause).or_else(|| lines.next()) {
            Some(line) => write!(f, " (standard error: {})", line.trim()),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.stderr.trim_end().contains('\n') {
            return fmt::Display::fmt(self, f);
        }
        write!(f, "MCP server `{}`: {}\nstandard error:", self.server, self.fact)?;
        self.stderr
            .trim_end()
            .lines()
            .try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl Error for McpError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(stderr: &str) -> McpError {
        McpError::new("git", "ended with exit status: 1").with_stderr(stderr.to_owned())
    }

    #[test]
    fn displays_the_line_with_the_cause() {
        let table = [
            ("", ""),
            ("\n", ""),
            ("no beans\n\n", " (standard error: no beans)"),
            (
                "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at error (x:1)\n}\n\nNode.js v20.20.2",
                " (standard error: Error: Cannot find module '/x.js')",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'TOKEN'",
                " (standard error: KeyError: 'TOKEN')",
            ),
            ("ERROR no key\nbye", " (standard error: ERROR no key)"),
        ];
        for (stderr, expected) in table {
            let expected = format!("MCP server `git`: ended with exit status: 1{expected}");
            assert_eq!(error(stderr).to_string(), expected);
        }
    }

    /// A `main` that returns the error prints its `Debug`.
    #[test]
    fn debug_prints_the_message_and_all_lines() {
        assert_eq!(
            format!("{:?}", error("no beans\n")),
            error("no beans\n").to_string()
        );
        assert_eq!(
            format!("{:?}", error("Error: no beans\n    at brew\n")),
            "MCP server `git`: ended with exit status: 1\nstandard error:\n    Error: no beans\n        at brew"
        );
    }
}
