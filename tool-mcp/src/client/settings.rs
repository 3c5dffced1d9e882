//! Settings of a server: its command, and the limits of the client.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

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

/// Command and limits of a server.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Name of the server in messages and in the log.
    pub(crate) name: String,
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Variables of this process that the server receives, too.
    pub(crate) inherited: Vec<OsString>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) protocol: Protocol,
    /// Whether the server's hints count: `readOnlyHint` and others.
    pub(crate) trusts_hints: bool,
    pub(crate) limits: Limits,
}

/// Does not print the values of variables, which are often secrets.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("variables", &names)
            .field("inherited", &self.inherited)
            .field("directory", &self.directory)
            .field("protocol", &self.protocol)
            .field("trusts_hints", &self.trusts_hints)
            .field("limits", &self.limits)
            .finish()
    }
}

/// Limits of the client.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Maximum time from the start of the process to the end of the first list.
    pub(crate) start: Duration,
    /// Maximum time of a call without progress.
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
