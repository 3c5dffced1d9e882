//! [`DamagedRecords`]: records in Redis that could not be read.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::session::store_error::StoreError;

/// Maximum number of records that are remembered.
const MAX_REPORTED: usize = 1024;

/// Counts and logs damaged records. A record stays in Redis until it expires, and each request of its conversation looks it up, so that each
/// record is counted and logged once.
#[derive(Debug, Default)]
pub(super) struct DamagedRecords {
    count: AtomicU64,
    /// Digests of the records that were reported.
    reported: Mutex<HashSet<[u8; 32]>>,
}

impl DamagedRecords {
    /// Returns the number of damaged records and logs.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Reports the record of a turn.
    pub(super) fn report_turn(&self, key: &str, record: &[u8], error: &StoreError) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(key.as_bytes()).update(&[0]).update(record);
        {
            let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
            if reported.len() >= MAX_REPORTED {
                reported.clear();
            }
            if !reported.insert(*hasher.finalize().as_bytes()) {
                return;
            }
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(%error, "a record in Redis is not readable, so its turn is not found");
    }

    /// Reports the progress of a request, which the next claim replaces.
    pub(super) fn report_log(&self, error: &StoreError) {
        self.count.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(%error, "the progress of a request in Redis is not readable, so the request does not continue from there");
    }
}
