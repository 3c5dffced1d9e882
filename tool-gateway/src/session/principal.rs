//! [`Principal`]: the owner of sessions.

use std::sync::Arc;

/// Identity of a client: the name of its key, or a digest of its credential. Sessions belong to a principal, and limits apply to a
/// principal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Principal(Arc<str>);

impl Principal {
    /// Creates the principal of a configured key. The name of the key identifies the principal, so the sessions are kept if the key is
    /// replaced.
    pub(crate) fn from_key_name(name: &str) -> Self {
        Self(format!("key {name}").into())
    }

    /// Creates the principal of a credential that is not a configured key. `digest` is a MAC of the credential, keyed with the
    /// gateway's secret.
    pub(crate) fn from_credential(digest: &str) -> Self {
        Self(["credential ", digest].concat().into())
    }

    /// Returns the name of the principal's key, or `None` if the principal has no configured key.
    pub(crate) fn key_name(&self) -> Option<&str> {
        self.0.strip_prefix("key ")
    }

    /// Returns the name of the principal among all principals, which may contain the digest of a credential.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the bytes of the principal, for digests.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
