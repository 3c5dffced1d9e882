//! [`Delta`]: a piece of a response, as it arrives.

/// A piece of a response that is still being streamed, to be shown at once. The whole response follows at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// More of the text, or of the refusal.
    Text(String),
    /// More of the reasoning: a thinking block, or the `reasoning_content` or `reasoning` of compatible servers.
    Thinking(String),
    /// A call of this tool began. Its arguments are in the whole response.
    Call {
        /// Name of the tool.
        name: String,
    },
}
