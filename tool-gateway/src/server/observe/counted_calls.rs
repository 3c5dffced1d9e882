//! [`CountedCalls`]: a layer that counts the calls of the gateway's tools by outcome.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::result::Failure;
use tool_runtime::{ToolCall, ToolOutcome};
use tower_layer::Layer;
use tower_service::Service;

use super::metrics::Metrics;

/// Layer and service that count calls.
#[derive(Debug, Clone)]
pub(crate) struct CountedCalls<S> {
    metrics: Metrics,
    inner: S,
}

impl CountedCalls<()> {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self { metrics, inner: () }
    }
}

impl Layer<ToolService> for CountedCalls<()> {
    type Service = CountedCalls<ToolService>;

    fn layer(&self, inner: ToolService) -> Self::Service {
        CountedCalls {
            metrics: self.metrics.clone(),
            inner,
        }
    }
}

impl Service<ToolCall> for CountedCalls<ToolService> {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let counted = Counted {
            metrics: self.metrics.clone(),
            tool: call.name.clone(),
            failure: Some(Failure::Cancelled),
        };
        let called = self.inner.call(call);
        Box::pin(async move {
            let mut counted = counted;
            let outcome = called.await;
            counted.failure = match &outcome {
                Ok(outcome) => outcome.failure,
                Err(_) => Some(Failure::Layer),
            };
            outcome
        })
    }
}

/// Guard that counts a call at its end, also if the call is dropped.
struct Counted {
    metrics: Metrics,
    tool: String,
    failure: Option<Failure>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.metrics.tool_call(&self.tool, self.failure);
    }
}
