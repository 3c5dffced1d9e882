//! [`BackgroundLimit`]: numbers of background commands that run at once.

use std::fmt;

use tool_runtime::ToolError;

use super::session::ShellSession;

/// A limit that a further background command would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackgroundLimit {
    Session,
    Client,
    All,
}

/// Maximum number of background commands of a session.
const MAX_OF_SESSION: usize = 8;
/// Maximum number of background commands of a client. Half of the total, so that no client uses all.
const MAX_OF_CLIENT: usize = MAX_OF_ALL / 2;
/// Maximum number of background commands of all clients.
const MAX_OF_ALL: usize = 64;

impl BackgroundLimit {
    /// Returns the first limit that a further command would exceed, in a session and of a client. A host that does not distinguish clients
    /// has no limit for them.
    pub(super) fn reached<'s>(
        all: impl Iterator<Item = &'s ShellSession>,
        session: Option<&ShellSession>,
        client: Option<&str>,
    ) -> Option<Self> {
        let (mut of_client, mut of_all) = (0, 0);
        for command in all.flat_map(ShellSession::running) {
            of_all += 1;
            of_client += usize::from(client.is_some() && command.client.as_deref() == client);
        }
        let of_session = session.map_or(0, |session| session.running().count());
        [
            (of_session >= MAX_OF_SESSION, Self::Session),
            (of_client >= MAX_OF_CLIENT, Self::Client),
            (of_all >= MAX_OF_ALL, Self::All),
        ]
        .into_iter()
        .find_map(|(is_reached, limit)| is_reached.then_some(limit))
    }
}

impl fmt::Display for BackgroundLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, owner) = match self {
            Self::Session => (MAX_OF_SESSION, "this session"),
            Self::Client => (MAX_OF_CLIENT, "all sessions of this client"),
            Self::All => (MAX_OF_ALL, "all clients"),
        };
        write!(f, "{number} background commands of {owner} are running")
    }
}

impl From<BackgroundLimit> for ToolError {
    fn from(limit: BackgroundLimit) -> Self {
        let remedy = match limit {
            BackgroundLimit::Session => "end one with KillShell",
            BackgroundLimit::Client | BackgroundLimit::All => {
                "run the command without `run_in_background`, or wait until others have ended"
            }
        };
        Self::new("too_many", format_args!("{limit}; {remedy}"))
    }
}
