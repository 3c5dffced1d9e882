//! [`RequestTurns`]: finds the turns of a request in the store, or claims a new one.

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
use crate::session::store::{LeaseOutcome, LeaseRequest, Reach};
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
}

impl<'a> RequestTurns<'a> {
    pub(super) fn new(shared: &'a Shared, client: &'a Client, request: &'a IncomingRequest) -> Self {
        Self {
            shared,
            client,
            request,
            until: Instant::now() + shared.settings.sessions.join_time,
        }
    }

    /// Returns a sample in a store that only this gateway uses. An incomplete turn of an earlier process continues; the answer of a complete
    /// turn is for retries.
    async fn own(&self, running: &[u64]) -> Result<ClaimedTurn, ApiError> {
        let mut free = (0..).filter(|sample| !running.contains(sample));
        let first = free.next().unwrap_or_default();
        let mut complete = None;
        for sample in std::iter::once(first).chain(free).take(MAX_STORED) {
            let lease = self.request.local_lease(sample);
            match self.stored(lease.log()).await? {
                None => break,
                Some(stored) => {
                    let is_complete = stored.is_complete();
                    let claimed = ClaimedTurn {
                        lease,
                        checkpoint: Some(stored),
                    };
                    if !is_complete {
                        return Ok(claimed);
                    }
                    if self.request.is_retry && complete.is_none() {
                        complete = Some(claimed);
                    }
                }
            }
        }
        Ok(complete.unwrap_or(ClaimedTurn {
            lease: self.request.local_lease(first),
            checkpoint: None,
        }))
    }

    /// Reads the checkpoint of a turn in the process before this one.
    async fn stored(&self, log: Digest) -> Result<Option<Checkpoint>, ApiError> {
        let store = &self.shared.store;
        if !store.reach().is_durable() {
            return Ok(None);
        }
        let segments = store.progress(self.client.digest, log).await;
        let checkpoint = segments.and_then(|segments| progress_log::read(&segments));
        checkpoint.map_err(|error| save::unread(&error))
    }
}

impl StoredTurns for RequestTurns<'_> {
    fn is_shared(&self) -> bool {
        self.shared.store.reach() == Reach::Shared
    }

    async fn claim(&self, running: &[u64]) -> Result<Option<ClaimedTurn>, ApiError> {
        if !self.is_shared() {
            return self.own(running).await.map(Some);
        }
        let request = LeaseRequest {
            request: self.request.identity,
            instance: self.shared.instance,
            running,
            is_retry: self.request.is_retry,
            idempotency_key: self.request.idempotency_key,
        };
        let claimed = self.shared.store.claim(self.client.digest, &request).await;
        let (lease, log) = match claimed.map_err(|error| save::unread(&error))? {
            LeaseOutcome::Taken { lease, log } => (lease, log),
            LeaseOutcome::Done { sample, log } => (self.request.local_lease(sample), log),
            LeaseOutcome::Held { .. } if Instant::now() < self.until => return Ok(None),
            LeaseOutcome::Held { .. } => {
                let message =
                    "another gateway runs this request, and has not answered yet; retry the request";
                return Err(ApiError::new(StatusCode::CONFLICT, message).with_retry_after(2));
            }
        };
        let checkpoint = progress_log::read(&log).map_err(|error| save::unread(&error))?;
        Ok(Some(ClaimedTurn { lease, checkpoint }))
    }
}
