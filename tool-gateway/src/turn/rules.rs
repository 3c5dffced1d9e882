//! [`Rules`]: what a turn may do, and whose calls are whose.

use std::collections::BTreeSet;

/// What a turn may do.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Rules {
    /// The tools that the gateway runs.
    pub(crate) internal: BTreeSet<String>,
    /// Those of them that wait for the client's results, if the client has calls in the same message.
    pub(crate) deferred: BTreeSet<String>,
    /// How many rounds of the gateway's own a turn may have.
    pub(crate) max_rounds: usize,
    /// How many tokens its rounds may take together, read and written, before the gateway begins no more.
    pub(crate) max_tokens: Option<u64>,
    /// The ids for calls of the client, from first to last.
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
