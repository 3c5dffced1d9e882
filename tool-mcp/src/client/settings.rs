//! Settings of a server: its command or URL, and the limits of the client.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::client::hooks::Hooks;

/// Revision of the protocol that the client uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Probes with `server/discover`, and sends `initialize` to a server that does not know this method.
    #[default]
    Auto,
    /// Revision 2026-07-28 and later: no handshake.
    Modern,
    /// Revision 2025-11-25 and earlier: `initialize`.
    Legacy,
}

/// Endpoint of a server: its command, or its URL.
#[derive(Debug, Clone)]
pub(crate) enum Endpoint {
    Command(CommandSettings),
    #[cfg(feature = "http")]
    Url(std::sync::Arc<crate::client::url_settings::UrlSettings>),
}

/// Command that starts a server.
#[derive(Clone)]
pub(crate) struct CommandSettings {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Names of the environment variables that the server inherits from this process.
    pub(crate) inherited: Vec<OsString>,
    pub(crate) directory: Option<PathBuf>,
}

/// Does not print the values of environment variables, which are often secrets.
impl fmt::Debug for CommandSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        f.debug_struct("CommandSettings")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("variables", &names)
            .field("inherited", &self.inherited)
            .field("directory", &self.directory)
            .finish()
    }
}

/// Settings of a server, whether it is started by a command or reached by a URL.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Name of the server in messages and in the log.
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    /// Whether the server's hints are trusted: `readOnlyHint` and others.
    pub(crate) trusts_hints: bool,
    pub(crate) limits: Limits,
    pub(crate) hooks: Hooks,
}

impl Settings {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            protocol: Protocol::Auto,
            trusts_hints: false,
            limits: Limits::default(),
            hooks: Hooks::default(),
        }
    }
}

/// Limits of the client.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Maximum time from the start of the process, or from the first request, until the first list of tools is complete.
    pub(crate) start: Duration,
    /// Maximum time of a call until its first progress notification, and between two progress notifications.
    pub(crate) call: Duration,
    /// Maximum time of a call.
    pub(crate) total: Duration,
    /// Maximum number of concurrent calls.
    pub(crate) calls: usize,
    /// Maximum number of tools.
    pub(crate) tools: usize,
    /// Maximum number of bytes of a message.
    pub(crate) message_bytes: usize,
    /// Maximum number of characters of the texts of a result.
    pub(crate) result_chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            call: Duration::from_secs(60),
            total: Duration::from_secs(600),
            calls: 8,
            tools: 500,
            message_bytes: 16 << 20,
            result_chars: 400_000,
        }
    }
}
