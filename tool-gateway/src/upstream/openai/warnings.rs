//! [`WarningCode`]: parts of messages that the translation leaves out or changes.

/// A part of a request or response that was left out or changed. The name is the label `code` of `translation_warnings_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WarningCode {
    Betas,
    Citations,
    ContextManagement,
    CountTokens,
    Diagnostics,
    Effort,
    Fallbacks,
    FinishReason,
    ForcedTool,
    JsonSchema,
    MaxTokens,
    ParallelCalls,
    ServerTools,
    ServiceTier,
    Speed,
    Strict,
    Thinking,
    TopK,
    UnknownField,
    UserId,
}

impl WarningCode {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Betas => "betas",
            Self::Citations => "citations",
            Self::ContextManagement => "context_management",
            Self::CountTokens => "count_tokens",
            Self::Diagnostics => "diagnostics",
            Self::Effort => "effort",
            Self::Fallbacks => "fallbacks",
            Self::FinishReason => "finish_reason",
            Self::ForcedTool => "forced_tool",
            Self::JsonSchema => "json_schema",
            Self::MaxTokens => "max_tokens",
            Self::ParallelCalls => "parallel_calls",
            Self::ServerTools => "server_tools",
            Self::ServiceTier => "service_tier",
            Self::Speed => "speed",
            Self::Strict => "strict",
            Self::Thinking => "thinking",
            Self::TopK => "top_k",
            Self::UnknownField => "unknown_field",
            Self::UserId => "user_id",
        }
    }
}
