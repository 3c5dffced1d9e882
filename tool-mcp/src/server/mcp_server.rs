//! [`McpServer`]: a registry as a server of MCP.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use tokio::sync::watch;
use tool_runtime::ToolRegistry;

use crate::server::admission::Admission;
#[cfg(feature = "http")]
use crate::server::body_budget::BodyBudget;
use crate::server::cursor::CursorKey;
use crate::server::sessions::SessionTable;
use crate::server::tool_list::ToolList;

/// Server of the Model Context Protocol with the tools of a registry. Clones share the tools.
///
/// Clients of revision 2026-07-28 need no handshake; clients of 2024-11-05 to 2025-11-25 begin with `initialize`. A call runs as
/// any other call of the registry, with the coercion, the texts for models, and the layers. Each client has at most 8 calls that run at
/// once, and 128 that wait; further calls fail.
///
/// Tools keep their [`SessionState`](tool_runtime::SessionState) for each client, or for each session that a client names in
/// `_meta["tool-runtime/session"]`. The state of up to 1,000 sessions is in memory, each up to an hour after its last call.
#[derive(Clone)]
pub struct McpServer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) identity: Arc<ServerIdentity>,
}

/// Description of the server for clients.
#[derive(Debug, Clone)]
pub(crate) struct ServerIdentity {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) instructions: String,
}

/// State of all clones.
pub(crate) struct Shared {
    tools: RwLock<Arc<ToolList>>,
    /// Digest of the current definitions.
    pub(crate) digest: watch::Sender<u64>,
    pub(crate) cursors: CursorKey,
    pub(crate) sessions: SessionTable,
    /// Bytes of the bodies of all requests over HTTP.
    #[cfg(feature = "http")]
    pub(crate) bodies: Arc<BodyBudget>,
    /// Cancelled when the program ends.
    #[cfg(feature = "http")]
    pub(crate) closing: tool_runtime::CancellationToken,
    admissions: Mutex<HashMap<Arc<str>, Weak<Admission>>>,
}

impl McpServer {
    /// Creates a server with the tools of a registry.
    pub fn new(registry: ToolRegistry) -> Self {
        let tools = ToolList::new(registry);
        Self {
            shared: Arc::new(Shared {
                digest: watch::Sender::new(tools.digest),
                tools: RwLock::new(Arc::new(tools)),
                cursors: CursorKey::default(),
                sessions: SessionTable::default(),
                #[cfg(feature = "http")]
                bodies: Arc::default(),
                #[cfg(feature = "http")]
                closing: tool_runtime::CancellationToken::new(),
                admissions: Mutex::default(),
            }),
            identity: Arc::new(ServerIdentity {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                instructions: String::new(),
            }),
        }
    }

    /// Sets the instructions for models on the use of the tools. Clients may add these to the system prompt.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.identity).instructions = instructions.into();
        self
    }

    /// Sets the name and the version of the server, which clients display. By default the name and the version of this crate.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        let identity = Arc::make_mut(&mut self.identity);
        (identity.name, identity.version) = (name.into(), version.into());
        self
    }

    /// Replaces the registry. Running calls end in the registry in which they began. Clients that have subscribed to changes are
    /// notified if the definitions differ.
    ///
    /// ```
    /// use tool_mcp::McpServer;
    /// use tool_runtime::ToolRegistry;
    ///
    /// let server = McpServer::new(ToolRegistry::new());
    /// // A clone is serving clients.
    /// server.replace(ToolRegistry::new());
    /// ```
    pub fn replace(&self, registry: ToolRegistry) {
        let tools = ToolList::new(registry);
        let digest = tools.digest;
        let mut current = self.shared.tools.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(tools);
        drop(current);
        self.shared.digest.send_if_modified(|current| {
            let is_modified = *current != digest;
            *current = digest;
            is_modified
        });
    }

    /// Returns the current tools.
    pub(crate) fn tools(&self) -> Arc<ToolList> {
        let tools = self.shared.tools.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&tools)
    }

    /// Returns the limit of the calls of a client.
    pub(crate) fn admission(&self, principal: &Arc<str>) -> Arc<Admission> {
        let admissions = &self.shared.admissions;
        let mut admissions = admissions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(admission) = admissions.get(principal).and_then(Weak::upgrade) {
            return admission;
        }
        admissions.retain(|_, admission| admission.strong_count() > 0);
        let admission = Arc::<Admission>::default();
        admissions.insert(Arc::clone(principal), Arc::downgrade(&admission));
        admission
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.identity.name)
            .finish_non_exhaustive()
    }
}
