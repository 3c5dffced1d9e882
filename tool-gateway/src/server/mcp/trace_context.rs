//! The trace of a call, for the server that runs the call.

use std::collections::HashMap;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use serde_json::{Map, Value};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Returns `traceparent` and `tracestate` of the current span, which is the span of a call, as members of `_meta`. Without a collector, there are
/// none. Adds the attributes of OpenTelemetry's conventions for MCP to the span.
pub(super) fn trace_context(server: &str) -> Map<String, Value> {
    let span = Span::current();
    span.set_attribute("mcp.method.name", "tools/call");
    span.set_attribute("mcp.server", server.to_owned());
    let mut members = HashMap::new();
    TraceContextPropagator::new().inject_context(&span.context(), &mut members);
    let members = members.into_iter().filter(|(_, value)| !value.is_empty());
    members.map(|(name, value)| (name, value.into())).collect()
}
