//! [`Shared`]: what all requests share.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tool_runtime::repair::FormatFixing;
use tool_runtime::{CancellationToken, ToolDefinition, ToolRegistry};

use super::claims::Claims;
use super::turn_table::TurnTable;
use crate::server::access::client_key::ClientKey;
use crate::server::access::client_limits::ClientLimits;
use crate::server::observe::metrics::Metrics;
use crate::session::chain::ChainKey;
use crate::session::store::SessionStore;
use crate::turn::ownership::{InternalTool, Offer, Ownership};
use crate::upstream::Upstream;

/// The settings and the tables of a gateway.
pub(crate) struct Shared {
    pub(crate) registry: ToolRegistry,
    /// The tools of the registry as they go up, in the order of registration.
    pub(crate) internal_tools: Vec<InternalTool>,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) secret: ChainKey,
    pub(crate) keys: Vec<ClientKey>,
    pub(crate) offer: Offer,
    pub(crate) ownership: Ownership,
    /// The tools of the gateway whose calls wait for the client's results.
    pub(crate) deferred: BTreeSet<String>,
    /// Where results are offloaded, if they are.
    pub(crate) offload_directory: Option<PathBuf>,
    pub(crate) max_rounds: usize,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) max_time: Duration,
    /// How long the upstream may send nothing.
    pub(crate) upstream_idle: Duration,
    /// How long a client may send nothing in the middle of a request.
    pub(crate) client_idle: Duration,
    pub(crate) max_body: usize,
    pub(crate) client_limits: ClientLimits,
    /// Whose calls are repaired in responses of `OpenAI`'s APIs.
    pub(crate) format_fixing: FormatFixing,
    pub(crate) is_public: bool,
    pub(crate) turns: Arc<TurnTable>,
    pub(crate) claims: Claims,
    /// Cancelled when no more turns are admitted.
    pub(crate) closing: CancellationToken,
    pub(crate) metrics: Metrics,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("upstream", &self.upstream.name())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// The definitions of the gateway's tools, in the order of registration.
    pub(crate) fn definitions(&self) -> Vec<&ToolDefinition> {
        self.registry.tool_definitions()
    }
}
