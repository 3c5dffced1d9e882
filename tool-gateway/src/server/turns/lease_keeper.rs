//! [`LeaseKeeper`]: renews the lease of a running turn, and ends it with the turn. [`Leases`] has all leases of a gateway.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;
use tool_runtime::CancellationToken;

use super::running_turn::{RunEnd, RunningTurn};
use crate::session::chain::Digest;
use crate::session::lease::{LEASE_TIME, Lease};
use crate::session::store::SessionStore;

/// Time between two renewals.
const RENEWAL: Duration = Duration::from_secs(5);

/// Time after which a renewal is sent again.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Remaining time of a lease with which no step of a turn begins: another gateway may have the lease before the step is stored.
const MIN_LEFT: Duration = Duration::from_secs(5);

/// Time after the end of a lease in which its owner still renews it. Later, the sample of the lease may have been continued by another
/// gateway, answered, and removed from the store, which would then give the lease to its earlier owner again.
const MAX_LATE: Duration = Duration::from_secs(300);

/// Leases of a gateway's running turns.
#[derive(Debug)]
pub(crate) struct Leases {
    /// Number of leases that are not released yet.
    held: watch::Sender<usize>,
    /// Cancelled when the gateway releases the leases of turns that run.
    closing: CancellationToken,
}

impl Leases {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            held: watch::Sender::new(0),
            closing: CancellationToken::new(),
        })
    }

    /// Waits until the leases of all ended turns are released.
    pub(crate) async fn until_released(&self) {
        // The sender exists as long as `self`.
        let _ = self.held.subscribe().wait_for(|held| *held == 0).await;
    }

    /// Releases the leases of all turns, so that another gateway continues the turns at once. No further step of the turns begins here.
    pub(crate) async fn release(&self) {
        self.closing.cancel();
        self.until_released().await;
    }

    /// Records in the store that a client receives the answer of a complete turn: the next equal request is another sample, except for a
    /// retry.
    pub(crate) fn record_delivery(
        self: &Arc<Self>,
        store: &Arc<dyn SessionStore>,
        client: Digest,
        lease: Lease,
        turn: Arc<RunningTurn>,
    ) {
        let (store, held) = (Arc::clone(store), self.hold());
        tokio::spawn(async move {
            if held.until_received(&turn).await {
                let _ = store.release(client, lease, true).await;
            }
        });
    }

    /// Counts a lease until its release.
    fn hold(self: &Arc<Self>) -> HeldLease {
        self.held.send_modify(|held| *held += 1);
        HeldLease(Arc::clone(self))
    }
}

/// A lease that is not released yet.
struct HeldLease(Arc<Leases>);

impl HeldLease {
    /// Waits until a client has received the answer, no client waits for it, or the gateway is stopped. Returns whether a client has
    /// received the answer.
    async fn until_received(&self, turn: &RunningTurn) -> bool {
        tokio::select! {
            () = self.0.closing.cancelled() => turn.is_received(),
            received = turn.until_received() => received,
        }
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.0.held.send_modify(|held| *held = held.saturating_sub(1));
    }
}

/// A lease that is renewed until the keeper is dropped, which releases the lease. In a store that one gateway uses at a time, there is
/// nothing to renew.
pub(crate) struct LeaseKeeper(Option<RenewedLease>);

struct RenewedLease {
    store: Arc<dyn SessionStore>,
    client: Digest,
    lease: Lease,
    /// End of the lease, counted from before the renewal was sent.
    valid_until: Arc<Mutex<Instant>>,
    /// Whether another gateway may have the lease.
    is_lost: Arc<AtomicBool>,
    ended: CancellationToken,
}

impl LeaseKeeper {
    /// Renews the lease of a turn. `claimed` is the time before the claim was sent. `turn` tells other gateways whether a client waits for the answer; a lease without a turn has a client.
    pub(crate) fn start(
        leases: &Arc<Leases>,
        store: &Arc<dyn SessionStore>,
        client: Digest,
        lease: Lease,
        claimed: Instant,
        turn: Option<Weak<RunningTurn>>,
    ) -> Self {
        if lease.fence == 0 {
            return Self(None);
        }
        let renewed = RenewedLease {
            store: Arc::clone(store),
            client,
            lease,
            valid_until: Arc::new(Mutex::new(claimed + LEASE_TIME)),
            is_lost: Arc::default(),
            ended: CancellationToken::new(),
        };
        let renewals = Renewals {
            store: Arc::clone(store),
            client,
            lease,
            turn,
            valid_until: Arc::clone(&renewed.valid_until),
            is_lost: Arc::clone(&renewed.is_lost),
            held: leases.hold(),
        };
        tokio::spawn(renewals.run(renewed.ended.clone()));
        Self(Some(renewed))
    }

    /// Ends the lease of a failed turn, before its client can repeat the request on another gateway.
    pub(crate) async fn release(&self) {
        if let Some(RenewedLease {
            store,
            client,
            lease,
            ended,
            ..
        }) = &self.0
        {
            ended.cancel();
            // A lease that is not released ends later.
            let _ = tokio::time::timeout(RENEWAL_TIMEOUT, store.release(*client, *lease, false)).await;
        }
    }

    /// Returns whether the lease is valid for long enough that a step of the turn may begin.
    pub(crate) fn is_valid(&self) -> bool {
        self.0.as_ref().is_none_or(|lease| {
            let until = *lease.valid_until.lock().unwrap_or_else(PoisonError::into_inner);
            until.saturating_duration_since(Instant::now()) >= MIN_LEFT
        })
    }

    /// Returns whether another gateway may have the lease. Otherwise, a lease that is not valid was not renewed in time, since the store did
    /// not answer.
    pub(crate) fn is_lost(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|lease| lease.is_lost.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for LeaseKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lease = self.0.as_ref().map(|renewed| renewed.lease);
        f.debug_tuple("LeaseKeeper").field(&lease).finish()
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
    is_lost: Arc<AtomicBool>,
    held: HeldLease,
}

impl Renewals {
    async fn run(self, ended: CancellationToken) {
        let turn = self.turn.as_ref().and_then(Weak::upgrade);
        let mut abandoned = turn.map(|turn| turn.abandoned.clone());
        let closing = &self.held.0.closing;
        let mut wait = RENEWAL;
        // The monotonic clock stops while the machine is suspended.
        let (mut last, mut last_by_wall) = (Instant::now(), SystemTime::now());
        loop {
            let is_abandoned = async {
                match &abandoned {
                    Some(abandoned) => abandoned.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            let is_abandoned = tokio::select! {
                () = ended.cancelled() => break,
                () = closing.cancelled() => {
                    self.lose();
                    break;
                }
                // An equal request on another gateway joins the turn from now on.
                () = is_abandoned => true,
                () = tokio::time::sleep(wait) => false,
            };
            if is_abandoned {
                abandoned = None;
            }
            let turn = self.turn.as_ref().map(Weak::upgrade);
            let has_client = turn.is_none_or(|turn| turn.is_some_and(|turn| !turn.is_left()));
            let (sent, sent_by_wall) = (Instant::now(), SystemTime::now());
            let by_wall = sent_by_wall.duration_since(last_by_wall).unwrap_or_default();
            let is_late = by_wall.max(sent - last) > LEASE_TIME + MAX_LATE;
            let renewed = self.store.renew(self.client, self.lease, has_client);
            let renewed = if is_late {
                Ok(Ok(false))
            } else {
                tokio::time::timeout(RENEWAL_TIMEOUT, renewed).await
            };
            match renewed {
                Ok(Ok(true)) => {
                    (last, last_by_wall) = (sent, sent_by_wall);
                    self.set_valid_until(sent + LEASE_TIME);
                    wait = RENEWAL;
                }
                Ok(Ok(false)) if ended.is_cancelled() => {}
                Ok(Ok(false)) => {
                    tracing::warn!(
                        "another gateway has continued a turn, since its lease was not renewed in time"
                    );
                    self.lose();
                    return;
                }
                Ok(Err(_)) | Err(_) => wait = Duration::from_secs(1),
            }
        }
        self.release().await;
    }

    /// Ends the lease at once, unless the last segment of a complete turn has ended it, and again after the client has received the answer:
    /// a retry on another gateway then is a new sample.
    async fn release(&self) {
        let turn = self.turn.as_ref().and_then(Weak::upgrade);
        let is_complete = turn
            .as_ref()
            .is_some_and(|turn| matches!(turn.ended(), Some(RunEnd::Done)));
        if !is_complete {
            let _ = self.store.release(self.client, self.lease, false).await;
        }
        if let Some(turn) = turn
            && self.held.until_received(&turn).await
        {
            let _ = self.store.release(self.client, self.lease, true).await;
        }
    }

    /// States that another gateway may have the lease.
    fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
        self.set_valid_until(Instant::now());
    }

    fn set_valid_until(&self, until: Instant) {
        *self.valid_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::chain::ChainKey;
    use crate::session::memory::MemoryStore;
    use crate::session::store::{LeaseOutcome, LeaseRequest};

    /// Claims a request of a client.
    async fn claim(store: &Arc<dyn SessionStore>, client: Digest) -> Lease {
        let request = LeaseRequest {
            request: client,
            instance: 1,
            running: &[],
            is_retry: false,
            idempotency_key: None,
        };
        match store.claim(client, &request).await.unwrap() {
            LeaseOutcome::Taken { lease, .. } => lease,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lease_is_valid_from_before_its_claim() {
        let (leases, client) = (Leases::new(), ChainKey::new([1; 32]).digest(&[]));
        let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
        let claimed = Instant::now();
        let lease = claim(&store, client).await;
        // The answer of the store is late.
        tokio::time::advance(LEASE_TIME.saturating_sub(MIN_LEFT)).await;
        let keeper = LeaseKeeper::start(&leases, &store, client, lease, claimed, None);
        assert!(keeper.is_valid());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!keeper.is_valid());
        tokio::time::sleep(2 * RENEWAL).await;
        assert!(keeper.is_valid());
    }
}
