//! Reasons why a model stops.

/// Returns whether a `finish_reason` or `stop_reason` means that the output was cut off. Servers that translate
/// from another API may keep the reasons of that API, in upper or lower case.
pub(crate) fn is_cut_off(reason: &str) -> bool {
    CUT_OFF.iter().any(|word| word.eq_ignore_ascii_case(reason))
}

const CUT_OFF: [&str; 19] = [
    "length",
    "max_tokens",
    "max_output_tokens",
    "model_context_window_exceeded",
    "content_filter",
    "refusal",
    "error",
    "insufficient_system_resource",
    "abort",
    "aborted",
    "cancelled",
    "canceled",
    "timeout",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "malformed_function_call",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_reasons_of_truncated_outputs_in_any_case() {
        for word in CUT_OFF {
            assert!(is_cut_off(word) && is_cut_off(&word.to_uppercase()), "{word}");
        }
        assert!(is_cut_off("Max_Tokens"));
    }

    #[test]
    fn accepts_reasons_of_complete_outputs() {
        for word in [
            "stop",
            "tool_calls",
            "function_call",
            "end_turn",
            "tool_use",
            "stop_sequence",
            "eos",
            "STOP",
            "pause_turn",
            "lengthy",
            "",
        ] {
            assert!(!is_cut_off(word), "{word}");
        }
    }
}
