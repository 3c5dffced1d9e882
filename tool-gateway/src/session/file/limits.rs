//! [`StoreLimits`]: maximum size and time to live of the file's entries.

use std::time::{Duration, SystemTime};

use redb::{ReadableTable as _, WriteTransaction};

use super::counters::{count_bytes, count_turns};
use super::remove::{remove_from_session, remove_older_turn, remove_progress};
use super::tables::{EXPIRY, PROGRESS_EXPIRY, SESSIONS_OF_CLIENT, seconds};
use crate::session::chain::Digest;
use crate::session::database::Failed;
use crate::session::record::SessionId;
use crate::session::store::SUSPENDED_FACTOR;

/// Maximum number of turns and requests that a save removes, unless the save needs more room. No single request pays for all removals.
const MAX_REMOVED: usize = 8;

/// Maximum size and time to live of the file's entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoreLimits {
    pub(super) ttl: Duration,
    pub(super) max_bytes: u64,
    pub(super) max_turns_per_client: u64,
}

/// The entry that was just saved, and stays.
pub(super) struct Saved<'s> {
    pub(super) session: Option<&'s SessionId>,
    pub(super) request: Option<Digest>,
    /// Number of bytes before the entry was saved.
    pub(super) bytes_before: u64,
}

impl StoreLimits {
    /// Returns the expiration time of an entry that is saved now.
    pub(super) fn expiry(&self, is_suspended: bool) -> u64 {
        let factor = if is_suspended { SUSPENDED_FACTOR } else { 1 };
        let ttl = self.ttl.saturating_mul(factor).as_secs().max(1);
        seconds(SystemTime::now()).saturating_add(ttl)
    }

    /// While a client has too many turns, removes its turns that expire first, except the turn that was just saved.
    pub(super) fn make_room_for_client(
        &self,
        transaction: &WriteTransaction,
        client: Digest,
        saved: &SessionId,
    ) -> Result<(), Failed> {
        for _ in 0..MAX_REMOVED {
            if count_turns(transaction, client)? <= self.max_turns_per_client {
                break;
            }
            if let Some((at, id)) = first_session_of_client(transaction, client, saved)? {
                remove_from_session(transaction, at, &id)?;
            } else if !remove_older_turn(transaction, saved)? {
                break;
            }
        }
        Ok(())
    }

    /// Removes expired entries. While there are too many bytes, removes the entries that expire first, except the entry that was just
    /// saved.
    pub(super) fn make_room(&self, transaction: &WriteTransaction, saved: &Saved<'_>) -> Result<(), Failed> {
        let now = seconds(SystemTime::now());
        for removed in 0.. {
            let bytes = count_bytes(transaction)?;
            let is_over = bytes > self.max_bytes;
            // A large entry removes enough for its own size.
            if removed >= MAX_REMOVED && !(is_over && bytes > saved.bytes_before) {
                break;
            }
            let until = if is_over { u64::MAX } else { now };
            let session = first_session(transaction, saved.session)?.filter(|(at, _)| *at <= until);
            let progress = first_progress(transaction, saved.request)?.filter(|(at, _)| *at <= until);
            match (session, progress) {
                (Some((at, id)), progress) if progress.is_none_or(|(other, _)| at < other) => {
                    remove_from_session(transaction, at, &id)?;
                }
                (_, Some((_, request))) => remove_progress(transaction, &request)?,
                (_, None) => match saved.session {
                    Some(session) if is_over && remove_older_turn(transaction, session)? => {}
                    _ => break,
                },
            }
        }
        Ok(())
    }
}

/// Returns the session that expires first, except `but`, with its expiration time.
fn first_session(
    transaction: &WriteTransaction,
    but: Option<&SessionId>,
) -> Result<Option<(u64, SessionId)>, Failed> {
    let expiry = transaction.open_table(EXPIRY)?;
    for entry in expiry.iter()? {
        let (key, _) = entry?;
        let (at, id) = key.value();
        if but.is_none_or(|but| but.0 != id) {
            return Ok(Some((at, SessionId(id.to_owned()))));
        }
    }
    Ok(None)
}

/// Returns the session of a client that expires first, except `but`, with its expiration time.
fn first_session_of_client(
    transaction: &WriteTransaction,
    client: Digest,
    but: &SessionId,
) -> Result<Option<(u64, SessionId)>, Failed> {
    let sessions = transaction.open_table(SESSIONS_OF_CLIENT)?;
    let client = client.as_bytes();
    for entry in sessions.range((client, 0, "")..)? {
        let (key, _) = entry?;
        let (other, at, id) = key.value();
        if other != client {
            break;
        }
        if but.0 != id {
            return Ok(Some((at, SessionId(id.to_owned()))));
        }
    }
    Ok(None)
}

/// Returns the request whose progress expires first, except `but`, with its expiration time.
fn first_progress(
    transaction: &WriteTransaction,
    but: Option<Digest>,
) -> Result<Option<(u64, [u8; 32])>, Failed> {
    let expiry = transaction.open_table(PROGRESS_EXPIRY)?;
    for entry in expiry.iter()? {
        let (key, _) = entry?;
        let (at, request) = key.value();
        if but.is_none_or(|but| but.as_bytes() != request) {
            return Ok(Some((at, *request)));
        }
    }
    Ok(None)
}
