//! [`Rules`]: the limits of a turn, and the owners of its calls.

use std::collections::BTreeSet;

/// The limits of a turn, and the owners of its calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Rules {
    /// The names of the internal tools.
    pub(crate) internal: BTreeSet<String>,
    /// The names of the internal tools whose calls wait for the client's results, if a message has external calls, too.
    pub(crate) deferred: BTreeSet<String>,
    /// Maximum number of internal rounds of a turn.
    pub(crate) max_rounds: usize,
    /// Number of tokens, read and written, after which no round begins.
    pub(crate) max_tokens: Option<u64>,
    /// Source of the ids of external calls.
    pub(crate) ids: IdSource,
}

/// Mints ids for calls: keyed hashes of their numbers. Sources with the same key mint the same ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct IdSource {
    /// Random, and drawn when the first id is minted, unless it was set.
    pub(super) key: Option<[u8; 32]>,
    pub(super) minted: u64,
}

impl IdSource {
    pub(super) fn mint(&mut self) -> String {
        let key = self.key.get_or_insert_with(crate::random::bytes);
        let hash = blake3::keyed_hash(key, &self.minted.to_le_bytes());
        self.minted += 1;
        format!("toolu_{}", crate::random::id_from(hash.as_bytes()))
    }
}
