//! [`ChatUsage`]: the tokens of a completion.

use serde::Serialize;

use crate::wire::object::Object;

/// Tokens in the form of the Messages API: cached tokens are no input tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[allow(clippy::struct_field_names, reason = "the names of the API")]
pub(super) struct ChatUsage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens_details: Option<OutputTokens>,
}

/// Parts of the output tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct OutputTokens {
    thinking_tokens: u64,
}

impl ChatUsage {
    /// Creates the usage of a message whose tokens are estimated.
    pub(super) fn estimated(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            ..Self::default()
        }
    }

    /// Returns the tokens of the prompt, also cached ones.
    pub(super) fn prompt_tokens(&self) -> u64 {
        let cached = self
            .cache_creation_input_tokens
            .saturating_add(self.cache_read_input_tokens);
        self.input_tokens.saturating_add(cached)
    }

    /// Reads the `usage` of a completion. Counters that are no numbers, or negative, are zero.
    pub(super) fn read(text: &str) -> Option<Self> {
        let usage = Object::from_json(text)?;
        let count = |object: Option<Object<'_>>, name: &str| object?.get(name)?.parse::<u64>().ok();
        let object = |name: &str| usage.get(name).and_then(Object::from_json);
        let details = object("prompt_tokens_details");
        let prompt = count(Some(usage), "prompt_tokens").unwrap_or_default();
        let cached = count(details, "cached_tokens")
            .or_else(|| count(Some(usage), "prompt_cache_hit_tokens"))
            .unwrap_or_default();
        let written = count(details, "cache_write_tokens").unwrap_or_default();
        let completion = count(Some(usage), "completion_tokens").unwrap_or_default();
        let reasoning = count(object("completion_tokens_details"), "reasoning_tokens");
        // Some servers do not count the reasoning as completion, which only the total shows.
        let apart = reasoning.filter(|reasoning| {
            let parts = prompt.saturating_add(completion).saturating_add(*reasoning);
            *reasoning > 0 && count(Some(usage), "total_tokens") == Some(parts)
        });
        Some(Self {
            input_tokens: prompt.saturating_sub(cached).saturating_sub(written),
            cache_creation_input_tokens: written,
            cache_read_input_tokens: cached,
            output_tokens: completion.saturating_add(apart.unwrap_or_default()),
            output_tokens_details: reasoning.map(|thinking_tokens| OutputTokens { thinking_tokens }),
        })
    }
}
