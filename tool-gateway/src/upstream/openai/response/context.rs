//! [`ContextError`]: the error of a prompt or an output that does not fit into the context of the model.

use super::failure::ChatFailure;

/// Error of a request that is too long. Numbers that the server does not state are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ContextError {
    /// Tokens of the prompt.
    pub(super) input: Option<u64>,
    /// Maximum number of output tokens that the request asked for.
    pub(super) asked: Option<u64>,
    /// Tokens of the context.
    pub(super) limit: Option<u64>,
}

/// Names of the error.
const CODES: [&str; 2] = ["context_length_exceeded", "exceed_context_size_error"];

/// Texts before the size of the context.
const LIMITS: [&str; 4] = [
    "context length",
    "context window",
    "context size",
    "maximum model length",
];

/// Texts of other errors about a prompt that is too long.
const TOO_LONG: [&str; 4] = [
    "prompt is too long",
    "input is too long",
    "exceeds the available context",
    "too many input tokens",
];

impl ContextError {
    /// Reads the error of a server; `None` for another error.
    pub(super) fn read(failure: &ChatFailure) -> Option<Self> {
        let text = failure.message.to_ascii_lowercase();
        let is_known = failure.code.as_deref().is_some_and(|code| CODES.contains(&code))
            || failure.context_tokens.is_some()
            || LIMITS.iter().chain(&TOO_LONG).any(|words| text.contains(words));
        if !is_known {
            return None;
        }
        let after = |words: &[&str]| words.iter().find_map(|words| number_after(&text, words));
        let before = |words: &[&str]| words.iter().find_map(|words| number_before(&text, words));
        Some(Self {
            input: failure.prompt_tokens.or_else(|| {
                before(&[
                    " input tokens",
                    " in the messages",
                    " tokens from the input",
                    " tokens from your input",
                ])
                .or_else(|| after(&["resulted in ", "the input (", "prompt contains "]))
            }),
            asked: before(&[
                " in the completion",
                " output tokens",
                " tokens for the completion",
            ])
            .or_else(|| after(&["is too large: "])),
            limit: failure.context_tokens.or_else(|| after(&LIMITS)),
        })
    }

    /// Returns the number of output tokens with which the request fits, if it is worth a second request.
    pub(super) fn fitting(&self) -> Option<u64> {
        let rest = self.limit?.checked_sub(self.input?)?.checked_sub(MARGIN)?;
        (rest >= MIN_OUTPUT).then_some(rest)
    }

    /// Returns the message in the wording that clients know, which Claude Code reads in order to shorten its request. `max_tokens` is the
    /// value of the request.
    pub(super) fn message(&self, message: &str, max_tokens: Option<u64>) -> String {
        match (self.input, self.asked.or(max_tokens), self.limit) {
            (Some(input), Some(asked), Some(limit)) if input < limit => format!(
                "input length and `max_tokens` exceed context limit: {input} + {asked} > {limit}, decrease input length or `max_tokens` and try again"
            ),
            (Some(input), _, Some(limit)) => format!("prompt is too long: {input} tokens > {limit} maximum"),
            _ => format!("prompt is too long: {message}"),
        }
    }
}

/// Number of tokens that are left, since servers count a few more than they state.
const MARGIN: u64 = 64;

/// Minimum number of output tokens for which a request is repeated.
const MIN_OUTPUT: u64 = 1024;

/// Returns the limit of the output alone that a message states.
pub(super) fn output_limit(failure: &ChatFailure) -> Option<u64> {
    let text = failure.message.to_ascii_lowercase();
    let is_known = ["completion tokens", "max_tokens", "max_completion_tokens"]
        .iter()
        .any(|words| text.contains(words));
    // `less than or equal to` is Groq's wording, the range DeepSeek's.
    let limits = ["at most ", "less than or equal to ", "<= ", "[1,"].into_iter();
    let mut limits = limits.filter_map(|words| number_after(&text, words));
    is_known.then(|| limits.next())?
}

/// Returns the first number in the few words after a text.
fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    let start = rest.find(|character: char| character.is_ascii_digit())?;
    if start > 24 {
        return None;
    }
    let digits = rest.get(start..)?;
    let end = digits.find(|character: char| !character.is_ascii_digit());
    digits.get(..end.unwrap_or(digits.len()))?.parse().ok()
}

/// Returns the number directly before a text.
fn number_before(text: &str, words: &str) -> Option<u64> {
    let (before, _) = text.split_once(words)?;
    let start = before.rfind(|character: char| !character.is_ascii_digit());
    before.get(start.map_or(0, |start| start + 1)..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_the_wordings_of_servers() {
        let full = |input, asked, limit| ContextError { input, asked, limit };
        for (body, expected) in [
            (
                r#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (8000 in the messages, 2000 in the completion)."}}"#,
                full(Some(8000), Some(2000), Some(8192)),
            ),
            (
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."}}"#,
                full(Some(9000), None, Some(8192)),
            ),
            (
                r#"{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 17459 input tokens (32000 > 32768 - 17459)."}"#,
                full(Some(17459), Some(32000), Some(32768)),
            ),
            (
                r#"{"message":"You passed 17459 input tokens and requested 32000 output tokens. However, the model's context length is only 32768 tokens"}"#,
                full(Some(17459), Some(32000), Some(32768)),
            ),
            (
                r#"{"message":"The input (5000 tokens) is longer than the model's context length (4096 tokens)."}"#,
                full(Some(5000), None, Some(4096)),
            ),
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#,
                full(Some(9000), None, Some(4096)),
            ),
            (r#"{"message":"Prompt is too long"}"#, full(None, None, None)),
        ] {
            assert_eq!(
                ContextError::read(&ChatFailure::parse(body)),
                Some(expected),
                "{body}"
            );
        }
        let other = ChatFailure::parse(r#"{"error":{"message":"unknown field `top_k`"}}"#);
        assert_eq!(ContextError::read(&other), None);
    }

    #[test]
    fn messages_equal_those_of_the_api() {
        let error = |input, limit| ContextError {
            input: Some(input),
            asked: None,
            limit: Some(limit),
        };
        assert_eq!(
            error(17459, 32768).message("m", Some(32000)),
            "input length and `max_tokens` exceed context limit: 17459 + 32000 > 32768, decrease input length or `max_tokens` and try again"
        );
        assert_eq!(
            error(9000, 4096).message("m", Some(100)),
            "prompt is too long: 9000 tokens > 4096 maximum"
        );
        assert_eq!(
            ContextError::default().message("m", None),
            "prompt is too long: m"
        );
        assert_eq!(error(17459, 32768).fitting(), Some(15245));
        assert_eq!(error(32000, 32768).fitting(), None);
        assert_eq!(error(40000, 32768).fitting(), None);
    }

    #[test]
    fn limits_of_the_output_alone_are_read() {
        for message in [
            "max_tokens is too large: 32000. This model supports at most 4096 completion tokens.",
            "`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens` is less than the `context_window`",
            "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]",
            "max_completion_tokens: expected a value <= 4096",
        ] {
            let body = serde_json::json!({ "error": { "message": message } }).to_string();
            assert_eq!(output_limit(&ChatFailure::parse(&body)), Some(4096), "{message}");
        }
        let other = r#"{"error":{"message":"top_p must be at most 1"}}"#;
        assert_eq!(output_limit(&ChatFailure::parse(other)), None);
    }
}
