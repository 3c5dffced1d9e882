//! Converts the tables of a file of version 5. That version did not count the bytes of clients, and stored only the latest progress of a
//! request.

use redb::{ReadableTable as _, TableDefinition, WriteTransaction};

use super::counters::{SizeChange, change_size};
use super::tables::{
    COUNTERS, LOGS, PROGRESS_OF_CLIENT, SEGMENTS, SESSIONS, StoredSession, TURNS, TURNS_OF_SESSION,
};
use crate::session::database::Failed;
use crate::session::encoding::decode;

const TURNS_OF_CLIENT: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("turns of a client");
const PROGRESS: TableDefinition<'_, &[u8; 32], (u64, &[u8])> = TableDefinition::new("progress");

/// Client for progress that version 5 stored without a client.
pub(super) const UNKNOWN_CLIENT: [u8; 32] = [0; 32];

/// Counts the turns and bytes of clients, and moves the progress of requests to logs.
pub(super) fn convert(transaction: &WriteTransaction) -> Result<(), Failed> {
    // All bytes are counted again, with their clients.
    transaction.open_table(COUNTERS)?.remove("bytes")?;
    {
        let sessions = transaction.open_table(SESSIONS)?;
        let turns = transaction.open_table(TURNS)?;
        let of_sessions = transaction.open_table(TURNS_OF_SESSION)?;
        for entry in sessions.iter()? {
            let (id, session) = entry?;
            let session: StoredSession = decode(session.value())?;
            let mut size = SizeChange::default();
            for turn in of_sessions.range((id.value(), 0)..=(id.value(), u64::MAX))? {
                let turn = turns.get(turn?.1.value())?;
                let bytes = turn.map_or(0, |turn| turn.value().len());
                size = size.and(SizeChange::turn(bytes));
            }
            change_size(transaction, session.client.as_bytes(), size)?;
        }
        let progress = transaction.open_table(PROGRESS)?;
        let mut logs = transaction.open_table(LOGS)?;
        let mut segments = transaction.open_table(SEGMENTS)?;
        let mut of_client = transaction.open_table(PROGRESS_OF_CLIENT)?;
        let mut size = SizeChange::default();
        for entry in progress.iter()? {
            let (request, stored) = entry?;
            let (request, (expires_at, record)) = (request.value(), stored.value());
            logs.insert(request, (expires_at, &UNKNOWN_CLIENT, 1, record.len() as u64))?;
            segments.insert((request, 0), record)?;
            of_client.insert((&UNKNOWN_CLIENT, expires_at, request), ())?;
            size = size.and(SizeChange::progress(record.len()));
        }
        change_size(transaction, &UNKNOWN_CLIENT, size)?;
    }
    transaction.delete_table(TURNS_OF_CLIENT)?;
    transaction.delete_table(PROGRESS)?;
    Ok(())
}
