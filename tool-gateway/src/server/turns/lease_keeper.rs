//! [`LeaseKeeper`]: renews the lease of a running turn, and ends it with the turn.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use tool_runtime::CancellationToken;

use super::running_turn::RunningTurn;
use crate::session::chain::Digest;
use crate::session::lease::{LEASE_TIME, Lease};
use crate::session::store::SessionStore;

/// Time between two renewals.
const RENEWAL: Duration = Duration::from_secs(5);

/// Time after which a renewal is sent again.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Remaining time of a lease with which no step of a turn begins: another gateway may have the lease before the step is stored.
const MIN_LEFT: Duration = Duration::from_secs(5);

/// Time between two looks at the clients of an ended turn.
const SEEN_POLL: Duration = Duration::from_millis(100);

/// A lease that is renewed until the keeper is dropped, which releases the lease. In a store that one gateway uses at a time, there is
/// nothing to renew.
#[derive(Debug)]
pub(crate) struct LeaseKeeper(Option<RenewedLease>);

#[derive(Debug)]
struct RenewedLease {
    /// End of the lease, counted from before the renewal was sent.
    valid_until: Arc<Mutex<Instant>>,
    ended: CancellationToken,
}

impl LeaseKeeper {
    /// Renews the lease of a turn. `turn` tells other gateways whether a client waits for the answer; a lease without a turn has a client.
    pub(crate) fn start(
        store: &Arc<dyn SessionStore>,
        client: Digest,
        lease: Lease,
        turn: Option<Weak<RunningTurn>>,
    ) -> Self {
        if lease.fence == 0 {
            return Self(None);
        }
        let renewed = RenewedLease {
            valid_until: Arc::new(Mutex::new(Instant::now() + LEASE_TIME)),
            ended: CancellationToken::new(),
        };
        let renewals = Renewals {
            store: Arc::clone(store),
            client,
            lease,
            turn,
            valid_until: Arc::clone(&renewed.valid_until),
        };
        tokio::spawn(renewals.run(renewed.ended.clone()));
        Self(Some(renewed))
    }

    /// Returns whether the lease is valid for long enough that a step of the turn may begin.
    pub(crate) fn is_valid(&self) -> bool {
        self.0.as_ref().is_none_or(|lease| {
            let until = *lease.valid_until.lock().unwrap_or_else(PoisonError::into_inner);
            until.saturating_duration_since(Instant::now()) >= MIN_LEFT
        })
    }
}

impl Drop for RenewedLease {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

struct Renewals {
    store: Arc<dyn SessionStore>,
    client: Digest,
    lease: Lease,
    turn: Option<Weak<RunningTurn>>,
    valid_until: Arc<Mutex<Instant>>,
}

impl Renewals {
    async fn run(self, ended: CancellationToken) {
        let mut wait = RENEWAL;
        loop {
            tokio::select! {
                () = ended.cancelled() => break,
                () = tokio::time::sleep(wait) => {}
            }
            let turn = self.turn.as_ref().map(Weak::upgrade);
            let has_client = turn.is_none_or(|turn| turn.is_some_and(|turn| !turn.is_left()));
            let sent = Instant::now();
            let renewed = self.store.renew(self.client, self.lease, has_client);
            match tokio::time::timeout(RENEWAL_TIMEOUT, renewed).await {
                Ok(Ok(true)) => {
                    self.set_valid_until(sent + LEASE_TIME);
                    wait = RENEWAL;
                }
                Ok(Ok(false)) => {
                    tracing::warn!(
                        "another gateway has continued a turn, since its lease was not renewed in time"
                    );
                    self.set_valid_until(sent);
                    return;
                }
                Ok(Err(_)) | Err(_) => wait = Duration::from_secs(1),
            }
        }
        self.release().await;
    }

    /// Ends the lease at once, and again after the client has received the answer: a retry on another gateway then is a new sample.
    async fn release(&self) {
        let is_seen = |turn: &Arc<RunningTurn>| turn.is_received();
        let turn = self.turn.as_ref().and_then(Weak::upgrade);
        let mut seen = turn.as_ref().is_some_and(is_seen);
        let _ = self.store.release(self.client, self.lease, seen).await;
        if let Some(turn) = turn {
            while !seen && !turn.is_left() {
                tokio::time::sleep(SEEN_POLL).await;
                seen = is_seen(&turn);
            }
            if seen {
                let _ = self.store.release(self.client, self.lease, true).await;
            }
        }
    }

    fn set_valid_until(&self, until: Instant) {
        *self.valid_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}
