//! [`ExpectedResponse`]: facts of a request for reading its response.

/// Facts of a request for reading its response.
#[derive(Debug)]
pub(in crate::upstream::openai) struct ExpectedResponse {
    /// Name of the model for the client.
    pub(in crate::upstream::openai) model: String,
    /// Estimate of the input tokens, for the start of a message whose first chunk has no usage.
    pub(in crate::upstream::openai) input_tokens: u64,
}
