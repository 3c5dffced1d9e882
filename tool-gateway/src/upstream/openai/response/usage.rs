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
}

impl ChatUsage {
    /// Creates the usage of a message whose tokens are not known yet.
    pub(super) fn estimated(input_tokens: u64) -> Self {
        Self {
            input_tokens,
            ..Self::default()
        }
    }

    /// Reads the `usage` of a completion.
    pub(super) fn read(text: &str) -> Option<Self> {
        let usage = Object::from_json(text)?;
        let count = |object: Option<Object<'_>>, name: &str| object?.get(name)?.parse::<u64>().ok();
        let details = usage.get("prompt_tokens_details").and_then(Object::from_json);
        let prompt = count(Some(usage), "prompt_tokens").unwrap_or_default();
        let cached = count(details, "cached_tokens")
            .or_else(|| count(Some(usage), "prompt_cache_hit_tokens"))
            .unwrap_or_default();
        let written = count(details, "cache_write_tokens").unwrap_or_default();
        Some(Self {
            input_tokens: prompt.saturating_sub(cached).saturating_sub(written),
            cache_creation_input_tokens: written,
            cache_read_input_tokens: cached,
            output_tokens: count(Some(usage), "completion_tokens").unwrap_or_default(),
        })
    }
}
