//! Counters of the file: the number of bytes, the number of turns of each client, and the number of turns ever stored.

use redb::{ReadableTable as _, WriteTransaction};

use super::tables::{COUNTERS, TURNS_OF_CLIENT};
use crate::session::chain::Digest;
use crate::session::database::Failed;

/// Returns the number of bytes of turns and progress.
pub(super) fn count_bytes(transaction: &WriteTransaction) -> Result<u64, Failed> {
    let counters = transaction.open_table(COUNTERS)?;
    Ok(counters.get("bytes")?.map_or(0, |bytes| bytes.value()))
}

/// Updates the number of bytes after an addition and a removal.
pub(super) fn add_bytes(transaction: &WriteTransaction, added: usize, removed: usize) -> Result<(), Failed> {
    let count = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    add(transaction, "bytes", count(added).saturating_sub(count(removed)))?;
    Ok(())
}

/// Returns the sequence number of a new turn.
pub(super) fn next_number(transaction: &WriteTransaction) -> Result<u64, Failed> {
    add(transaction, "turns", 1)
}

/// Adds to a counter. Returns the new value.
fn add(transaction: &WriteTransaction, counter: &str, more: i64) -> Result<u64, Failed> {
    let mut counters = transaction.open_table(COUNTERS)?;
    let before = counters.get(counter)?.map_or(0, |count| count.value());
    let after = before.saturating_add_signed(more);
    counters.insert(counter, after)?;
    Ok(after)
}

/// Returns the number of a client's turns.
pub(super) fn count_turns(transaction: &WriteTransaction, client: Digest) -> Result<u64, Failed> {
    let counts = transaction.open_table(TURNS_OF_CLIENT)?;
    Ok(counts.get(client.as_bytes())?.map_or(0, |count| count.value()))
}

/// Adds a number, which may be negative, to the number of a client's turns.
pub(super) fn add_turns(transaction: &WriteTransaction, client: Digest, more: i64) -> Result<(), Failed> {
    let mut counts = transaction.open_table(TURNS_OF_CLIENT)?;
    let before = counts.get(client.as_bytes())?.map_or(0, |count| count.value());
    let after = before.saturating_add_signed(more);
    if after == 0 {
        counts.remove(client.as_bytes())?;
    } else {
        counts.insert(client.as_bytes(), after)?;
    }
    Ok(())
}
