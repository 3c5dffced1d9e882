//! [`Turns`]: the running turns of a gateway, for a graceful shutdown.

use std::sync::Arc;
use std::time::Duration;

use tool_runtime::CancellationToken;

use crate::server::access::client_limits::ClientLimits;
use crate::server::turns::lease_keeper::Leases;
use crate::server::turns::shared::Shared;
use crate::server::turns::turn_table::TurnTable;
use crate::session::record::SessionId;

/// Running turns of a [`Gateway`](super::gateway::Gateway). A call that must not be interrupted continues after its client has
/// disconnected, so turns may still run after the server has stopped.
///
/// ```no_run
/// use tool_gateway::{Gateway, upstream::ScriptUpstream};
/// use tool_runtime::ToolRegistry;
///
/// # async fn serve(listener: tokio::net::TcpListener, stopped: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
/// let gateway = Gateway::new(ToolRegistry::new(), ScriptUpstream::embedded());
/// let turns = gateway.turns();
/// axum::serve(listener, gateway.router()).with_graceful_shutdown(stopped).await?;
/// turns.close();
/// turns.ended().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Turns {
    running: Arc<TurnTable>,
    requests: Arc<ClientLimits>,
    leases: Arc<Leases>,
    draining: CancellationToken,
    closing: CancellationToken,
}

impl Turns {
    pub(super) fn new(shared: &Shared) -> Self {
        Self {
            running: Arc::clone(&shared.turns),
            requests: Arc::clone(&shared.client_limits),
            leases: Arc::clone(&shared.leases),
            draining: shared.draining.clone(),
            closing: shared.closing.clone(),
        }
    }

    /// Makes `/readyz` respond with 503, so that a load balancer sends new requests to other gateways. This gateway serves all requests until
    /// [`close`](Self::close).
    pub fn drain(&self) {
        self.draining.cancel();
    }

    /// Stops the admission of turns. `/readyz` and requests for the upstream are then answered with 503.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Waits until all turns have ended, and are stored.
    pub async fn ended(&self) {
        self.running.until_all_ended().await;
        self.requests.until_saved().await;
    }

    /// Releases the leases of turns that still run, in a store of several gateways: another gateway continues the turns at once, and reports
    /// calls that must not be repeated as interrupted. Call this method before the process ends.
    pub async fn release(&self) {
        // A lease that is not released ends later.
        let _ = tokio::time::timeout(RELEASE_TIME, self.leases.release()).await;
    }

    /// Returns whether a turn of this session runs, or has failed and may continue with a retry.
    pub(crate) fn has_active(&self, session: &SessionId) -> bool {
        self.running.has_active(session)
    }

    /// Waits until no response is being sent, and all answers are stored.
    pub(crate) async fn answered(&self) {
        self.requests.until_idle().await;
        self.requests.until_saved().await;
        self.leases.until_released().await;
    }
}

/// Maximum time for the release of leases.
const RELEASE_TIME: Duration = Duration::from_secs(2);
