//! [`RecordCache`]: records of turns that were read from a shared store, by id and revision.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::chain::Digest;
use super::store::{FoundEntries, FoundTurn, StoredTurn, TurnRef};
use super::turn_record::TurnRecord;
use crate::fold_map::FoldMap;

/// Maximum number of bytes of the records.
const MAX_BYTES: usize = 64 << 20;

/// Estimated size in bytes of an entry without its record.
const ENTRY_BYTES: usize = 256;

/// Keeps the records that were used last. A revision never changes, so that a look-up which returns the current revision makes the record of
/// the cache current, too.
#[derive(Debug)]
pub(crate) struct RecordCache {
    max_bytes: usize,
    entries: Mutex<CachedRecords>,
}

#[derive(Debug, Default)]
struct CachedRecords {
    by_turn: FoldMap<RecordKey, CachedRecord>,
    /// Turns by the number of their last use.
    by_use: BTreeMap<u64, RecordKey>,
    uses: u64,
    bytes: usize,
}

/// A client, and the id of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RecordKey {
    client: Digest,
    id: String,
}

#[derive(Debug)]
struct CachedRecord {
    revision: u64,
    record: TurnRecord,
    bytes: usize,
    used: u64,
}

impl CachedRecords {
    fn remove(&mut self, key: &RecordKey) {
        if let Some(entry) = self.by_turn.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes = self.bytes.saturating_sub(entry.bytes);
        }
    }

    /// Returns the record of a turn, if the cache has this revision.
    fn get(&mut self, client: Digest, turn: &TurnRef) -> Option<TurnRecord> {
        let key = RecordKey {
            client,
            id: turn.id.clone(),
        };
        let entry = self.by_turn.get_mut(&key)?;
        if entry.revision != turn.revision {
            return None;
        }
        self.uses += 1;
        self.by_use.remove(&entry.used);
        entry.used = self.uses;
        self.by_use.insert(entry.used, key);
        Some(entry.record.clone())
    }
}

impl RecordCache {
    pub(crate) fn new() -> Self {
        Self::with_max_bytes(MAX_BYTES)
    }

    fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            entries: Mutex::default(),
        }
    }

    /// Replaces the references of a look-up by their records, as far as the cache has them.
    pub(crate) fn fill(&self, client: Digest, found: &mut FoundEntries) {
        let mut entries = self.lock();
        let of_call = found.call.iter_mut().map(|call| &mut call.turn);
        for turn in of_call.chain(found.points.iter_mut().flatten()) {
            if let FoundTurn::Ref(reference) = turn
                && let Some(record) = entries.get(client, reference)
            {
                let revision = reference.revision;
                *turn = FoundTurn::Turn(StoredTurn { revision, record });
            }
        }
    }

    /// Keeps a record, unless the cache has a later revision of the turn.
    pub(crate) fn insert(&self, client: Digest, turn: StoredTurn) {
        let StoredTurn { revision, record } = turn;
        let bytes = record.size() + ENTRY_BYTES;
        let key = RecordKey {
            client,
            id: record.id().to_owned(),
        };
        let mut entries = self.lock();
        let is_old = |entry: &CachedRecord| entry.revision > revision;
        if bytes > self.max_bytes || entries.by_turn.get(&key).is_some_and(is_old) {
            return;
        }
        entries.remove(&key);
        entries.uses += 1;
        entries.bytes += bytes;
        let used = entries.uses;
        entries.by_use.insert(used, key.clone());
        let entry = CachedRecord {
            revision,
            record,
            bytes,
            used,
        };
        entries.by_turn.insert(key, entry);
        while entries.bytes > self.max_bytes
            && let Some((_, oldest)) = entries.by_use.pop_first()
        {
            entries.remove(&oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, CachedRecords> {
        // No change can panic halfway.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::store::FoundCall;
    use crate::session::tests::{digest, turn};

    fn record(id: &str) -> TurnRecord {
        TurnRecord::new(turn(id, "a", "point"))
    }

    fn insert(cache: &RecordCache, client: &str, id: &str, revision: u64) {
        let record = record(id);
        cache.insert(digest(client), StoredTurn { revision, record });
    }

    fn has(cache: &RecordCache, client: &str, id: &str, revision: u64) -> bool {
        let turn = || {
            FoundTurn::Ref(TurnRef {
                id: id.to_owned(),
                revision,
            })
        };
        let mut found = FoundEntries {
            session: None,
            call: Some(FoundCall { at: 0, turn: turn() }),
            points: vec![vec![turn()]],
        };
        cache.fill(digest(client), &mut found);
        let call = found.call.unwrap().turn;
        assert_eq!(call, found.points[0][0]);
        if let FoundTurn::Turn(stored) = &call {
            assert_eq!((stored.revision, &stored.record), (revision, &record(id)));
        }
        matches!(call, FoundTurn::Turn(_))
    }

    #[test]
    fn returns_only_the_found_revision_of_the_client() {
        let cache = RecordCache::new();
        insert(&cache, "ada", "1", 5);
        assert!(has(&cache, "ada", "1", 5));
        for (client, id, revision) in [("bob", "1", 5), ("ada", "2", 5), ("ada", "1", 4), ("ada", "1", 6)] {
            assert!(!has(&cache, client, id, revision), "{client} {id} {revision}");
        }
        insert(&cache, "ada", "1", 4);
        assert!(
            has(&cache, "ada", "1", 5),
            "a late answer replaces no later revision"
        );
        insert(&cache, "ada", "1", 6);
        assert!(has(&cache, "ada", "1", 6) && !has(&cache, "ada", "1", 5));
    }

    #[test]
    fn removes_the_records_that_were_not_used_longest() {
        let size = record("1").size() + ENTRY_BYTES;
        let cache = RecordCache::with_max_bytes(3 * size);
        for id in ["1", "2", "3"] {
            insert(&cache, "ada", id, 1);
        }
        assert!(has(&cache, "ada", "1", 1));
        insert(&cache, "ada", "4", 1);
        let kept: Vec<_> = ["1", "2", "3", "4"]
            .into_iter()
            .filter(|id| has(&cache, "ada", id, 1))
            .collect();
        assert_eq!(kept, ["1", "3", "4"]);
        let entries = cache.lock();
        assert_eq!((entries.bytes, entries.by_use.len()), (3 * size, 3));
        drop(entries);
        let small = RecordCache::with_max_bytes(size - 1);
        insert(&small, "ada", "1", 1);
        assert!(!has(&small, "ada", "1", 1), "a large record displaces no others");
    }
}
