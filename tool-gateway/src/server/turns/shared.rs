//! [`Shared`]: the state that all requests share.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use tokio::time::Instant;
use tool_runtime::CancellationToken;

use super::claims::Claims;
use super::lease_keeper::{LeaseKeeper, Leases};
use super::running_turn::RunningTurn;
use super::turn_table::TurnTable;
use crate::off_worker::LargeRequests;
use crate::server::access::byte_budget::ByteBudget;
use crate::server::access::client_limits::ClientLimits;
use crate::server::generations::Generations;
use crate::server::mcp::McpServers;
use crate::server::observe::metrics::Metrics;
use crate::session::chain::{ChainKey, Digest};
use crate::session::store::{Lease, SessionStore};
use crate::settings::Settings;
use crate::settings::client_keys::ClientKey;
use crate::settings::offload::Offload;
use crate::upstream::Upstream;
use crate::wire::request::MessagesRequest;
use crate::wire::walk;

/// Settings and tables of a gateway.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    /// The gateway's tools.
    pub(crate) generations: Arc<Generations>,
    pub(crate) mcp: McpServers,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) store: Arc<dyn SessionStore>,
    /// Random number of this gateway among the gateways of the store.
    pub(crate) instance: u128,
    /// Whether the last write to the store failed.
    pub(crate) store_fails: AtomicBool,
    pub(crate) secret: ChainKey,
    pub(crate) keys: Vec<ClientKey>,
    pub(crate) client_limits: Arc<ClientLimits>,
    /// The bytes of the requests that are being read and digested.
    pub(crate) bodies: Arc<ByteBudget>,
    /// The threads for requests with large bodies.
    pub(crate) large_requests: Arc<LargeRequests>,
    pub(crate) turns: Arc<TurnTable>,
    pub(crate) claims: Claims,
    pub(crate) leases: Arc<Leases>,
    /// Cancelled when `/readyz` begins to respond with 503, before the gateway stops to admit turns.
    pub(crate) draining: CancellationToken,
    /// Cancelled when the gateway stops to admit turns.
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
    /// Returns the directory of offloaded results.
    pub(crate) fn offload_directory(&self) -> Option<&Path> {
        self.settings.offload.as_ref().map(Offload::directory)
    }

    /// Renews a lease, which was claimed at this time, until the keeper is dropped.
    pub(crate) fn keep_lease(
        &self,
        client: Digest,
        lease: Lease,
        claimed: Instant,
        turn: Option<Weak<RunningTurn>>,
    ) -> LeaseKeeper {
        LeaseKeeper::start(&self.leases, &self.store, client, lease, claimed, turn)
    }

    /// Records in the store that a client receives the answer of a complete turn, after the lease of the turn.
    pub(crate) fn record_delivery(&self, client: Digest, lease: Lease, turn: Arc<RunningTurn>) {
        self.leases.record_delivery(&self.store, client, lease, turn);
    }

    /// Returns whether the response to a request may have calls that are recovered from text.
    pub(crate) fn recovers_text_calls(&self, request: &MessagesRequest) -> bool {
        let Some(reader) = self.upstream.text_calls().filter(|reader| reader.rules.is_on()) else {
            return false;
        };
        let model = request.get("model").and_then(walk::string).unwrap_or_default();
        request.has_tools() && reader.rules.apply_to(&self.upstream.served_model(&model))
    }

    /// Returns whether a request declares tools, and calls in the text of its response are not recovered. Such calls are in the log.
    pub(crate) fn leaves_text_calls(&self, request: &MessagesRequest) -> bool {
        let is_on = || {
            self.upstream
                .text_calls()
                .is_some_and(|reader| reader.rules.is_on())
        };
        request.has_tools() && !is_on()
    }
}
