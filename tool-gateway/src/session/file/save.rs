//! Stores turns, and the progress of requests, in the file.

use std::time::SystemTime;

use redb::WriteTransaction;
use serde_json::Map;

use super::counters::{add_bytes, add_turns, count_bytes, next_number};
use super::limits::{Saved, StoreLimits};
use super::lookup::load_session;
use super::remove::{remove_key, remove_progress, remove_turn};
use super::tables::{
    CALLS, EXPIRY, KEYS, POINTS, POINTS_OF_SESSION, PROGRESS, PROGRESS_EXPIRY, SESSIONS, SESSIONS_OF_CLIENT,
    StoredSession, StoredTurn, TURNS, TURNS_OF_SESSION,
};
use crate::session::chain::Digest;
use crate::session::database::Failed;
use crate::session::encoding::encode;
use crate::session::record::{Session, Turn};
use crate::session::store::{Progress, SavedTurn, push_key};

/// Stores a turn with the progress of its request.
pub(super) fn save_turn(
    transaction: &WriteTransaction,
    limits: &StoreLimits,
    saved: SavedTurn,
) -> Result<(), Failed> {
    let SavedTurn {
        turn,
        client,
        calls,
        keys,
        progress,
    } = saved;
    let bytes_before = count_bytes(transaction)?;
    let session = turn.session.clone();
    let client = insert_session(transaction, limits, &turn, client, &keys)?;
    insert_turn(transaction, client, turn, calls)?;
    if let Some(progress) = &progress {
        insert_progress(transaction, limits, progress)?;
    }
    limits.make_room_for_client(transaction, client, &session)?;
    let saved = Saved {
        session: Some(&session),
        request: progress.map(|progress| progress.request),
        bytes_before,
    };
    limits.make_room(transaction, &saved)
}

/// Stores the progress of a request whose turn is not complete.
pub(super) fn save_progress(
    transaction: &WriteTransaction,
    limits: &StoreLimits,
    progress: &Progress,
) -> Result<(), Failed> {
    let bytes_before = count_bytes(transaction)?;
    insert_progress(transaction, limits, progress)?;
    let saved = Saved {
        session: None,
        request: Some(progress.request),
        bytes_before,
    };
    limits.make_room(transaction, &saved)
}

/// Creates or updates the session of a turn. Returns the session's client.
fn insert_session(
    transaction: &WriteTransaction,
    limits: &StoreLimits,
    turn: &Turn,
    client: Digest,
    keys: &[Digest],
) -> Result<Digest, Failed> {
    let now = SystemTime::now();
    let mut stored = load_session(transaction, &turn.session)?.unwrap_or_else(|| StoredSession {
        session: Session {
            id: turn.session.clone(),
            created_at: now,
            last_active: now,
            state: Map::new(),
        },
        client,
        keys: Vec::new(),
        expires_at: 0,
    });
    let (name, client) = (turn.session.0.as_str(), stored.client);
    let mut expiry = transaction.open_table(EXPIRY)?;
    let mut of_client = transaction.open_table(SESSIONS_OF_CLIENT)?;
    expiry.remove((stored.expires_at, name))?;
    of_client.remove((client.as_bytes(), stored.expires_at, name))?;
    stored.expires_at = limits.expiry(turn.is_suspended());
    expiry.insert((stored.expires_at, name), ())?;
    of_client.insert((client.as_bytes(), stored.expires_at, name), ())?;

    stored.session.last_active = now;
    stored.session.state.clone_from(&turn.state);
    let mut all_keys = transaction.open_table(KEYS)?;
    for key in keys {
        all_keys.insert(key.as_bytes(), name)?;
        if let Some(oldest) = push_key(&mut stored.keys, *key) {
            remove_key(&mut all_keys, oldest, name)?;
        }
    }
    transaction
        .open_table(SESSIONS)?
        .insert(name, encode(&stored)?.as_slice())?;
    Ok(client)
}

fn insert_progress(
    transaction: &WriteTransaction,
    limits: &StoreLimits,
    progress: &Progress,
) -> Result<(), Failed> {
    let expires_at = limits.expiry(false);
    let request = progress.request.as_bytes();
    remove_progress(transaction, request)?;
    transaction
        .open_table(PROGRESS)?
        .insert(request, (expires_at, progress.record.as_slice()))?;
    transaction
        .open_table(PROGRESS_EXPIRY)?
        .insert((expires_at, request), ())?;
    add_bytes(transaction, progress.record.len(), 0)
}

/// Stores a turn, in place of an earlier version with its id.
fn insert_turn(
    transaction: &WriteTransaction,
    client: Digest,
    turn: Turn,
    calls: Vec<Digest>,
) -> Result<(), Failed> {
    if !remove_turn(transaction, &turn.id)? {
        add_turns(transaction, client, 1)?;
    }
    let number = next_number(transaction)?;
    let stored = StoredTurn { turn, calls, number };
    let bytes = encode(&stored)?;
    add_bytes(transaction, bytes.len(), 0)?;
    let StoredTurn { turn, calls, .. } = stored;
    let (id, session, point) = (turn.id.as_str(), turn.session.0.as_str(), turn.point.as_bytes());
    transaction.open_table(TURNS)?.insert(id, bytes.as_slice())?;
    transaction
        .open_multimap_table(POINTS)?
        .insert(point, (number, id))?;
    transaction
        .open_table(TURNS_OF_SESSION)?
        .insert((session, number), id)?;
    transaction
        .open_table(POINTS_OF_SESSION)?
        .insert((session, point, number), id)?;
    let mut all_calls = transaction.open_table(CALLS)?;
    for call in &calls {
        all_calls.insert(call.as_bytes(), id)?;
    }
    Ok(())
}
