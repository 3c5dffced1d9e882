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

/// Mints ids for calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum IdSource {
    #[default]
    Random,
    /// `toolu_0`, `toolu_1`, …: for tests, which compare.
    #[cfg(test)]
    Counted(usize),
}

impl IdSource {
    pub(super) fn mint(&mut self) -> String {
        match self {
            Self::Random => format!("toolu_{}", crate::random::id()),
            #[cfg(test)]
            Self::Counted(next) => {
                *next += 1;
                format!("toolu_{}", *next - 1)
            }
        }
    }
}
