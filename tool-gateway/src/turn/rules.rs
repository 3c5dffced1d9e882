//! [`Rules`]: limits of a turn, and owners of its calls.

use std::collections::BTreeSet;

/// Limits of a turn, and owners of its calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Rules {
    /// Names of the internal tools.
    pub(crate) internal: BTreeSet<String>,
    /// Names of the internal tools whose calls wait for the client's results if a message also has external calls.
    pub(crate) deferred: BTreeSet<String>,
    /// Maximum number of internal rounds of a turn.
    pub(crate) max_rounds: usize,
    /// Number of input and output tokens after which no further round begins.
    pub(crate) max_tokens: Option<u64>,
    /// Source of the ids of external calls.
    pub(crate) ids: IdSource,
}

/// Creates ids of calls, which are keyed hashes of their numbers. Sources with equal keys create equal ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct IdSource {
    /// Random unless set. Drawn when the first id is created.
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
