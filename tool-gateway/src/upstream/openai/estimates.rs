//! [`TokenEstimates`]: estimates of the tokens of prompts that the server does not count.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Size of the translated messages and tools of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PromptSize {
    /// Bytes without the data of images.
    pub(super) bytes: u64,
    /// Number of images.
    pub(super) images: u64,
}

impl PromptSize {
    /// Returns the estimated tokens of the images.
    fn image_tokens(self) -> u64 {
        self.images.saturating_mul(IMAGE_TOKENS)
    }
}

/// Tokens of an image.
const IMAGE_TOKENS: u64 = 1600;

/// Bytes of a token by model, which the usages of responses state. Clones share the numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct TokenEstimates(Arc<Mutex<HashMap<String, CountedPrompts>>>);

/// Sums over the prompts of a model that the server has counted.
#[derive(Debug, Clone, Copy, Default)]
struct CountedPrompts {
    bytes: u64,
    tokens: u64,
}

/// Maximum number of models with sums, since clients choose the names of models.
const MAX_MODELS: usize = 256;

impl TokenEstimates {
    /// Estimates the tokens of a prompt: 3.5 bytes a token before the first usage of the model, then the mean of its usages, and 2 % more.
    pub(super) fn estimate(&self, model: &str, prompt: PromptSize) -> u64 {
        let models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = models.get(model).copied();
        drop(models);
        let bytes = u128::from(prompt.bytes);
        let tokens = match counted {
            None => (bytes * 2).div_ceil(7),
            Some(counted) => {
                (bytes * u128::from(counted.tokens) * 102).div_ceil(u128::from(counted.bytes) * 100)
            }
        };
        u64::try_from(tokens)
            .unwrap_or(u64::MAX)
            .saturating_add(prompt.image_tokens())
    }

    /// Adds the number of tokens of a prompt that the server has counted.
    pub(super) fn learn(&self, model: &str, prompt: PromptSize, tokens: u64) {
        let tokens = tokens.saturating_sub(prompt.image_tokens());
        if tokens == 0 || prompt.bytes == 0 {
            return;
        }
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !models.contains_key(model) {
            if models.len() >= MAX_MODELS {
                return;
            }
            models.insert(model.to_owned(), CountedPrompts::default());
        }
        if let Some(counted) = models.get_mut(model) {
            counted.bytes = counted.bytes.saturating_add(prompt.bytes);
            counted.tokens = counted.tokens.saturating_add(tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_usages_replaces_the_default() {
        let estimates = TokenEstimates::default();
        let prompt = |bytes, images| PromptSize { bytes, images };
        assert_eq!(estimates.estimate("m", prompt(3500, 0)), 1000);
        assert_eq!(estimates.estimate("m", prompt(3500, 2)), 1000 + 2 * 1600);
        estimates.learn("m", prompt(2000, 0), 500);
        estimates.learn("m", prompt(2000, 1), 1600 + 500);
        // 4 bytes a token, and 2 % more.
        assert_eq!(estimates.estimate("m", prompt(4000, 1)), 1020 + 1600);
        assert_eq!(estimates.estimate("other", prompt(3500, 0)), 1000);
    }

    #[test]
    fn usages_without_tokens_change_nothing() {
        let estimates = TokenEstimates::default();
        let prompt = PromptSize {
            bytes: 3500,
            images: 1,
        };
        estimates.learn("m", prompt, 0);
        estimates.learn("m", prompt, 1600);
        estimates.learn("m", PromptSize::default(), 10);
        assert_eq!(estimates.estimate("m", prompt), 1000 + 1600);
    }
}
