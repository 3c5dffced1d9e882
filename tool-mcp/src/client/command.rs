//! [`McpCommand`]: the command of a server, and the limits of its client.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::client::setters::settings_setters;
use crate::client::settings::{CommandSettings, Protocol, Settings};

/// Command that starts an MCP server, with the limits of its client.
///
/// The server receives only `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LC_*`, `TERM`, `TZ` and `TMPDIR` of this process's
/// environment, and the variables that [`env`](Self::env) and [`env_from`](Self::env_from) add.
#[derive(Debug, Clone)]
#[must_use = "a command does nothing until `connect`"]
pub struct McpCommand {
    pub(crate) command: CommandSettings,
    pub(crate) settings: Settings,
}

impl McpCommand {
    pub(crate) fn new(program: OsString) -> Self {
        let name = Path::new(&program).file_stem().unwrap_or(&program);
        Self {
            settings: Settings::new(name.to_string_lossy().into_owned()),
            command: CommandSettings {
                program,
                arguments: Vec::new(),
                variables: Vec::new(),
                inherited: Vec::new(),
                directory: None,
            },
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.command.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.command
            .arguments
            .extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable of the server.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.command.variables.push((name.into(), value.into()));
        self
    }

    /// Gives the server an environment variable of this process. A variable that is not set is an error of
    /// [`connect`](Self::connect).
    pub fn env_from(mut self, name: impl Into<OsString>) -> Self {
        self.command.inherited.push(name.into());
        self
    }

    /// Sets the working directory of the server.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.command.directory = Some(directory.into());
        self
    }

    settings_setters!();
}
