//! [`Delta`]: a piece of a streamed response.

/// A piece of a streamed response, to be shown at once. The whole response follows at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// Next piece of the text, or of the refusal.
    Text(String),
    /// Next piece of the reasoning: a thinking block, or the `reasoning_content` or `reasoning` of compatible
    /// servers.
    Thinking(String),
    /// Start of a call. Its arguments are in the whole response.
    Call {
        /// Name of the tool.
        name: String,
    },
}
