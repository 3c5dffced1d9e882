//! [`StartedServer`]: a server with its settings, and the clients that list and call its tools.

use std::sync::Arc;

use tokio::join;
use tokio::sync::watch;
use tool_mcp::{LeftOut, McpClient, McpError};
use tool_runtime::{LeftOut as UnusableTool, ToolDefinition, ToolRegistry};

use super::scoped_clients::{RejectedTools, ScopedClients};
use super::starts::{count_starts, start};
use crate::server::observe::mcp_metrics::McpMetrics;
use crate::settings::mcp::pins::Pins;
use crate::settings::mcp::server::{McpServerSettings, Scope};

/// Server with its settings. Clones share its processes.
#[derive(Debug, Clone)]
pub(crate) struct StartedServer {
    pub(crate) settings: McpServerSettings,
    /// Client that lists the tools; `None` if the definitions are from the pins.
    lister: Option<McpClient>,
    /// Clients of the calls; `None` if the client that lists the tools calls them, too.
    scoped: Option<Arc<ScopedClients>>,
    /// Accepted definitions; `None` accepts all.
    pins: Option<Arc<Pins>>,
}

impl StartedServer {
    /// Starts the server in the background. Returns `None` if the settings are invalid.
    pub(crate) fn start(
        settings: &McpServerSettings,
        metrics: &McpMetrics,
        pins: Option<&Arc<Pins>>,
    ) -> Option<Self> {
        let lister = if settings.is_lazy() {
            None
        } else {
            Some(start(settings, metrics)?)
        };
        let has_scope = settings.is_lazy() || settings.scope != Scope::Shared;
        let checked = pins.filter(|_| settings.is_lazy());
        Some(Self {
            settings: settings.clone(),
            lister,
            scoped: has_scope.then(|| ScopedClients::new(settings, metrics, checked.cloned())),
            pins: pins.cloned(),
        })
    }

    /// Waits until the server has listed its tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the start has failed.
    pub(crate) async fn ready(&self) -> Result<(), McpError> {
        match &self.lister {
            Some(lister) => lister.ready().await,
            None => Ok(()),
        }
    }

    /// Returns the definitions of the listed tools, or of the pinned ones.
    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        match (&self.lister, &self.pins) {
            (Some(lister), _) => lister.definitions(),
            (None, Some(pins)) => pins.definitions(&self.settings.key, self.settings.trusts_hints()),
            (None, None) => Vec::new(),
        }
    }

    /// Returns the tools of the list that no one can use.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        self.lister.as_ref().map(McpClient::left_out).unwrap_or_default()
    }

    /// Returns the patterns of the server's settings that match no tool of the list, which has tools.
    pub(crate) fn patterns_without_match(&self) -> Vec<(String, &str)> {
        let left_out = self.left_out().into_iter().map(|tool| tool.tool);
        let names: Vec<_> = self
            .definitions()
            .into_iter()
            .map(|tool| tool.name)
            .chain(left_out)
            .collect();
        if names.is_empty() {
            return Vec::new();
        }
        self.settings.patterns_without_match(&names)
    }

    /// Compares a tool with its pin.
    ///
    /// # Errors
    ///
    /// Returns the reason if the tool is not offered.
    pub(crate) fn check_pin(&self, definition: &ToolDefinition) -> Result<(), String> {
        match (&self.lister, &self.pins, &self.scoped) {
            (Some(_), Some(pins), _) => pins.check(&self.settings.key, definition),
            (None, _, Some(scoped)) => match scoped.rejected().borrow().get(&definition.name) {
                Some(reason) => Err(reason.clone()),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Adds usable tools to a registry. Returns the others.
    pub(crate) fn register(
        &self,
        registry: &mut ToolRegistry,
        definitions: Vec<ToolDefinition>,
    ) -> Vec<UnusableTool> {
        match (&self.scoped, &self.lister) {
            (Some(scoped), _) => registry.register_usable(definitions, scoped.handler()),
            (None, Some(lister)) => registry.register_usable(definitions, lister.handler()),
            (None, None) => Vec::new(),
        }
    }

    /// Lists the tools again in the background, if the list is older than the server allows.
    pub(crate) fn refresh_if_stale(&self) {
        if let Some(lister) = &self.lister {
            lister.refresh_if_stale();
        }
    }

    /// Returns the changes of the list.
    pub(crate) fn changes(&self) -> ListChanges {
        match (&self.lister, &self.scoped) {
            (Some(lister), _) => ListChanges::OfList(lister.clone()),
            (None, Some(scoped)) => ListChanges::OfPins(scoped.rejected()),
            (None, None) => ListChanges::None,
        }
    }

    /// Counts the starts of the process that lists the tools, and its state. Other processes count their starts.
    pub(crate) async fn count_starts(&self, metrics: &McpMetrics) {
        let key = self.settings.key.as_str();
        let set_state = |state| metrics.set_state(key, state);
        match &self.lister {
            Some(lister) => count_starts(lister, key, metrics, set_state).await,
            None => set_state("stopped"),
        }
    }

    /// Stops all processes, and waits for their ends.
    pub(crate) async fn stop(&self) {
        let lister = async {
            if let Some(lister) = &self.lister {
                lister.stop().await;
            }
        };
        let scoped = async {
            if let Some(scoped) = &self.scoped {
                scoped.stop().await;
            }
        };
        join!(lister, scoped);
    }
}

/// Changes of a server's list.
#[derive(Debug)]
pub(crate) enum ListChanges {
    OfList(McpClient),
    /// The server may differ from its pins.
    OfPins(watch::Receiver<RejectedTools>),
    None,
}

impl ListChanges {
    /// Marks the current list as known.
    pub(crate) fn mark_unchanged(&mut self) {
        if let Self::OfList(lister) = self {
            lister.mark_unchanged();
        }
    }

    /// Waits for a change. Returns `false` after the end of the server.
    pub(crate) async fn next(&mut self) -> bool {
        match self {
            Self::OfList(lister) => lister.changed().await,
            Self::OfPins(rejected) => rejected.changed().await.is_ok(),
            Self::None => false,
        }
    }
}
