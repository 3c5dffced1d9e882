//! [`Principal`]: the owner of sessions.

use std::sync::Arc;

/// The identity of a client: the name of its key, or a digest of its credential. Sessions belong to it, and limits count for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Principal(Arc<str>);

impl Principal {
    /// Creates the principal of a configured key. The name identifies it, so that the key can be changed.
    pub(crate) fn from_key_name(name: &str) -> Self {
        Self(format!("key {name}").into())
    }

    /// Creates the principal of a credential that no configuration names, from its keyed digest.
    pub(crate) fn from_credential(digest: &str) -> Self {
        Self(format!("credential {digest}").into())
    }

    /// Returns the bytes that digests of the principal's sessions hold.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
