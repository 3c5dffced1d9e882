//! [`DigestCache`]: digests that were used recently.

use std::hash::Hash;

use crate::fold_map::FoldMap;

/// Cache of digests, with at most `MAX` entries in each of its maps. Entries that were not used recently are removed.
#[derive(Debug)]
pub(super) struct DigestCache<K, V, const MAX: usize> {
    pub(super) latest: FoldMap<K, V>,
    pub(super) before: FoldMap<K, V>,
}

impl<K, V, const MAX: usize> Default for DigestCache<K, V, MAX> {
    fn default() -> Self {
        Self {
            latest: FoldMap::default(),
            before: FoldMap::default(),
        }
    }
}

impl<K: Eq + Hash, V: Copy, const MAX: usize> DigestCache<K, V, MAX> {
    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        if let Some(known) = self.latest.get(key) {
            return Some(*known);
        }
        let (key, known) = self.before.remove_entry(key)?;
        self.insert(key, known);
        Some(known)
    }

    pub(super) fn insert(&mut self, key: K, known: V) {
        if self.latest.len() >= MAX {
            self.before = std::mem::take(&mut self.latest);
        }
        self.latest.insert(key, known);
    }
}
