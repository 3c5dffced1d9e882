//! [`ExpectedResponse`]: facts of a request for reading its response.

use crate::upstream::openai::names::ChatNames;

/// Facts of a request for reading its response.
#[derive(Debug, Default)]
pub(in crate::upstream::openai) struct ExpectedResponse {
    /// Name of the model for the client.
    pub(in crate::upstream::openai) model: String,
    /// Name of the model for the server, which is the header `x-tool-gateway-model`.
    pub(in crate::upstream::openai) served_model: String,
    /// Estimate of the input tokens, for the start of a message whose first chunk has no usage.
    pub(in crate::upstream::openai) input_tokens: u64,
    /// The request's stop sequences.
    pub(in crate::upstream::openai) stop_sequences: Vec<String>,
    /// Whether several objects in the arguments of one call are as many calls.
    pub(in crate::upstream::openai) splits_objects: bool,
    /// Names of functions that differ from the client's names of tools.
    pub(in crate::upstream::openai) names: ChatNames,
    /// Whether only the first call of the message counts, since the client disabled parallel calls.
    pub(in crate::upstream::openai) is_single_call: bool,
}
