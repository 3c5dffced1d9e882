//! [`ExpectedResponse`]: facts of a request for reading its response.

use std::collections::BTreeSet;

use crate::upstream::openai::estimates::{PromptSize, TokenEstimates};
use crate::upstream::openai::names::ChatNames;
use crate::upstream::openai::settings::ArgumentRepair;
use crate::upstream::openai::signature::ThinkingSigner;
use crate::upstream::text_calls::rules::TextThoughts;
use crate::upstream::translation_warnings::TranslationWarnings;

/// Facts of a request for reading its response.
#[derive(Debug, Default)]
pub(in crate::upstream::openai) struct ExpectedResponse {
    /// Name of the model for the client.
    pub(in crate::upstream::openai) model: String,
    /// Name of the model for the server, which is the header `x-tool-gateway-model`.
    pub(in crate::upstream::openai) served_model: String,
    /// Size of the prompt, for the start of a message whose first chunk has no usage.
    pub(in crate::upstream::openai) prompt: PromptSize,
    /// Bytes of a token, which the usage of the response improves.
    pub(in crate::upstream::openai) estimates: TokenEstimates,
    /// Counter of responses without a usage.
    pub(in crate::upstream::openai) warnings: TranslationWarnings,
    /// Stop sequences that the server knows.
    pub(in crate::upstream::openai) stop_sequences: Vec<String>,
    /// Stop sequences that the server does not know, which are searched in the text.
    pub(in crate::upstream::openai) searched_stops: Vec<String>,
    /// Whether several objects in the arguments of one call are as many calls.
    pub(in crate::upstream::openai) splits_objects: bool,
    /// Names of functions that differ from the client's names of tools.
    pub(in crate::upstream::openai) names: ChatNames,
    /// Names of the functions whose arguments leave in pieces, since their tools have `eager_input_streaming`.
    pub(in crate::upstream::openai) eager_functions: BTreeSet<String>,
    /// Repair of the arguments of calls.
    pub(in crate::upstream::openai) repair: ArgumentRepair,
    /// Whether only the first call of the message counts, since the client disabled parallel calls.
    pub(in crate::upstream::openai) is_single_call: bool,
    /// Signs the thinking.
    pub(in crate::upstream::openai) signer: ThinkingSigner,
    /// Whether the texts of thinking are sent in the signatures alone.
    pub(in crate::upstream::openai) omits_thinking: bool,
    /// Treatment of thoughts in tags at the beginning of the text.
    pub(in crate::upstream::openai) thoughts: TextThoughts,
}

impl ExpectedResponse {
    /// Estimates the tokens of the prompt.
    pub(in crate::upstream::openai) fn estimated_tokens(&self) -> u64 {
        self.estimates.estimate(&self.served_model, self.prompt)
    }
}
