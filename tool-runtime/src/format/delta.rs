//! [`Delta`]: a piece of a response, as it arrives.

/// A piece of a response that is still being streamed, to be shown at once. The whole response comes at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// More of the text, or of the text with which the model refuses.
    Text(String),
    /// More of the reasoning: a thinking block, or what compatible servers send as `reasoning_content` or `reasoning`.
    Thinking(String),
    /// A call of this tool began. Its arguments come with the whole response.
    Call {
        /// The tool's name.
        name: String,
    },
}
