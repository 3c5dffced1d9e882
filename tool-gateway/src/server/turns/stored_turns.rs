//! [`StoredTurns`]: turns of a request that this process does not know, in a store.

use super::checkpoint::Checkpoint;
use crate::session::store::Lease;
use crate::wire::error::ApiError;

/// A sample of the answer to a request that this gateway may run.
#[derive(Debug)]
pub(crate) struct ClaimedTurn {
    pub(crate) lease: Lease,
    /// Progress of an earlier process. The checkpoint of a complete turn has the answer.
    pub(crate) checkpoint: Option<Checkpoint>,
    /// Fence of the lease under which the checkpoint was stored, or was removed because the number of an answered sample is used again; 0 in
    /// a store that one gateway uses at a time. For a complete sample, the fence of `lease`.
    pub(crate) stored_fence: u64,
}

/// The store's turns of a request.
pub(crate) trait StoredTurns {
    /// Returns whether several gateways use the store, so that a turn that failed here may continue elsewhere.
    fn is_shared(&self) -> bool;

    /// Claims a sample that is not among `running`. Returns `None` while another gateway runs the sample that the request joins. `failed` is
    /// the lease of the turn that has failed here, whose progress is in memory, and which the store may have lost.
    async fn claim(&self, running: &[u64], failed: Option<Lease>) -> Result<Option<ClaimedTurn>, ApiError>;
}
