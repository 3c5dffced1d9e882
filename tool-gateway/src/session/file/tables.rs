//! Tables of the file, and their records.

use std::time::{SystemTime, UNIX_EPOCH};

use redb::{MultimapTableDefinition, ReadableTable as _, TableDefinition, WriteTransaction};
use serde::{Deserialize, Serialize};

use crate::session::chain::Digest;
use crate::session::database::Failed;
use crate::session::encoding::VERSION;
use crate::session::record::{Session, Turn};
use crate::session::store::StoreError;

/// Turns by id.
pub(super) const TURNS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("turns");
/// Ids of the turns after a point of a conversation, in the order in which they were stored.
pub(super) const POINTS: MultimapTableDefinition<'_, &[u8; 32], (u64, &str)> =
    MultimapTableDefinition::new("points");
/// Turns of a session, in the order in which they were stored.
pub(super) const TURNS_OF_SESSION: TableDefinition<'_, (&str, u64), &str> =
    TableDefinition::new("turns of a session");
/// Turns of a session after a point, in the order in which they were stored.
pub(super) const POINTS_OF_SESSION: TableDefinition<'_, (&str, &[u8; 32], u64), &str> =
    TableDefinition::new("points of a session");
/// Turn ids by the digest of a call.
pub(super) const CALLS: TableDefinition<'_, &[u8; 32], &str> = TableDefinition::new("calls");
/// Session ids by the digest of a client's key.
pub(super) const KEYS: TableDefinition<'_, &[u8; 32], &str> = TableDefinition::new("keys");
/// Sessions by id.
pub(super) const SESSIONS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("sessions");
/// Sessions by expiration, in seconds since 1970.
pub(super) const EXPIRY: TableDefinition<'_, (u64, &str), ()> = TableDefinition::new("expiry");
/// Sessions of a client by expiration.
pub(super) const SESSIONS_OF_CLIENT: TableDefinition<'_, (&[u8; 32], u64, &str), ()> =
    TableDefinition::new("sessions of a client");
/// Number of turns by client.
pub(super) const TURNS_OF_CLIENT: TableDefinition<'_, &[u8; 32], u64> =
    TableDefinition::new("turns of a client");
/// Number of turns ever stored, and number of bytes.
pub(super) const COUNTERS: TableDefinition<'_, &str, u64> = TableDefinition::new("counters");
/// Progress of requests, with its expiration in seconds since 1970.
pub(super) const PROGRESS: TableDefinition<'_, &[u8; 32], (u64, &[u8])> = TableDefinition::new("progress");
/// Requests by the expiration of their progress.
pub(super) const PROGRESS_EXPIRY: TableDefinition<'_, (u64, &[u8; 32]), ()> =
    TableDefinition::new("progress expiry");
/// Secret of the digests.
pub(super) const SECRET: TableDefinition<'_, (), &[u8; 32]> = TableDefinition::new("secret");
/// Version of these tables and of their records.
pub(super) const FILE_VERSION: TableDefinition<'_, (), u32> = TableDefinition::new("version");

#[derive(Serialize, Deserialize)]
pub(super) struct StoredTurn {
    pub(super) turn: Turn,
    pub(super) calls: Vec<Digest>,
    /// Sequence number of the turn among all turns.
    pub(super) number: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredSession {
    pub(super) session: Session,
    pub(super) client: Digest,
    pub(super) keys: Vec<Digest>,
    pub(super) expires_at: u64,
}

/// Converts a time to seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Creates the tables of a new file, and returns its secret. A file with other tables or without its secret is an error: with a new secret,
/// no stored session would be found.
pub(super) fn create(transaction: &WriteTransaction) -> Result<[u8; 32], Failed> {
    let is_new = transaction.list_tables()?.next().is_none();
    {
        let mut versions = transaction.open_table(FILE_VERSION)?;
        if is_new {
            versions.insert((), VERSION)?;
        }
        let version = versions.get(())?.map(|version| version.value());
        if version != Some(VERSION) {
            return Err(Failed::Store(StoreError(
                "it was not written by this version of the program; use the one that wrote it, or name another file"
                    .to_owned(),
            )));
        }
    }
    transaction.open_table(TURNS)?;
    transaction.open_multimap_table(POINTS)?;
    transaction.open_table(TURNS_OF_SESSION)?;
    transaction.open_table(POINTS_OF_SESSION)?;
    transaction.open_table(CALLS)?;
    transaction.open_table(KEYS)?;
    transaction.open_table(SESSIONS)?;
    transaction.open_table(EXPIRY)?;
    transaction.open_table(SESSIONS_OF_CLIENT)?;
    transaction.open_table(TURNS_OF_CLIENT)?;
    transaction.open_table(COUNTERS)?;
    transaction.open_table(PROGRESS)?;
    transaction.open_table(PROGRESS_EXPIRY)?;
    let mut secrets = transaction.open_table(SECRET).map_err(lost_secret)?;
    if is_new {
        secrets.insert((), &crate::random::bytes())?;
    }
    let secret = secrets.get(()).map_err(lost_secret)?;
    let secret = secret.ok_or_else(|| lost_secret("it is missing"))?;
    Ok(*secret.value())
}

fn lost_secret(error: impl std::fmt::Display) -> Failed {
    Failed::Store(StoreError(format!(
        "the secret of its sessions cannot be read: {error}; restore the file from a backup, or name another file"
    )))
}
