//! The tracing span of a call.

use std::future::Future;

use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::wire::result::ToolOutcome;

/// A span with the names of OpenTelemetry's `GenAI` conventions; it contains neither arguments nor results.
pub(crate) fn span(name: &str, id: &str) -> Span {
    tracing::info_span!(
        "execute_tool",
        otel.name = %format_args!("execute_tool {name}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %name,
        gen_ai.tool.call.id = %id,
        gen_ai.tool.r#type = "function",
        error.r#type = Empty,
    )
}

/// Runs a call in its span, which records how the call failed.
pub(crate) async fn run(span: Span, call: impl Future<Output = ToolOutcome>) -> ToolOutcome {
    if span.is_disabled() {
        return call.await; // what `instrument` does costs 2 % of a call
    }
    let outcome = call.instrument(span.clone()).await;
    if let Some(failure) = outcome.failure {
        span.record("error.type", failure.as_str());
    }
    outcome
}
