//! Removes turns, sessions, and the progress of requests from all tables of the file.

use redb::{ReadableTable as _, Table, WriteTransaction};

use super::counters::{SizeChange, change_size};
use super::lookup::load_session;
use super::tables::{
    CALLS, EXPIRY, KEYS, LOGS, POINTS, POINTS_OF_SESSION, PROGRESS_EXPIRY, PROGRESS_OF_CLIENT, ReadTurn,
    SEGMENTS, SESSIONS, SESSIONS_OF_CLIENT, TURNS, TURNS_OF_SESSION,
};
use crate::session::chain::Digest;
use crate::session::database::Failed;
use crate::session::encoding::decode;
use crate::session::record::SessionId;

/// Removes a turn of a client. Returns whether the turn existed.
pub(super) fn remove_turn(transaction: &WriteTransaction, client: Digest, id: &str) -> Result<bool, Failed> {
    let removed: Option<(ReadTurn, usize)> = {
        let mut turns = transaction.open_table(TURNS)?;
        let removed = turns.remove(id)?;
        match removed {
            Some(bytes) => Some((decode(bytes.value())?, bytes.value().len())),
            None => None,
        }
    };
    let Some((stored, bytes)) = removed else {
        return Ok(false);
    };
    let mut calls = transaction.open_table(CALLS)?;
    for call in &stored.calls {
        calls.remove(call.as_bytes())?;
    }
    transaction
        .open_multimap_table(POINTS)?
        .remove(stored.turn.point.as_bytes(), (stored.number, id))?;
    let session = stored.turn.session.as_str();
    transaction
        .open_table(TURNS_OF_SESSION)?
        .remove((session, stored.number))?;
    transaction.open_table(POINTS_OF_SESSION)?.remove((
        session,
        stored.turn.point.as_bytes(),
        stored.number,
    ))?;
    change_size(transaction, client.as_bytes(), SizeChange::turn(bytes).removed())?;
    Ok(true)
}

/// Removes the oldest turn of a session, unless the session has a single turn. Returns whether a turn was removed.
pub(super) fn remove_older_turn(transaction: &WriteTransaction, session: &SessionId) -> Result<bool, Failed> {
    let oldest = {
        let name = session.as_str();
        let turns = transaction.open_table(TURNS_OF_SESSION)?;
        let mut turns = turns.range((name, 0)..=(name, u64::MAX))?;
        let (Some(oldest), Some(_)) = (turns.next(), turns.next()) else {
            return Ok(false);
        };
        oldest?.1.value().to_owned()
    };
    let Some(stored) = load_session(transaction, session)? else {
        return Ok(false);
    };
    remove_turn(transaction, stored.client, &oldest)
}

/// Removes the oldest turn of a session. The session is removed with its last turn.
pub(super) fn remove_from_session(
    transaction: &WriteTransaction,
    expires_at: u64,
    id: &SessionId,
) -> Result<(), Failed> {
    if remove_older_turn(transaction, id)? {
        return Ok(());
    }
    remove_session(transaction, expires_at, id)
}

fn remove_session(transaction: &WriteTransaction, expires_at: u64, id: &SessionId) -> Result<(), Failed> {
    let name = id.as_str();
    if let Some(stored) = load_session(transaction, id)? {
        for turn in turns_of_session(transaction, name)? {
            remove_turn(transaction, stored.client, &turn)?;
        }
        transaction.open_table(SESSIONS_OF_CLIENT)?.remove((
            stored.client.as_bytes(),
            stored.expires_at,
            name,
        ))?;
        let mut keys = transaction.open_table(KEYS)?;
        for key in &stored.keys {
            remove_key(&mut keys, *key, name)?;
        }
    }
    transaction.open_table(SESSIONS)?.remove(name)?;
    transaction.open_table(EXPIRY)?.remove((expires_at, name))?;
    Ok(())
}

/// Removes a key of a session, unless the client has since used the key for another session.
pub(super) fn remove_key(
    keys: &mut Table<'_, &'static [u8; 32], &'static str>,
    key: Digest,
    session: &str,
) -> Result<(), Failed> {
    let owner = keys.get(key.as_bytes())?.map(|owner| owner.value() == session);
    if owner == Some(true) {
        keys.remove(key.as_bytes())?;
    }
    Ok(())
}

/// Returns the ids of a session's turns, the oldest first.
fn turns_of_session(transaction: &WriteTransaction, session: &str) -> Result<Vec<String>, Failed> {
    let turns = transaction.open_table(TURNS_OF_SESSION)?;
    let ids = turns.range((session, 0)..=(session, u64::MAX))?;
    ids.map(|entry| Ok(entry?.1.value().to_owned())).collect()
}

/// Removes the progress of a request.
pub(super) fn remove_progress(transaction: &WriteTransaction, request: &[u8; 32]) -> Result<(), Failed> {
    let removed = {
        let mut logs = transaction.open_table(LOGS)?;
        let removed = logs.remove(request)?;
        removed.map(|removed| {
            let (expires_at, client, segments, bytes) = removed.value();
            (expires_at, *client, segments, bytes)
        })
    };
    let Some((expires_at, client, segments, bytes)) = removed else {
        return Ok(());
    };
    {
        let mut all = transaction.open_table(SEGMENTS)?;
        for at in 0..segments {
            all.remove((request, at))?;
        }
    }
    transaction
        .open_table(PROGRESS_EXPIRY)?
        .remove((expires_at, request))?;
    transaction
        .open_table(PROGRESS_OF_CLIENT)?
        .remove((&client, expires_at, request))?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    change_size(transaction, &client, SizeChange::progress(bytes).removed())
}
