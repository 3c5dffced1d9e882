//! Calls of tools: single calls, all calls of a turn, and the registry as a `tower` service.

use std::convert::Infallible;
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use tower_service::Service;
use tracing::Instrument as _;

use crate::call::batch;
use crate::call::dispatch::handle_in_layers;
use crate::call::handle::{CallState, handle};
use crate::call::layer::RegistryFuture;
use crate::call::prepare;
use crate::call::request::ToolCallRequest;
use crate::call::tool_call::ToolCall;
use crate::call::trace;
use crate::host::context::Context;
use crate::registry::tool_registry::ToolRegistry;
use crate::wire::raw_arguments::RawArguments;
use crate::wire::result::{Failure, ToolOutcome, ToolResult};

/// Calling tools.
impl ToolRegistry {
    /// Runs a tool and returns the result in the form of the Messages API. A failure is an error result.
    ///
    /// For an unknown name the result is exactly `Tool '{name}' not found`. [`call`](Self::call) and
    /// [`execute_all`](Self::execute_all) append a note with known names.
    pub async fn execute_tool(
        &self,
        tool_use_id: impl Into<String>,
        name: impl AsRef<str>,
        input: impl Into<RawArguments<'_>>,
    ) -> ToolResult {
        let context = Context::new();
        let mut state = CallState::new(tool_use_id.into(), name.as_ref(), input.into(), &context);
        self.run(&mut state).await;
        if state.outcome.failure != Some(Failure::NotFound) {
            state.outcome.join_notes();
        }
        state.outcome.result
    }

    /// Runs a call and returns its outcome.
    ///
    /// For an unknown name, a [note](ToolOutcome::notes) lists all names of a registry with at most eight tools,
    /// and up to three similar names of a larger registry. Without similar names, no note is added.
    pub async fn call(&self, mut call: ToolCall) -> ToolOutcome {
        let arrived = Instant::now();
        let mut state = CallState::from_call(&mut call);
        self.run(&mut state).await;
        let mut outcome = state.outcome;
        outcome.join_notes();
        outcome.duration = arrived.elapsed();
        outcome
    }

    /// Runs a call within its span, through the layers.
    async fn run(&self, call: &mut CallState<'_>) {
        let span = trace::span(call.name, call.id(), call.is_from_text());
        if span.is_disabled() && self.layers.is_empty() && !self.tools.has_nested() {
            return handle(&self.tools, call).await;
        }
        // The future of the layers is boxed, since it would enlarge the future of every other call.
        let handled = Box::pin(handle_in_layers(&self.layers, &self.tools, call));
        handled.instrument(span.clone()).await;
        trace::record(&span, &call.outcome);
    }

    /// Runs the calls of one turn concurrently, on the runtime's threads, and returns the outcomes in order.
    ///
    /// [`with_max_concurrency`](Self::with_max_concurrency) limits the number of concurrent calls. Dropping the
    /// future aborts all calls. Needs a tokio runtime.
    #[doc(alias("call_all", "batch"))]
    pub async fn execute_all(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolOutcome> {
        let run = |call| {
            let registry = self.clone();
            async move { registry.call(call).await }
        };
        batch::run(calls.into_iter().collect(), self.concurrency.0, run).await
    }

    /// Reads a call's arguments without running the function, for permission dialogs and gateways. In a layer, use
    /// [`ToolCall::prepare`].
    #[doc(alias("preview", "validate", "request"))]
    pub fn prepare(&self, call: ToolCall) -> ToolCallRequest {
        prepare::prepare(&self.tools, call)
    }
}

/// Implements a service that is always ready.
impl Service<ToolCall> for ToolRegistry {
    type Response = ToolOutcome;
    type Error = Infallible;
    type Future = RegistryFuture;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> RegistryFuture {
        let registry = self.clone();
        Box::pin(async move { Ok(ToolRegistry::call(&registry, call).await) })
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use serde_json::json;

    use crate::call::handle::{CallState, handle};
    use crate::call::tool_call::ToolCall;
    use crate::param::declared::Param;
    use crate::registry::tool_registry::ToolRegistry;
    use crate::tool::declaration::Declaration;
    use crate::tool::output::convert::OutputOf;
    use crate::tool::tool_trait::{DeclaredTool, WithOutputSchema as _};
    use crate::wire::definition::ToolDefinition;
    use crate::wire::raw_arguments::RawArguments;

    #[test]
    fn frees_owned_arguments_before_the_function_runs() {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let definition = ToolDefinition::new("wait", "Wait.", schema);
        let text = Param::<String>::new("text", "A text.");
        let typed = DeclaredTool::function(Declaration::new("wait_typed", "Wait."), (text,), |_| {
            pending::<OutputOf<()>>()
        });
        let mut registry = ToolRegistry::new();
        registry
            .register_dynamic(definition, async |_, _| pending::<String>().await)
            .unwrap()
            .register_all(vec![typed.with_output_schema()])
            .unwrap();
        let all = [json!({ "text": "as wanted" }), json!({ "text": 5 })];
        for (name, sent) in all.iter().flat_map(|sent| [("wait", sent), ("wait_typed", sent)]) {
            let mut call = ToolCall::new("id", name, sent.clone());
            let mut state = CallState::from_call(&mut call);
            {
                let mut running = std::pin::pin!(handle(&registry.tools, &mut state));
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(running.as_mut().poll(&mut context).is_pending());
            }
            assert_eq!(state.input, RawArguments::from(""));
        }
    }
}
