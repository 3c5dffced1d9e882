//! Runs deferred calls, when the client has answered its own.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use super::calls;
use super::job::Job;
use super::offload;
use super::running::{Running, abandoned};
use super::save::{self, save};
use super::session_state::State;
use super::shared::Shared;
use crate::session::record::{Call, Turn};
use crate::turn::event::Event;
use crate::wire::block::Block;
use crate::wire::error::ApiError;

/// Runs the deferred calls of the turn that is resumed, and stores their results with it, so that other branches do not run them
/// again, be they at work at the same time. Returns the results, and the state of the session after them.
pub(super) async fn run(
    shared: &Shared,
    job: &Job,
    deferred: &[Call],
    deadline: Option<Instant>,
    running: &Running,
) -> Result<(HashMap<String, Block>, State), ApiError> {
    let mut results = HashMap::new();
    let mut state = job.recognized.state.clone();
    let Some(known) = job.recognized.last_known_turn().filter(|_| !deferred.is_empty()) else {
        return Ok((results, state));
    };
    let _alone = shared.resuming.lock(known.id.clone()).await;
    let unstored = shared.unstored.get(&known.id);
    let found = shared.store.turns(&[known.point], Some(&known.session)).await;
    let found = match found {
        Err(error) if shared.store.is_durable() => return Err(save::unread(&error)),
        found => found.unwrap_or_default(),
    };
    let stored = found.iter().flatten().find(|turn| turn.id == known.id);
    let stored = unstored.as_ref().or(stored.map(AsRef::as_ref));
    let mut turn = Turn::clone(stored.unwrap_or(known));
    if turn.state != known.state {
        // Another branch ran some of them; the session goes on from there.
        state.clone_from(&turn.state);
    }
    // As they are stored now: an equal request may have begun them, or not, since this one was recognised.
    let is_open =
        |call: &&Call| call.result.is_none() && deferred.iter().any(|deferred| deferred.id == call.id);
    let mut open: Vec<_> = turn.calls.iter().filter(is_open).cloned().collect();
    // Those that a process before this one has begun are not repeated.
    let is_repeatable =
        |call: &Call| calls::is_repeatable(&shared.registry, shared.ownership.own_name(&call.name));
    let interrupted = open.extract_if(.., |call| call.is_begun && !is_repeatable(call));
    results.extend(interrupted.map(|call| (call.id.clone(), calls::interrupted(&call))));
    for call in &mut turn.calls {
        call.is_begun |= open.iter().any(|open| open.id == call.id);
    }
    if shared.store.is_durable() && !open.is_empty() {
        save(shared, &job.client, turn.clone(), None).await?;
    }
    let mut stopped = BTreeSet::new();
    let ended = (&mut results, &mut state, &mut stopped);
    let failure = run_open(shared, job, open, deadline, running, ended).await;
    for call in &mut turn.calls {
        if call.result.is_none() {
            call.result = results.get(&call.id).cloned();
        }
        call.is_begun &= !stopped.contains(&call.id);
    }
    if !results.is_empty() {
        turn.state.clone_from(&state);
    }
    // Also that one was begun whose state cannot be stored: it is not repeated.
    if unstored.is_some() || failure.is_err() || !results.is_empty() || !stopped.is_empty() {
        let saved = save(shared, &job.client, turn.clone(), None).await;
        match saved {
            Ok(()) => shared.unstored.remove(&turn.id),
            Err(_) => shared.unstored.keep(turn.clone()),
        }
        if shared.store.is_durable() {
            saved?;
        }
    }
    failure?;
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
    Ok((results, state))
}

/// Runs calls, and collects their results, the state after them, and which were stopped. Those of the others also if one of them fails
/// the turn.
async fn run_open(
    shared: &Shared,
    job: &Job,
    open: Vec<Call>,
    deadline: Option<Instant>,
    running: &Running,
    (results, state, stopped): (&mut HashMap<String, Block>, &mut State, &mut BTreeSet<String>),
) -> Result<(), ApiError> {
    if open.is_empty() {
        return Ok(());
    }
    let open: Vec<_> = open.into_iter().enumerate().collect();
    let mut calls = calls::start(
        shared,
        offload::context(shared, job),
        state,
        open.clone(),
        // The client has answered this message: it cannot take over a call of it.
        &BTreeSet::new(),
        deadline,
        &running.abandoned,
    );
    let mut failure = Ok(());
    while let Some(done) = calls.next(running).await {
        match done {
            Ok(done) => {
                if let Some(changed) = done.state {
                    *state = changed;
                }
                match done.event {
                    Event::Result { call, result } => {
                        results.extend(open.get(call).map(|(_, call)| (call.id.clone(), result)));
                    }
                    Event::Stopped { call } => {
                        stopped.extend(open.get(call).map(|(_, call)| call.id.clone()));
                    }
                    _ => {}
                }
            }
            Err(error) => failure = Err(error),
        }
    }
    failure
}
