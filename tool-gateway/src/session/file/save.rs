//! Stores turns, and the progress of requests, in the file.

use std::time::SystemTime;

use redb::{ReadableTable as _, WriteTransaction};
use serde_json::Map;

use super::counters::{SizeChange, change_size, next_number};
use super::limits::{Before, Moment, Saved, StoreLimits};
use super::lookup::{load_session, revision};
use super::remove::{remove_key, remove_progress, remove_turn};
use super::tables::{
    CALLS, EXPIRY, KEYS, LOGS, POINTS, POINTS_OF_SESSION, PROGRESS_EXPIRY, PROGRESS_OF_CLIENT, SEGMENTS,
    SESSIONS, SESSIONS_OF_CLIENT, StoredSession, TURNS, TURNS_OF_SESSION, WrittenTurn,
};
use crate::session::chain::Digest;
use crate::session::database::Failed;
use crate::session::encoding::encode;
use crate::session::record::Session;
use crate::session::store::{Appended, Progress, SaveOutcome, SavedTurn, StoreError, push_key};
use crate::session::turn_record::TurnRecord;

/// Stores a turn with the progress of its request, unless the stored turn has another revision.
pub(super) fn save_turn(
    transaction: &WriteTransaction,
    limits: &StoreLimits,
    now: Moment,
    client: Digest,
    saved: &SavedTurn,
) -> Result<SaveOutcome, Failed> {
    let record = &saved.record;
    let stored = revision(transaction, client, now.seconds, record.id())?;
    if stored != saved.revision {
        return Ok(SaveOutcome::Conflict { revision: stored });
    }
    let stored = load_session(transaction, record.session())?;
    let owner = stored.as_ref().map_or(client, |stored| stored.client);
    let before = Before::new(transaction, owner.as_bytes())?;
    insert_session(transaction, limits, now, owner, saved, stored)?;
    let revision = insert_turn(transaction, owner, record, &saved.calls)?;
    if let Some(progress) = &saved.progress {
        append_progress(transaction, limits, now, client, progress)?;
    }
    let saved = Saved {
        client: *owner.as_bytes(),
        session: Some(record.session()),
        request: saved.progress.as_ref().map(|progress| progress.lease.log()),
        before,
    };
    limits.make_room(transaction, now, &saved)?;
    Ok(SaveOutcome::Saved { revision })
}

/// Stores a segment of the progress of a request whose turn is incomplete.
pub(super) fn append(
    transaction: &WriteTransaction,
    limits: &StoreLimits,
    now: Moment,
    client: Digest,
    progress: &Progress,
) -> Result<Appended, Failed> {
    let before = Before::new(transaction, client.as_bytes())?;
    append_progress(transaction, limits, now, client, progress)?;
    let saved = Saved {
        client: *client.as_bytes(),
        session: None,
        request: Some(progress.lease.log()),
        before,
    };
    limits.make_room(transaction, now, &saved)?;
    Ok(Appended::Kept)
}

/// Creates or updates the session of a turn.
fn insert_session(
    transaction: &WriteTransaction,
    limits: &StoreLimits,
    now: Moment,
    client: Digest,
    saved: &SavedTurn,
    stored: Option<StoredSession>,
) -> Result<(), Failed> {
    let (time, record) = (SystemTime::now(), &saved.record);
    let mut stored = stored.unwrap_or_else(|| StoredSession {
        session: Session {
            id: record.session().clone(),
            created_at: time,
            last_active: time,
            state: Map::new(),
        },
        client,
        keys: Vec::new(),
        expires_at: 0,
    });
    let name = record.session().as_str();
    let mut expiry = transaction.open_table(EXPIRY)?;
    let mut of_client = transaction.open_table(SESSIONS_OF_CLIENT)?;
    expiry.remove((stored.expires_at, name))?;
    of_client.remove((client.as_bytes(), stored.expires_at, name))?;
    stored.expires_at = limits.expiry(now, record.is_suspended());
    expiry.insert((stored.expires_at, name), ())?;
    of_client.insert((client.as_bytes(), stored.expires_at, name), ())?;

    stored.session.last_active = time;
    stored.session.state.clone_from(record.state());
    let mut all_keys = transaction.open_table(KEYS)?;
    for key in &saved.keys {
        all_keys.insert(key.as_bytes(), name)?;
        if let Some(oldest) = push_key(&mut stored.keys, *key) {
            remove_key(&mut all_keys, oldest, name)?;
        }
    }
    transaction
        .open_table(SESSIONS)?
        .insert(name, encode(&stored)?.as_slice())?;
    Ok(())
}

/// Appends a segment to the log of a request.
fn append_progress(
    transaction: &WriteTransaction,
    limits: &StoreLimits,
    now: Moment,
    client: Digest,
    progress: &Progress,
) -> Result<(), Failed> {
    let (log, client) = (progress.lease.log(), client.as_bytes());
    let request = log.as_bytes();
    if progress.at == 0 {
        remove_progress(transaction, request)?;
    }
    let mut logs = transaction.open_table(LOGS)?;
    let before = logs.get(request)?.map(|log| {
        let (expires_at, client, segments, bytes) = log.value();
        (expires_at, *client, segments, bytes)
    });
    let (segments, bytes_before) = before.map_or((0, 0), |(_, _, segments, bytes)| (segments, bytes));
    if segments != progress.at {
        return Err(Failed::Store(StoreError(format!(
            "expected segment {segments} of a request's progress, got {}",
            progress.at
        ))));
    }
    let mut expiry = transaction.open_table(PROGRESS_EXPIRY)?;
    let mut of_client = transaction.open_table(PROGRESS_OF_CLIENT)?;
    if let Some((expires_at, client, ..)) = &before {
        expiry.remove((*expires_at, request))?;
        of_client.remove((client, *expires_at, request))?;
    }
    let expires_at = limits.expiry(now, false);
    let bytes = progress.segment.len();
    logs.insert(
        request,
        (expires_at, client, segments + 1, bytes_before + bytes as u64),
    )?;
    expiry.insert((expires_at, request), ())?;
    of_client.insert((client, expires_at, request), ())?;
    transaction
        .open_table(SEGMENTS)?
        .insert((request, progress.at), progress.segment.as_slice())?;
    change_size(transaction, client, SizeChange::progress(bytes))
}

/// Stores a turn, in place of an earlier version with its id. Returns the new revision.
fn insert_turn(
    transaction: &WriteTransaction,
    client: Digest,
    record: &TurnRecord,
    calls: &[Digest],
) -> Result<u64, Failed> {
    let (id, session, point) = (record.id(), record.session().as_str(), record.point());
    let point = point.as_bytes();
    remove_turn(transaction, client, id)?;
    let number = next_number(transaction)?;
    let bytes = encode(&WrittenTurn {
        turn: record.turn(),
        calls,
        number,
    })?;
    change_size(transaction, client.as_bytes(), SizeChange::turn(bytes.len()))?;
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
    for call in calls {
        all_calls.insert(call.as_bytes(), id)?;
    }
    Ok(number)
}
