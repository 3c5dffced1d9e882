//! Tables of the file, and their records.

use redb::{MultimapTableDefinition, TableDefinition};
use serde::{Deserialize, Serialize};

use crate::session::chain::Digest;
use crate::session::record::{Session, Turn};

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
/// Number of turns by client, and number of bytes of turns and progress.
pub(super) const SIZES_OF_CLIENTS: TableDefinition<'_, &[u8; 32], (u64, u64)> =
    TableDefinition::new("sizes of clients");
/// Clients by number of bytes.
pub(super) const CLIENTS_BY_BYTES: TableDefinition<'_, (u64, &[u8; 32]), ()> =
    TableDefinition::new("clients by bytes");
/// Number of all turns that were ever stored, and number of bytes.
pub(super) const COUNTERS: TableDefinition<'_, &str, u64> = TableDefinition::new("counters");
/// Logs of the progress of requests: the expiration in seconds since 1970, the client, the number of segments, and of their bytes.
pub(super) const LOGS: TableDefinition<'_, &[u8; 32], (u64, &[u8; 32], u64, u64)> =
    TableDefinition::new("logs");
/// Segments of logs by request and position.
pub(super) const SEGMENTS: TableDefinition<'_, (&[u8; 32], u64), &[u8]> = TableDefinition::new("segments");
/// Requests by the expiration of their progress.
pub(super) const PROGRESS_EXPIRY: TableDefinition<'_, (u64, &[u8; 32]), ()> =
    TableDefinition::new("progress expiry");
/// Requests of a client by the expiration of their progress.
pub(super) const PROGRESS_OF_CLIENT: TableDefinition<'_, (&[u8; 32], u64, &[u8; 32]), ()> =
    TableDefinition::new("progress of a client");
/// Secret of the digests.
pub(super) const SECRET: TableDefinition<'_, (), &[u8; 32]> = TableDefinition::new("secret");
/// Version of these tables and of their records.
pub(super) const FILE_VERSION: TableDefinition<'_, (), u32> = TableDefinition::new("version");

/// A turn that is read. [`WrittenTurn`] is its counterpart for writes.
#[derive(Deserialize)]
pub(super) struct ReadTurn {
    pub(super) turn: Turn,
    pub(super) calls: Vec<Digest>,
    pub(super) number: u64,
}

/// A turn that is written.
#[derive(Serialize)]
pub(super) struct WrittenTurn<'s> {
    pub(super) turn: &'s Turn,
    pub(super) calls: &'s [Digest],
    /// Sequence number of the turn among all turns, which is also its revision.
    pub(super) number: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredSession {
    pub(super) session: Session,
    pub(super) client: Digest,
    pub(super) keys: Vec<Digest>,
    pub(super) expires_at: u64,
}
