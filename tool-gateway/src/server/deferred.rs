//! Runs deferred calls, when the client has answered its own.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use tool_runtime::ToolRegistry;

use super::calls;
use super::job::Job;
use super::running::{Running, abandoned};
use super::save::save;
use super::session_tools;
use super::shared::Shared;
use crate::session::record::{Call, Owner, Turn};
use crate::turn::machine::Event;
use crate::wire::block::Block;
use crate::wire::error::ApiError;

/// Runs the deferred calls of the turn that is resumed, and stores their results with it, so that other branches do not run them
/// again, be they at work at the same time.
pub(super) async fn run(
    shared: &Shared,
    job: &Job,
    registry: &Arc<ToolRegistry>,
    deferred: &[Call],
    deadline: Option<Instant>,
    running: &Running,
) -> Result<HashMap<String, Block>, ApiError> {
    let mut results = HashMap::new();
    let Some(known) = job.recognized.last_known_turn().filter(|_| !deferred.is_empty()) else {
        return Ok(results);
    };
    let mut unstored = shared.resuming.lock(&known.id).await;
    let stored = shared.store.turns(&[known.point]).await.unwrap_or_default();
    let stored = stored.iter().flatten().find(|turn| turn.id == known.id);
    let mut turn = Turn::clone(stored.unwrap_or(known));
    if stored.is_some_and(|turn| {
        turn.calls
            .iter()
            .all(|call| call.result.is_some() || call.owner == Owner::Client)
    }) {
        // Another branch ran them; the session's tools go on from there.
        session_tools::restore(registry, turn.state.as_ref());
    }
    // Those that ran, and whose results could not be stored.
    for call in &mut turn.calls {
        if call.result.is_none() {
            call.result = unstored.get(&call.id).cloned();
        }
    }
    let is_open = |call: &&Call| {
        !turn
            .calls
            .iter()
            .any(|stored| stored.id == call.id && stored.result.is_some())
    };
    let mut open: Vec<_> = deferred.iter().filter(is_open).cloned().collect();
    // Those that a process before this one has begun are not repeated.
    let is_repeatable = |call: &Call| calls::is_repeatable(registry, shared.ownership.own_name(&call.name));
    let interrupted = open.extract_if(.., |call| call.is_begun && !is_repeatable(call));
    results.extend(interrupted.map(|call| (call.id.clone(), calls::interrupted(&call))));
    for call in &mut turn.calls {
        call.is_begun |= open.iter().any(|open| open.id == call.id);
    }
    if shared.store.is_durable() && !open.is_empty() {
        save(shared, &job.client, turn.clone(), None).await?;
    }
    let open: Vec<_> = open.into_iter().enumerate().collect();
    if !open.is_empty() {
        let mut done = calls::start(
            registry,
            &shared.ownership,
            &job.session,
            open.clone(),
            // The client has answered this message: it cannot take over a call of it.
            &BTreeSet::new(),
            deadline,
            &running.abandoned,
        );
        while let Some(event) = calls::next(&mut done, running).await {
            if let Event::Result { call, result } = event
                && let Some((_, call)) = open.get(call)
            {
                results.insert(call.id.clone(), result);
            }
        }
    }
    if !results.is_empty() {
        for call in &mut turn.calls {
            if call.result.is_none() {
                call.result = results.get(&call.id).cloned();
            }
        }
        turn.state = session_tools::state(registry);
        unstored.extend(results.iter().map(|(id, result)| (id.clone(), result.clone())));
    }
    if !unstored.is_empty() && save(shared, &job.client, turn.clone(), None).await.is_ok() {
        unstored.clear();
    }
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
    Ok(results)
}
