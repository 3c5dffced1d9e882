//! [`CountedCalls`]: a layer that counts and measures calls at their end.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::result::Failure;
use tool_runtime::{ToolCall, ToolOutcome};
use tower_layer::Layer;
use tower_service::Service;

use super::metrics::Metrics;

/// Counters of calls.
pub(crate) trait CallCounters: Clone + Send + Sync + 'static {
    /// Counts a call that has ended, or that was dropped.
    fn count(&self, call: &EndedCall);
}

/// Call that has ended.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "mcp"),
    allow(dead_code, reason = "the counters of MCP servers need all fields")
)]
pub(crate) struct EndedCall {
    pub(crate) tool: String,
    /// `Cancelled` if the call was dropped.
    pub(crate) failure: Option<Failure>,
    pub(crate) duration: Duration,
    /// Whether the structured value does not match the tool's output schema.
    pub(crate) has_wrong_structured_value: bool,
}

/// The gateway's counters of all tools.
impl CallCounters for Metrics {
    fn count(&self, call: &EndedCall) {
        self.tool_call(&call.tool, call.failure);
    }
}

/// Layer and service that count calls.
#[derive(Debug, Clone)]
pub(crate) struct CountedCalls<C, S> {
    counters: C,
    inner: S,
}

impl<C> CountedCalls<C, ()> {
    pub(crate) fn new(counters: C) -> Self {
        Self { counters, inner: () }
    }
}

impl<C: CallCounters> Layer<ToolService> for CountedCalls<C, ()> {
    type Service = CountedCalls<C, ToolService>;

    fn layer(&self, inner: ToolService) -> Self::Service {
        CountedCalls {
            counters: self.counters.clone(),
            inner,
        }
    }
}

impl<C: CallCounters> Service<ToolCall> for CountedCalls<C, ToolService> {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let counted = CountedCall {
            counters: self.counters.clone(),
            began: Instant::now(),
            call: EndedCall {
                tool: call.name.clone(),
                failure: Some(Failure::Cancelled),
                duration: Duration::ZERO,
                has_wrong_structured_value: false,
            },
        };
        let called = self.inner.call(call);
        Box::pin(async move {
            let mut counted = counted;
            let outcome = called.await;
            counted.call.failure = match &outcome {
                Ok(outcome) => outcome.failure,
                Err(_) => Some(Failure::Layer),
            };
            counted.call.has_wrong_structured_value = outcome
                .as_ref()
                .is_ok_and(ToolOutcome::has_wrong_structured_value);
            outcome
        })
    }
}

/// Guard that counts a call at its end, also if the call is dropped.
struct CountedCall<C: CallCounters> {
    counters: C,
    began: Instant,
    call: EndedCall,
}

impl<C: CallCounters> Drop for CountedCall<C> {
    fn drop(&mut self) {
        self.call.duration = self.began.elapsed();
        self.counters.count(&self.call);
    }
}
