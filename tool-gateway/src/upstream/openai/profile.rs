//! [`Profile`]: the differences between servers of Chat Completions.

/// Differences of a server from others. The default is the profile `generic`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Profile {
    /// Field with the maximum number of output tokens.
    pub(super) max_field: MaxField,
    /// Whether the server accepts `top_k`.
    pub(super) top_k: bool,
}

/// Field with the maximum number of output tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaxField {
    MaxTokens,
    MaxCompletionTokens,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            max_field: MaxField::MaxTokens,
            top_k: false,
        }
    }
}
