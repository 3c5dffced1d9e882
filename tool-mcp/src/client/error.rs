//! [`McpError`]: the server and the fact.

use std::error::Error;
use std::fmt;

/// Error of a connection to an MCP server: the server, and the fact.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MCP server `{}`: {}", self.server, self.fact)?;
        match self.stderr.lines().rfind(|line| !line.trim().is_empty()) {
            Some(last) => write!(f, " (standard error: {})", last.trim()),
            None => Ok(()),
        }
    }
}

impl Error for McpError {}
