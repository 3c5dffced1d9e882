//! [`BlockPlace`]: the place of a block in a request, for errors.

use crate::wire::error::ApiError;

/// Place of a block in the request.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPlace {
    pub(super) message: usize,
    pub(super) block: usize,
}

impl BlockPlace {
    pub(super) fn error(self, message: &str) -> ApiError {
        let Self { message: at, block } = self;
        ApiError::invalid(format!("messages.{at}.content.{block}: {message}"))
    }

    /// Returns the error about a block of this type.
    pub(super) fn unknown(self, kind: &str) -> ApiError {
        self.error(&format!(
            "blocks of type `{kind}` cannot be sent to this upstream; remove the block"
        ))
    }
}
