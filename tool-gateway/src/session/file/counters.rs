//! Counters of a file: its size in bytes, the turns and bytes of each client, and the number of all turns that were ever stored.

use redb::{ReadableTable as _, WriteTransaction};

use super::tables::{CLIENTS_BY_BYTES, COUNTERS, SIZES_OF_CLIENTS};
use crate::session::database::Failed;

/// Returns the number of bytes of turns and progress.
pub(super) fn count_bytes(transaction: &WriteTransaction) -> Result<u64, Failed> {
    let sizes = transaction.open_table(COUNTERS)?;
    Ok(sizes.get("bytes")?.map_or(0, |bytes| bytes.value()))
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

/// Numbers of turns and bytes of a client in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ClientSize {
    pub(super) turns: u64,
    /// Number of bytes of turns and of progress.
    pub(super) bytes: u64,
}

/// Turns and bytes of a client that were added or removed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SizeChange {
    pub(super) turns: i64,
    pub(super) bytes: i64,
}

impl SizeChange {
    /// Returns the change for an added turn of this many bytes.
    pub(super) fn turn(bytes: usize) -> Self {
        Self {
            turns: 1,
            ..Self::progress(bytes)
        }
    }

    /// Returns the change for added progress of this many bytes.
    pub(super) fn progress(bytes: usize) -> Self {
        Self {
            turns: 0,
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        }
    }

    /// Adds another change.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns the opposite change.
    pub(super) fn removed(self) -> Self {
        Self {
            turns: -self.turns,
            bytes: -self.bytes,
        }
    }
}

/// Returns the size of a client.
pub(super) fn size_of(transaction: &WriteTransaction, client: &[u8; 32]) -> Result<ClientSize, Failed> {
    let sizes = transaction.open_table(SIZES_OF_CLIENTS)?;
    let size = sizes.get(client)?.map(|size| size.value());
    let (turns, bytes) = size.unwrap_or_default();
    Ok(ClientSize { turns, bytes })
}

/// Counts a change of a client.
pub(super) fn change_size(
    transaction: &WriteTransaction,
    client: &[u8; 32],
    change: SizeChange,
) -> Result<(), Failed> {
    let before = size_of(transaction, client)?;
    let after = ClientSize {
        turns: before.turns.saturating_add_signed(change.turns),
        bytes: before.bytes.saturating_add_signed(change.bytes),
    };
    let mut sizes = transaction.open_table(SIZES_OF_CLIENTS)?;
    let mut by_bytes = transaction.open_table(CLIENTS_BY_BYTES)?;
    by_bytes.remove((before.bytes, client))?;
    if after == ClientSize::default() {
        sizes.remove(client)?;
    } else {
        sizes.insert(client, (after.turns, after.bytes))?;
        by_bytes.insert((after.bytes, client), ())?;
    }
    drop((sizes, by_bytes));
    add(transaction, "bytes", change.bytes)?;
    Ok(())
}
