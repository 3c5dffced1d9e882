//! [`Suspended`]: the turn that a request resumes, with its deferred calls.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::Instant;
use tool_runtime::ToolRegistry;

use super::calls;
use super::save::{self, save, save_before_effects};
use crate::server::turns::claims::Claim;
use crate::server::turns::job::Job;
use crate::server::turns::lease_keeper::LeaseKeeper;
use crate::server::turns::running_turn::{RunningTurn, abandoned};
use crate::server::turns::session_state::StateMap;
use crate::server::turns::shared::Shared;
use crate::session::finder::Finder;
use crate::session::record::{Call, Turn};
use crate::session::store::{LeaseOutcome, LeaseRequest, Reach, StoredTurn};
use crate::session::turn_record::TurnRecord;
use crate::turn::event::Event;
use crate::turn::restore;
use crate::wire::block::Block;
use crate::wire::error::ApiError;

/// A suspended turn whose client has answered the external calls. The request has a [`Claim`] on this turn, so that no concurrent request
/// runs a deferred call again.
#[derive(Debug)]
pub(super) struct Suspended<'a> {
    claim: Claim<'a>,
    /// Lease of the deferred calls, in a store that several gateways use.
    lease: Option<LeaseKeeper>,
    turn: Turn,
    /// Revision of the stored turn; 0 if the turn is not in the store.
    revision: u64,
    /// The ids of the deferred calls.
    deferred: BTreeSet<String>,
    /// The state of the session before the deferred calls.
    pub(super) state: StateMap,
    /// Whether this turn differs from the stored turn.
    is_changed: bool,
    has_results: bool,
}

impl<'a> Suspended<'a> {
    /// Claims the turn that a request resumes. Returns `None` if the turn has no deferred calls, or if all their results were stored when
    /// the request was recognized.
    pub(super) async fn claim(
        shared: &'a Shared,
        job: &Job,
        running: &RunningTurn,
    ) -> Result<Option<Self>, ApiError> {
        let deferred = restore::deferred(&job.recognized);
        let Some(known) = job.recognized.last_known_turn().filter(|_| !deferred.is_empty()) else {
            return Ok(None);
        };
        let claimed = async {
            let claim = shared.claims.claim(&known.id).await;
            let lease = deferred_lease(shared, job, &known.id).await?;
            Ok::<_, ApiError>((claim, lease))
        };
        // No call runs yet, so a request whose client has disconnected ends at once.
        let (claim, lease) = tokio::select! {
            claimed = claimed => claimed?,
            () = running.abandoned.cancelled() => return Err(abandoned()),
        };
        let unstored = claim.unstored();
        let is_changed = unstored.is_some();
        let stored = stored(shared, job, known).await?;
        let revision = stored.as_ref().map_or(0, |stored| stored.revision);
        let stored = stored.map(|stored| stored.record.into_turn());
        let turn = unstored.unwrap_or_else(|| Turn::clone(stored.as_ref().unwrap_or(known)));
        // Another branch may have run some of the calls; then the session has the state after them.
        let state = if turn.state == known.state {
            job.recognized.state.clone()
        } else {
            turn.state.clone()
        };
        let mut suspended = Self {
            claim,
            lease,
            turn,
            revision,
            deferred: deferred.into_iter().map(|call| call.id).collect(),
            state,
            is_changed,
            has_results: false,
        };
        suspended.answer_interrupted(shared, &job.generation.registry);
        Ok(Some(suspended))
    }

    /// Answers the calls that an earlier process has begun and that must not be repeated.
    fn answer_interrupted(&mut self, shared: &Shared, registry: &ToolRegistry) {
        for call in &mut self.turn.calls {
            let is_open = call.result.is_none() && self.deferred.contains(&call.id);
            if is_open
                && call.is_begun
                && !calls::is_repeatable(
                    registry,
                    shared.settings.tools.ownership.internal_name(&call.name),
                )
            {
                call.result = Some(calls::interrupted(call));
                self.is_changed = true;
                self.has_results = true;
            }
        }
    }

    /// Returns whether the lease of the deferred calls is valid for long enough that one may begin.
    pub(super) fn has_lease(&self) -> bool {
        self.lease.as_ref().is_none_or(LeaseKeeper::is_valid)
    }

    /// Returns whether another gateway may have the lease of the deferred calls.
    pub(super) fn has_lost_lease(&self) -> bool {
        self.lease.as_ref().is_some_and(LeaseKeeper::is_lost)
    }

    /// Returns all calls of the turn. Deferred calls that have not run have no result.
    pub(super) fn calls(&self) -> &[Call] {
        &self.turn.calls
    }

    /// Stores that these calls begin. After a crash, their effects are then reported as unknown.
    pub(super) async fn begin(
        &mut self,
        shared: &Shared,
        job: &Job,
        calls: &[(usize, Call)],
    ) -> Result<(), ApiError> {
        let mut has_effects = false;
        for (index, call) in calls {
            let name = shared.settings.tools.ownership.internal_name(&call.name);
            has_effects |= !calls::is_repeatable(&job.generation.registry, name);
            if let Some(call) = self.turn.calls.get_mut(*index) {
                call.is_begun = true;
            }
        }
        self.is_changed = true;
        if shared.store.reach().is_durable() {
            let record = TurnRecord::new(self.turn.clone());
            self.revision = if has_effects {
                save_before_effects(shared, &job.client, record, self.revision).await?
            } else {
                save(shared, &job.client, record, self.revision, None).await?
            };
        }
        Ok(())
    }

    /// Records the end of a deferred call.
    pub(super) fn record(&mut self, event: &Event) {
        match event {
            Event::Result { call, result } => {
                if let Some(call) = self.turn.calls.get_mut(*call) {
                    call.result = Some(result.clone());
                    self.has_results = true;
                }
            }
            Event::Stopped { call } => {
                if let Some(call) = self.turn.calls.get_mut(*call) {
                    call.is_begun = false;
                }
            }
            _ => {}
        }
    }

    /// Stores the turn with the results of its calls, and the session's state after the calls. On failure, keeps the results in memory.
    pub(super) async fn store(
        &mut self,
        shared: &Shared,
        job: &Job,
        state: &StateMap,
    ) -> Result<(), ApiError> {
        if !self.is_changed {
            return Ok(());
        }
        if self.has_results {
            self.turn.state.clone_from(state);
        }
        let record = TurnRecord::new(self.turn.clone());
        let saved = save(shared, &job.client, record, self.revision, None).await;
        let saved = saved.map_err(ApiError::from);
        match saved {
            Ok(revision) => {
                self.revision = revision;
                self.claim.forget();
            }
            // The results of the other request are stored, and these must not replace them.
            Err(ref error) if error.status == StatusCode::CONFLICT => self.claim.forget(),
            Err(_) => self.claim.keep(&job.client.principal, self.turn.clone()),
        }
        if shared.store.reach().is_durable() {
            return saved.map(drop);
        }
        Ok(())
    }

    /// Returns the results of the deferred calls by the ids of the calls.
    pub(super) fn into_results(self) -> HashMap<String, Block> {
        let deferred = self
            .turn
            .calls
            .into_iter()
            .filter(|call| self.deferred.contains(&call.id));
        deferred
            .filter_map(|call| Some((call.id, call.result?)))
            .collect()
    }
}

/// Time between two looks for the end of deferred calls that another gateway runs.
const POLL: Duration = Duration::from_millis(200);

/// Claims the deferred calls of a turn among the gateways of the store. Returns `None` in a store that only this gateway uses.
async fn deferred_lease(shared: &Shared, job: &Job, turn: &str) -> Result<Option<LeaseKeeper>, ApiError> {
    if shared.store.reach() != Reach::Shared {
        return Ok(None);
    }
    let request = LeaseRequest {
        request: shared.secret.digest(&[b"deferred", turn.as_bytes()]),
        instance: shared.instance,
        running: &[],
        is_retry: true,
        idempotency_key: None,
    };
    let until = Instant::now() + shared.settings.sessions.join_time;
    loop {
        let asked = Instant::now();
        let claimed = shared.store.claim(job.client.digest, &request).await;
        match claimed.map_err(|error| save::unread(&error))? {
            LeaseOutcome::Taken { lease, .. } => {
                let keeper = shared.keep_lease(job.client.digest, lease, asked, None);
                return Ok(Some(keeper));
            }
            LeaseOutcome::Held { .. } if Instant::now() < until => tokio::time::sleep(POLL).await,
            LeaseOutcome::Held { .. } | LeaseOutcome::Done { .. } | LeaseOutcome::Unreadable { .. } => {
                let message = "another gateway runs calls of this turn; retry the request";
                return Err(ApiError::new(StatusCode::CONFLICT, message).with_retry_after(2));
            }
        }
    }
}

/// Reads a turn again, since another request may have begun its calls after this request was recognized. Returns `None` if the turn was
/// removed, or if a store in memory fails.
async fn stored(shared: &Shared, job: &Job, known: &Arc<Turn>) -> Result<Option<StoredTurn>, ApiError> {
    let finder = Finder::new(&*shared.store, job.client.digest);
    match finder.turn(&known.id).await {
        Err(error) if shared.store.reach().is_durable() => Err(save::unread(&error)),
        found => Ok(found.unwrap_or_default()),
    }
}
