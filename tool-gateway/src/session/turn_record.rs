//! [`TurnRecord`]: a turn as stores keep it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::chain::Digest;
use super::encoding::{decode, encode};
use super::record::{SessionId, Turn};
use super::store_error::StoreError;

/// A turn with its true transcript, which only the gateway reads. A store keeps the record, or its bytes. A clone shares the turn.
///
/// The bytes contain their version. A record of the previous version of the program is read, too.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRecord(Arc<Turn>);

impl TurnRecord {
    /// Creates the record of a turn.
    pub(crate) fn new(mut turn: Turn) -> Self {
        turn.shrink();
        Self(Arc::new(turn))
    }

    /// Creates the record of a turn that a store has read.
    pub(super) fn from_stored(turn: Turn) -> Self {
        Self(Arc::new(turn))
    }

    pub(crate) fn turn(&self) -> &Turn {
        &self.0
    }

    pub(crate) fn into_turn(self) -> Arc<Turn> {
        self.0
    }

    /// Returns the id of the turn: 22 characters of `[A-Za-z0-9_-]`.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the session of the turn.
    pub fn session(&self) -> &SessionId {
        &self.0.session
    }

    /// Returns the point of the conversation after the turn, by which later requests find the turn.
    pub fn point(&self) -> Digest {
        self.0.point
    }

    /// Returns the state of the session after the turn.
    pub fn state(&self) -> &Map<String, Value> {
        &self.0.state
    }

    /// Returns whether calls of the turn wait for the client, so that its session is kept longer.
    pub fn is_suspended(&self) -> bool {
        self.0.is_suspended()
    }

    /// Estimates the size of the record in memory, in bytes.
    pub fn size(&self) -> usize {
        self.0.size()
    }

    /// Serializes the record.
    ///
    /// # Errors
    ///
    /// If the record is larger than 256 MiB.
    pub fn encode(&self) -> Result<Vec<u8>, StoreError> {
        encode(&*self.0)
    }

    /// Reads a record from the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    ///
    /// If the bytes are no record, or a record of an unknown version.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        Ok(Self::from_stored(decode(bytes)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::turn;

    #[test]
    fn bytes_are_read_as_the_record() {
        let record = TurnRecord::new(turn("suspended-1", "ses_a", "point"));
        let bytes = record.encode().unwrap();
        assert_eq!(TurnRecord::decode(&bytes).as_ref(), Ok(&record));
        assert_eq!((record.id(), record.is_suspended()), ("suspended-1", true));
        assert!(TurnRecord::decode(&bytes[1..]).is_err());
        // The state is an object of JSON, in the record and beside it.
        assert_eq!(record.state().get("turn"), Some(&Value::from("suspended-1")));
    }
}
