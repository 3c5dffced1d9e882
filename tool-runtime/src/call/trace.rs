//! Tracing span of a call.

use tracing::Span;
use tracing::field::Empty;

use crate::wire::result::ToolOutcome;

/// Returns a span with field names from the `GenAI` conventions of OpenTelemetry. The span has neither arguments nor results.
pub(crate) fn span(name: &str, id: &str, is_from_text: bool) -> Span {
    // A span has only the fields of its macro, and most calls need no field for this.
    if is_from_text {
        return tracing::info_span!(
            "execute_tool",
            otel.name = %format_args!("execute_tool {name}"),
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = %name,
            gen_ai.tool.call.id = %id,
            gen_ai.tool.r#type = "function",
            tool_gateway.call.from_text = true,
            error.r#type = Empty,
            otel.status_code = Empty,
        );
    }
    tracing::info_span!(
        "execute_tool",
        otel.name = %format_args!("execute_tool {name}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %name,
        gen_ai.tool.call.id = %id,
        gen_ai.tool.r#type = "function",
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// Records the failure of a call in its span.
pub(crate) fn record(span: &Span, outcome: &ToolOutcome) {
    if let Some(failure) = outcome.failure {
        tracing::record_all!(span, error.r#type = failure.as_str(), otel.status_code = "ERROR");
    }
}
