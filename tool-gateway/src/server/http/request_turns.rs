//! [`RequestTurns`]: finds the turns of a request in the store, or claims a new one.

use std::sync::{Mutex, PoisonError};

use axum::http::StatusCode;
use tokio::time::Instant;

use crate::server::drive::save;
use crate::server::turns::checkpoint::Checkpoint;
use crate::server::turns::kept_turns::IncomingRequest;
use crate::server::turns::progress_log;
use crate::server::turns::shared::Shared;
use crate::server::turns::stored_turns::{ClaimedTurn, StoredTurns};
use crate::session::chain::Digest;
use crate::session::client::Client;
use crate::session::store::{Lease, LeaseOutcome, LeaseRequest, Reach, StoreError};
use crate::wire::error::ApiError;

/// Maximum number of equal requests whose checkpoints are read for one request.
const MAX_STORED: usize = 16;

/// The store's turns of a request.
pub(super) struct RequestTurns<'a> {
    shared: &'a Shared,
    client: &'a Client,
    request: &'a IncomingRequest,
    /// Time until which the request waits.
    until: Instant,
    /// Time before the last claim was sent.
    claimed: Mutex<Instant>,
}

impl<'a> RequestTurns<'a> {
    pub(super) fn new(shared: &'a Shared, client: &'a Client, request: &'a IncomingRequest) -> Self {
        Self {
            shared,
            client,
            request,
            until: Instant::now() + shared.settings.sessions.join_time,
            claimed: Mutex::new(Instant::now()),
        }
    }

    /// Returns the time before the claim of the lease was sent, from which the lease is valid.
    pub(super) fn claimed(&self) -> Instant {
        *self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a sample in a store that only this gateway uses. An incomplete turn of an earlier process continues; the answer of a complete
    /// turn is for retries.
    async fn own(&self, running: &[u64]) -> Result<ClaimedTurn, ApiError> {
        let mut free = (0..).filter(|sample| !running.contains(sample));
        let (mut first, mut complete) = (None, None);
        for sample in free.by_ref().take(MAX_STORED) {
            let lease = self.request.local_lease(sample);
            let Ok(checkpoint) = self.stored(lease.log()).await? else {
                continue;
            };
            first.get_or_insert(lease);
            let Some(stored) = checkpoint else {
                break;
            };
            let is_complete = stored.is_complete();
            let claimed = ClaimedTurn {
                lease,
                checkpoint: Some(stored),
                stored_fence: 0,
            };
            if !is_complete {
                return Ok(claimed);
            }
            if self.request.is_retry && complete.is_none() {
                complete = Some(claimed);
            }
        }
        Ok(complete.unwrap_or_else(|| ClaimedTurn {
            lease: first.unwrap_or_else(|| self.request.local_lease(free.next().unwrap_or_default())),
            checkpoint: None,
            stored_fence: 0,
        }))
    }

    /// Reads the checkpoint of a turn in the process before this one.
    async fn stored(&self, log: Digest) -> Result<Result<Option<Checkpoint>, Unreadable>, ApiError> {
        let store = &self.shared.store;
        if !store.reach().is_durable() {
            return Ok(Ok(None));
        }
        let segments = store.progress(self.client.digest, log).await;
        Ok(self.read(&segments.map_err(|error| save::unread(&error))?))
    }

    /// Reads the checkpoint of a log. The log of another version is kept for a gateway of that version.
    fn read(&self, log: &[Vec<u8>]) -> Result<Option<Checkpoint>, Unreadable> {
        progress_log::read(log).map_err(|error| {
            self.shared.metrics.unreadable_logs.inc();
            tracing::warn!(%error, "the progress of a request is not readable, so the request does not continue from there");
            Unreadable
        })
    }
}

/// A log that is damaged, or has an unknown version.
struct Unreadable;

impl StoredTurns for RequestTurns<'_> {
    fn is_shared(&self) -> bool {
        self.shared.store.reach() == Reach::Shared
    }

    async fn claim(&self, running: &[u64], failed: Option<Lease>) -> Result<Option<ClaimedTurn>, ApiError> {
        if !self.is_shared() {
            return self.own(running).await.map(Some);
        }
        let (store, client) = (&self.shared.store, self.client.digest);
        if let Some(lease) = failed {
            // A store that has lost the sample knows it again. Otherwise, the request would begin another sample, and repeat calls whose
            // results this gateway has.
            let renewed = store.renew(client, lease, false).await;
            if renewed.map_err(|error| save::unread(&error))? {
                let _ = store.release(client, lease, false).await;
            }
        }
        let mut skipped = running.to_vec();
        for _ in 0..MAX_STORED {
            let request = LeaseRequest {
                request: self.request.identity,
                instance: self.shared.instance,
                running: &skipped,
                is_retry: self.request.is_retry,
                idempotency_key: self.request.idempotency_key,
            };
            *self.claimed.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            let claimed = store.claim(client, &request).await;
            let lease = match claimed.map_err(|error| save::unread(&error))? {
                LeaseOutcome::Taken {
                    lease,
                    log,
                    log_fence,
                } => match self.read(&log) {
                    Ok(checkpoint) => {
                        return Ok(Some(ClaimedTurn {
                            lease,
                            checkpoint,
                            stored_fence: log_fence,
                        }));
                    }
                    Err(Unreadable) => lease,
                },
                LeaseOutcome::Done { lease, log } => {
                    // Without its last segments, the log has no answer.
                    if let Ok(Some(checkpoint)) = self.read(&log)
                        && checkpoint.is_complete()
                    {
                        return Ok(Some(ClaimedTurn {
                            lease,
                            checkpoint: Some(checkpoint),
                            stored_fence: lease.fence,
                        }));
                    }
                    lease
                }
                LeaseOutcome::Unreadable { lease } => lease,
                LeaseOutcome::Held { .. } if Instant::now() < self.until => return Ok(None),
                LeaseOutcome::Held { .. } => {
                    let message =
                        "another gateway runs this request, and has not answered yet; retry the request";
                    return Err(ApiError::new(StatusCode::CONFLICT, message).with_retry_after(2));
                }
            };
            // A gateway that can read the log continues from there.
            let _ = store.release(client, lease, false).await;
            skipped.push(lease.sample);
        }
        Err(save::unread(&StoreError(format!(
            "the progress of {MAX_STORED} equal requests is not readable"
        ))))
    }
}
