//! [`StoreError`]: the error of a store operation.

/// Error of a store operation, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the session store failed: {0}")]
pub struct StoreError(pub String);
