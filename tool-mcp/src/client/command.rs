//! [`McpCommand`]: the command of a server, and the limits of its client.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::client::settings::{Limits, Protocol, Settings};

/// Command that starts an MCP server, with the limits of its client.
///
/// The server receives only `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LC_*`, `TERM`, `TZ` and `TMPDIR` of this process's
/// environment, and the variables that [`env`](Self::env) and [`env_from`](Self::env_from) add.
#[derive(Debug, Clone)]
#[must_use = "a command does nothing until `connect`"]
pub struct McpCommand {
    pub(crate) settings: Settings,
}

impl McpCommand {
    pub(crate) fn new(program: OsString) -> Self {
        let name = Path::new(&program).file_stem().unwrap_or(&program);
        let settings = Settings {
            name: name.to_string_lossy().into_owned(),
            program,
            arguments: Vec::new(),
            variables: Vec::new(),
            inherited: Vec::new(),
            directory: None,
            protocol: Protocol::Auto,
            trusts_hints: false,
            limits: Limits::default(),
        };
        Self { settings }
    }

    /// Sets the name of the server in messages and in the log. The default is the name of the program.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.settings.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.settings
            .arguments
            .extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable of the server.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.settings.variables.push((name.into(), value.into()));
        self
    }

    /// Gives the server an environment variable of this process. A variable that is not set is an error of
    /// [`connect`](Self::connect).
    pub fn env_from(mut self, name: impl Into<OsString>) -> Self {
        self.settings.inherited.push(name.into());
        self
    }

    /// Sets the working directory of the server.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.settings.directory = Some(directory.into());
        self
    }

    /// Sets the revision of the protocol. The default is [`Protocol::Auto`].
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.settings.protocol = protocol;
        self
    }

    /// Sets whether the server's hints (`readOnlyHint` and others) are hints of the definitions. By default, hints are claims that
    /// only MCP's form of a definition has.
    pub fn trust_hints(mut self, trusts_hints: bool) -> Self {
        self.settings.trusts_hints = trusts_hints;
        self
    }

    /// Sets the maximum time from the start of the process to the end of the first list. The default is 30 s.
    pub fn start_timeout(mut self, limit: Duration) -> Self {
        self.settings.limits.start = limit;
        self
    }

    /// Sets the maximum time of a call without progress. The default is 60 s.
    pub fn call_timeout(mut self, limit: Duration) -> Self {
        self.settings.limits.call = limit;
        self
    }

    /// Sets the maximum time of a call, with and without progress. The default is 600 s.
    pub fn max_call_duration(mut self, limit: Duration) -> Self {
        self.settings.limits.total = limit;
        self
    }

    /// Sets the maximum number of concurrent calls; others wait. The default is 8, the minimum 1.
    pub fn max_calls(mut self, limit: usize) -> Self {
        self.settings.limits.calls = limit.max(1);
        self
    }

    /// Sets the maximum number of tools; others are left out. The default is 500.
    pub fn max_tools(mut self, limit: usize) -> Self {
        self.settings.limits.tools = limit;
        self
    }

    /// Sets the maximum number of bytes of a message. The default is 16 MiB.
    pub fn max_message_bytes(mut self, limit: usize) -> Self {
        self.settings.limits.message_bytes = limit;
        self
    }

    /// Sets the maximum number of characters of the texts of a result; the rest is cut. The default is 400,000.
    pub fn max_result_chars(mut self, limit: usize) -> Self {
        self.settings.limits.result_chars = limit;
        self
    }
}
