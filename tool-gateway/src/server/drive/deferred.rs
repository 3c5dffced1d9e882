//! Runs deferred calls, when the client has answered its own.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use super::calls::{self, Round};
use super::save::{self, save};
use crate::server::offload;
use crate::server::turns::job::Job;
use crate::server::turns::running::{Running, abandoned};
use crate::server::turns::session_state::State;
use crate::server::turns::shared::Shared;
use crate::session::record::{Call, Turn};
use crate::turn::event::Event;
use crate::wire::block::Block;
use crate::wire::error::ApiError;

/// Runs the deferred calls of the turn that is resumed, and stores their results with it, so that other branches do not run them
/// again, be they at work at the same time. Returns the results, and the state of the session after them.
pub(crate) async fn run(
    shared: &Shared,
    job: &Job,
    deferred: &[Call],
    deadline: Option<Instant>,
    running: &Running,
) -> Result<(HashMap<String, Block>, State), ApiError> {
    let state = job.recognized.state.clone();
    let Some(known) = job.recognized.last_known_turn().filter(|_| !deferred.is_empty()) else {
        return Ok((HashMap::new(), state));
    };
    let _alone = shared.resuming.lock(known.id.clone()).await;
    let unstored = shared.unstored.get(&known.id);
    let is_unstored = unstored.is_some();
    let stored = stored(shared, known).await?;
    let mut turn = unstored.unwrap_or_else(|| Turn::clone(&stored));
    // Another branch ran some of them; the session goes on from there.
    let state = if turn.state == known.state {
        state
    } else {
        turn.state.clone()
    };
    let (open, interrupted) = open_calls(shared, &turn, deferred);
    for call in &mut turn.calls {
        call.is_begun |= open.iter().any(|open| open.id == call.id);
    }
    if shared.store.is_durable() && !open.is_empty() {
        save(shared, &job.client, turn.clone(), None).await?;
    }
    let mut ended = run_open(shared, job, open, state, deadline, running).await;
    ended.results.extend(interrupted);
    ended.record_in(&mut turn);
    // Also that one was begun whose state cannot be stored: it is not repeated.
    if is_unstored || ended.failure.is_some() || !ended.results.is_empty() || !ended.stopped.is_empty() {
        save_or_keep(shared, job, &turn).await?;
    }
    if let Some(failure) = ended.failure {
        return Err(failure);
    }
    let mut results = ended.results;
    for call in deferred {
        let result = turn
            .calls
            .iter()
            .find(|stored| stored.id == call.id)
            .and_then(|stored| stored.result.clone());
        // It was stopped, since nobody waits for it.
        let result = result.ok_or_else(abandoned)?;
        results.insert(call.id.clone(), result);
    }
    Ok((results, ended.state))
}

/// A turn as it is stored now: an equal request may have begun its calls, or not, since this one was recognised.
async fn stored(shared: &Shared, known: &Arc<Turn>) -> Result<Arc<Turn>, ApiError> {
    let found = shared.store.turns(&[known.point], Some(&known.session)).await;
    let found = match found {
        Err(error) if shared.store.is_durable() => return Err(save::unread(&error)),
        found => found.unwrap_or_default(),
    };
    let stored = found.into_iter().flatten().find(|turn| turn.id == known.id);
    Ok(stored.unwrap_or_else(|| Arc::clone(known)))
}

/// The deferred calls of a turn that are to run, and the results of those that a process before this one has begun and that are not
/// repeated.
fn open_calls(shared: &Shared, turn: &Turn, deferred: &[Call]) -> (Vec<Call>, HashMap<String, Block>) {
    let is_open =
        |call: &&Call| call.result.is_none() && deferred.iter().any(|deferred| deferred.id == call.id);
    let is_repeatable =
        |call: &Call| calls::is_repeatable(&shared.registry, shared.ownership.own_name(&call.name));
    let open = turn.calls.iter().filter(is_open).cloned();
    let (interrupted, open): (Vec<_>, Vec<_>) = open.partition(|call| call.is_begun && !is_repeatable(call));
    let interrupted = interrupted.iter();
    let interrupted = interrupted.map(|call| (call.id.clone(), calls::interrupted(call)));
    (open, interrupted.collect())
}

/// What deferred calls have done.
struct Ended {
    /// The results, by the ids of their calls.
    results: HashMap<String, Block>,
    /// The state of the session after them.
    state: State,
    /// The ids of the calls that were stopped.
    stopped: BTreeSet<String>,
    /// Why the turn fails.
    failure: Option<ApiError>,
}

impl Ended {
    fn record_in(&self, turn: &mut Turn) {
        for call in &mut turn.calls {
            if call.result.is_none() {
                call.result = self.results.get(&call.id).cloned();
            }
            call.is_begun &= !self.stopped.contains(&call.id);
        }
        if !self.results.is_empty() {
            turn.state.clone_from(&self.state);
        }
    }
}

/// Runs calls. What the others have done is there also if one of them fails the turn.
async fn run_open(
    shared: &Shared,
    job: &Job,
    open: Vec<Call>,
    state: State,
    deadline: Option<Instant>,
    running: &Running,
) -> Ended {
    let mut ended = Ended {
        results: HashMap::new(),
        state,
        stopped: BTreeSet::new(),
        failure: None,
    };
    if open.is_empty() {
        return ended;
    }
    let round = Round {
        context: offload::context(shared, job),
        deadline,
        state: &ended.state,
        // The client has answered this message: it cannot take over a call of it.
        by_client: &BTreeSet::new(),
        abandoned: &running.abandoned,
    };
    let open: Vec<_> = open.into_iter().enumerate().collect();
    let mut calls = calls::start(shared, round, open.clone());
    let id = |call: usize| open.get(call).map(|(_, call)| call.id.clone());
    while let Some(done) = calls.next(running).await {
        let done = match done {
            Ok(done) => done,
            Err(error) => {
                ended.failure = Some(error);
                continue;
            }
        };
        if let Some(changed) = done.state {
            ended.state.extend(changed);
        }
        match done.event {
            Event::Result { call, result } => ended.results.extend(id(call).map(|id| (id, result))),
            Event::Stopped { call } => ended.stopped.extend(id(call)),
            _ => {}
        }
    }
    ended
}

/// Stores a turn with the results of its calls. Where that fails, they are kept in memory, so that no call runs again.
async fn save_or_keep(shared: &Shared, job: &Job, turn: &Turn) -> Result<(), ApiError> {
    let saved = save(shared, &job.client, turn.clone(), None).await;
    match saved {
        Ok(()) => shared.unstored.remove(&turn.id),
        Err(_) => shared.unstored.keep(turn.clone()),
    }
    if shared.store.is_durable() {
        return saved;
    }
    Ok(())
}
