//! Spans with the names of OpenTelemetry's `GenAI` conventions, without contents of messages. The span of a turn is an `invoke_agent`; its
//! children are a `chat` for each request to the upstream and an `execute_tool` for each call, which the registry creates.

use axum::http::StatusCode;
use tracing::Span;
use tracing::field::Empty;

use crate::session::record::SessionId;
use crate::wire::request::MessagesRequest;
use crate::wire::usage::TokenCounts;
use crate::wire::walk;

/// Creates the span of a turn.
pub(crate) fn turn(session: &SessionId) -> Span {
    tracing::info_span!(
        "invoke_agent",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.provider.name = "anthropic",
        gen_ai.conversation.id = session.as_str(),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// Creates the span of a request to the upstream. The model is read only for a log or collector with such spans.
pub(crate) fn chat(request: &MessagesRequest) -> Span {
    tracing::info_span!(
        "chat",
        otel.name = format!("chat {}", model(request)),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = "anthropic",
        gen_ai.request.model = model(request),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// Maximum number of characters of a model's name in a span. The client chooses the name, and spans wait in memory until they are exported.
const MAX_MODEL: usize = 256;

/// Returns the name of the requested model, cut to the maximum length.
pub(crate) fn model(request: &MessagesRequest) -> String {
    let model = request.get("model").and_then(walk::string).unwrap_or_default();
    let end = model
        .char_indices()
        .nth(MAX_MODEL)
        .map_or(model.len(), |(end, _)| end);
    model.get(..end).unwrap_or_default().to_owned()
}

/// Records the status and the tokens of a turn or a request.
pub(crate) fn record(span: &Span, status: StatusCode, tokens: &TokenCounts) {
    // One call records both, since some subscribers write all fields again.
    tracing::record_all!(
        span,
        gen_ai.usage.input_tokens = tokens.input,
        gen_ai.usage.output_tokens = tokens.output,
    );
    fail(span, status);
}

/// Records the status of an error response.
pub(crate) fn fail(span: &Span, status: StatusCode) {
    if !status.is_success() {
        tracing::record_all!(span, error.r#type = status.as_str(), otel.status_code = "ERROR");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_model_is_cut() {
        for (name, length) in [("é".repeat(10), 10), ("é".repeat(1_000_000), MAX_MODEL)] {
            let body = format!(r#"{{"model":"{name}","messages":[]}}"#);
            let request = MessagesRequest::parse(body).unwrap();
            assert_eq!(model(&request), "é".repeat(length));
        }
    }
}
