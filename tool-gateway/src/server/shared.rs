//! [`Shared`]: what all requests share.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tool_runtime::repair::FormatFixing;
use tool_runtime::{CancellationToken, ToolDefinition, ToolRegistry};

use super::client_limits::ClientLimits;
use super::locks::Locks;
use super::metrics::Metrics;
use super::principal::ClientKey;
use super::running_turns::RunningTurns;
use super::unstored::UnstoredTurns;
use crate::session::chain::ChainKey;
use crate::session::store::SessionStore;
use crate::turn::ownership::{Offer, OfferedTool, Ownership};
use crate::upstream::Upstream;

/// The settings and the tables of a gateway.
pub(super) struct Shared {
    pub(super) registry: ToolRegistry,
    /// The tools of the registry as they go up, in the order of registration.
    pub(super) offered: Vec<OfferedTool>,
    pub(super) upstream: Arc<dyn Upstream>,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) secret: ChainKey,
    pub(super) keys: Vec<ClientKey>,
    pub(super) offer: Offer,
    pub(super) ownership: Ownership,
    /// The tools of the gateway whose calls wait for the client's results.
    pub(super) deferred: BTreeSet<String>,
    /// Where results are offloaded, if they are.
    pub(super) offload_directory: Option<PathBuf>,
    pub(super) max_rounds: usize,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_time: Duration,
    /// How long the upstream may send nothing.
    pub(super) upstream_idle: Duration,
    /// How long a client may send nothing in the middle of a request.
    pub(super) client_idle: Duration,
    pub(super) max_body: usize,
    pub(super) client_limits: ClientLimits,
    /// Whose calls are repaired in responses of `OpenAI`'s APIs.
    pub(super) format_fixing: FormatFixing,
    pub(super) is_public: bool,
    pub(super) running: Arc<RunningTurns>,
    /// The ids of suspended turns: one request at a time runs the deferred calls of each.
    pub(super) resuming: Locks<String>,
    pub(super) unstored: UnstoredTurns,
    /// Cancelled when no more turns are admitted.
    pub(super) closing: CancellationToken,
    pub(super) metrics: Metrics,
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
    pub(super) fn definitions(&self) -> Vec<&ToolDefinition> {
        self.registry.tool_definitions()
    }
}
