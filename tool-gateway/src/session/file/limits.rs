//! [`StoreLimits`]: maximum size and time to live of the file's entries.

use std::time::Duration;

use redb::{ReadTransaction, ReadableTable as _, WriteTransaction};

use super::counters::{count_bytes, size_of};
use super::remove::{remove_from_session, remove_older_turn, remove_progress};
use super::tables::{CLIENTS_BY_BYTES, EXPIRY, PROGRESS_EXPIRY, PROGRESS_OF_CLIENT, SESSIONS_OF_CLIENT};
use crate::session::chain::Digest;
use crate::session::database::Failed;
use crate::session::record::SessionId;
use crate::session::store::SUSPENDED_FACTOR;

/// Maximum number of turns and requests that a save removes, unless the save needs more room. The maximum bounds the latency of a save.
const MAX_REMOVED: usize = 8;

/// Maximum size and time to live of the file's entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoreLimits {
    pub(super) ttl: Duration,
    pub(super) max_bytes: u64,
    pub(super) max_turns_per_client: u64,
    pub(super) max_bytes_per_client: u64,
}

/// The time of a write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Seconds since 1970.
    pub(super) seconds: u64,
    /// Whether expired entries may be removed: the wall clock and the monotonic clock agree.
    pub(super) may_remove: bool,
}

/// The entry that was just saved, which is not removed.
pub(super) struct Saved<'s> {
    pub(super) client: [u8; 32],
    pub(super) session: Option<&'s SessionId>,
    pub(super) request: Option<Digest>,
    pub(super) before: Before,
}

/// Numbers of bytes in the file and of the client before an entry is saved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    of_all: u64,
    of_client: u64,
}

impl Before {
    pub(super) fn new(transaction: &WriteTransaction, client: &[u8; 32]) -> Result<Self, Failed> {
        Ok(Self {
            of_all: count_bytes(transaction)?,
            of_client: size_of(transaction, client)?.bytes,
        })
    }
}

/// An entry that is removed.
enum Removable {
    Session { expires_at: u64, id: SessionId },
    Progress { expires_at: u64, request: [u8; 32] },
}

impl Removable {
    fn expires_at(&self) -> u64 {
        match self {
            Self::Session { expires_at, .. } | Self::Progress { expires_at, .. } => *expires_at,
        }
    }

    fn remove(self, transaction: &WriteTransaction) -> Result<(), Failed> {
        match self {
            Self::Session { expires_at, id } => remove_from_session(transaction, expires_at, &id),
            Self::Progress { request, .. } => remove_progress(transaction, &request),
        }
    }

    /// Returns the entry that expires first.
    fn first(session: Option<Self>, progress: Option<Self>) -> Option<Self> {
        match (session, progress) {
            (Some(session), Some(progress)) if session.expires_at() < progress.expires_at() => Some(session),
            (session, None) => session,
            (_, progress) => progress,
        }
    }
}

impl StoreLimits {
    /// Returns the expiration time of an entry that is saved now.
    pub(super) fn expiry(&self, now: Moment, is_suspended: bool) -> u64 {
        let factor = if is_suspended { SUSPENDED_FACTOR } else { 1 };
        let ttl = self.ttl.saturating_mul(factor).as_secs().max(1);
        now.seconds.saturating_add(ttl)
    }

    /// Removes expired entries, and then entries above the limits, except the entry that was just saved.
    pub(super) fn make_room(
        &self,
        transaction: &WriteTransaction,
        now: Moment,
        saved: &Saved<'_>,
    ) -> Result<(), Failed> {
        remove_expired(transaction, now, MAX_REMOVED)?;
        self.make_room_for_client(transaction, saved)?;
        self.make_room_for_all(transaction, saved)
    }

    /// Removes the entries of a client that expire first, as long as the client is above its limits.
    fn make_room_for_client(&self, transaction: &WriteTransaction, saved: &Saved<'_>) -> Result<(), Failed> {
        for removed in 0.. {
            let size = size_of(transaction, &saved.client)?;
            let has_too_many_bytes = size.bytes > self.max_bytes_per_client;
            // After `MAX_REMOVED` removals, the loop continues only until the client has as many bytes as before the save.
            let is_done =
                removed >= MAX_REMOVED && !(has_too_many_bytes && size.bytes > saved.before.of_client);
            if is_done
                || !(has_too_many_bytes || size.turns > self.max_turns_per_client)
                || !remove_first(transaction, &saved.client, saved)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Removes entries of the client with the most bytes, in the order of their expiration, until the number of bytes is within the limit.
    ///
    /// If the client with the most bytes has only the saved entry, entries of the second largest client are removed, but only as long as
    /// the limit is exceeded even without the saved entry.
    fn make_room_for_all(&self, transaction: &WriteTransaction, saved: &Saved<'_>) -> Result<(), Failed> {
        for removed in 0.. {
            let bytes = count_bytes(transaction)?;
            let is_done = removed >= MAX_REMOVED && bytes <= saved.before.of_all;
            if bytes <= self.max_bytes || is_done {
                break;
            }
            let LargestClients { first, second } = LargestClients::find(transaction)?;
            let own = size_of(transaction, &saved.client)?.bytes;
            let is_over_without = bytes.saturating_sub(own) > self.max_bytes;
            let is_removed = match first {
                Some(first) => remove_first(transaction, &first, saved)?,
                None => false,
            };
            let is_removed = is_removed
                || match second.filter(|_| is_over_without) {
                    Some(second) => remove_first(transaction, &second, saved)?,
                    None => false,
                };
            if !is_removed {
                break;
            }
        }
        Ok(())
    }
}

/// Returns whether a session or the progress of a request has expired.
pub(super) fn has_expired(transaction: &ReadTransaction, now: u64) -> Result<bool, Failed> {
    let sessions = transaction.open_table(EXPIRY)?;
    let progress = transaction.open_table(PROGRESS_EXPIRY)?;
    let session = sessions.first()?.is_some_and(|(key, _)| key.value().0 <= now);
    Ok(session || progress.first()?.is_some_and(|(key, _)| key.value().0 <= now))
}

/// Removes up to `max_removed` expired entries. Returns the number of removed entries.
pub(super) fn remove_expired(
    transaction: &WriteTransaction,
    now: Moment,
    max_removed: usize,
) -> Result<usize, Failed> {
    if !now.may_remove {
        return Ok(0);
    }
    for removed in 0..max_removed {
        let first = Removable::first(first_session(transaction)?, first_progress(transaction)?);
        match first.filter(|first| first.expires_at() <= now.seconds) {
            Some(expired) => expired.remove(transaction)?,
            None => return Ok(removed),
        }
    }
    Ok(max_removed)
}

/// Removes the client's entry that expires first, except the entry that was just saved. Returns whether an entry was removed.
fn remove_first(
    transaction: &WriteTransaction,
    client: &[u8; 32],
    saved: &Saved<'_>,
) -> Result<bool, Failed> {
    let session = first_session_of_client(transaction, client, saved.session)?;
    let progress = first_progress_of_client(transaction, client, saved.request)?;
    if let Some(first) = Removable::first(session, progress) {
        first.remove(transaction)?;
        return Ok(true);
    }
    match saved.session {
        Some(session) if *client == saved.client => remove_older_turn(transaction, session),
        _ => Ok(false),
    }
}

/// Clients with the most bytes.
struct LargestClients {
    first: Option<[u8; 32]>,
    second: Option<[u8; 32]>,
}

impl LargestClients {
    fn find(transaction: &WriteTransaction) -> Result<Self, Failed> {
        let clients = transaction.open_table(CLIENTS_BY_BYTES)?;
        let mut clients = clients
            .iter()?
            .rev()
            .map(|entry| Ok::<_, Failed>(*entry?.0.value().1));
        Ok(Self {
            first: clients.next().transpose()?,
            second: clients.next().transpose()?,
        })
    }
}

/// Returns the session that expires first.
fn first_session(transaction: &WriteTransaction) -> Result<Option<Removable>, Failed> {
    let expiry = transaction.open_table(EXPIRY)?;
    let Some((key, _)) = expiry.first()? else {
        return Ok(None);
    };
    let (expires_at, id) = key.value();
    Ok(Some(Removable::Session {
        expires_at,
        id: SessionId::new(id.to_owned()),
    }))
}

/// Returns the progress that expires first.
fn first_progress(transaction: &WriteTransaction) -> Result<Option<Removable>, Failed> {
    let expiry = transaction.open_table(PROGRESS_EXPIRY)?;
    let Some((key, _)) = expiry.first()? else {
        return Ok(None);
    };
    let (expires_at, request) = key.value();
    Ok(Some(Removable::Progress {
        expires_at,
        request: *request,
    }))
}

/// Returns the session of a client that expires first, except `but`.
fn first_session_of_client(
    transaction: &WriteTransaction,
    client: &[u8; 32],
    but: Option<&SessionId>,
) -> Result<Option<Removable>, Failed> {
    let sessions = transaction.open_table(SESSIONS_OF_CLIENT)?;
    for entry in sessions.range((client, 0, "")..)? {
        let (key, _) = entry?;
        let (other, expires_at, id) = key.value();
        if other != client {
            break;
        }
        if but.is_none_or(|but| but.as_str() != id) {
            return Ok(Some(Removable::Session {
                expires_at,
                id: SessionId::new(id.to_owned()),
            }));
        }
    }
    Ok(None)
}

/// Returns the request of a client whose progress expires first, except this request.
fn first_progress_of_client(
    transaction: &WriteTransaction,
    client: &[u8; 32],
    but: Option<Digest>,
) -> Result<Option<Removable>, Failed> {
    let progress = transaction.open_table(PROGRESS_OF_CLIENT)?;
    for entry in progress.range((client, 0, &[0; 32])..)? {
        let (key, _) = entry?;
        let (other, expires_at, request) = key.value();
        if other != client {
            break;
        }
        if but.is_none_or(|but| but.as_bytes() != request) {
            return Ok(Some(Removable::Progress {
                expires_at,
                request: *request,
            }));
        }
    }
    Ok(None)
}
