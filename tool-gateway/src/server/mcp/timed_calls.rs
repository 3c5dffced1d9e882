//! [`TimedCalls`]: a layer that measures the calls of one server.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::result::Failure;
use tool_runtime::{ToolCall, ToolOutcome};
use tower_layer::Layer;
use tower_service::Service;

use crate::server::observe::mcp_metrics::McpMetrics;

/// Layer and service that measure calls.
#[derive(Debug, Clone)]
pub(super) struct TimedCalls<S> {
    metrics: McpMetrics,
    server: String,
    inner: S,
}

impl TimedCalls<()> {
    pub(super) fn new(metrics: McpMetrics, server: &str) -> Self {
        Self {
            metrics,
            server: server.to_owned(),
            inner: (),
        }
    }
}

impl Layer<ToolService> for TimedCalls<()> {
    type Service = TimedCalls<ToolService>;

    fn layer(&self, inner: ToolService) -> Self::Service {
        TimedCalls {
            metrics: self.metrics.clone(),
            server: self.server.clone(),
            inner,
        }
    }
}

impl Service<ToolCall> for TimedCalls<ToolService> {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let timed = TimedCall {
            metrics: self.metrics.clone(),
            server: self.server.clone(),
            began: Instant::now(),
            failure: Some(Failure::Cancelled),
        };
        let called = self.inner.call(call);
        Box::pin(async move {
            let mut timed = timed;
            let outcome = called.await;
            if outcome
                .as_ref()
                .is_ok_and(ToolOutcome::has_wrong_structured_value)
            {
                timed.metrics.message(&timed.server, "invalid_output");
            }
            timed.failure = match &outcome {
                Ok(outcome) => outcome.failure,
                Err(_) => Some(Failure::Layer),
            };
            outcome
        })
    }
}

/// Guard that measures a call at its end, also if the call is dropped.
struct TimedCall {
    metrics: McpMetrics,
    server: String,
    began: Instant,
    failure: Option<Failure>,
}

impl Drop for TimedCall {
    fn drop(&mut self) {
        self.metrics
            .call(&self.server, self.failure, self.began.elapsed());
    }
}
