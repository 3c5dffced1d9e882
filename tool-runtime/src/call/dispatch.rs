//! Runs a call through the layers of its registry, and of the nested registry that has the tool.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::call::catch::{self, CallLimits};
use crate::call::deadline::SharedDeadline;
use crate::call::explain;
use crate::call::handle::{CallState, handle};
use crate::call::layer::{Layers, ROUTE};
use crate::call::prepare::prepare;
use crate::call::request::ToolCallRequest;
use crate::call::table::{NestedRegistry, Tools};
use crate::call::tool_call::{LayerFuture, RegistryTools, Route, ToolCall};
use crate::host::context::CancellationToken;
use crate::host::state::States;
use crate::tool::entry::RegisteredTool;
use crate::wire::result::Failure;

/// Runs a call through the layers. The result or error of the layers becomes the outcome.
pub(crate) async fn handle_in_layers(layers: &Layers, tools: &Arc<Tools>, state: &mut CallState<'_>) {
    handle_within(None, layers, tools, state).await;
}

/// Runs a call through the layers of a registry. `outer` is the deadline of the layers of an outer registry, if the call has
/// passed such layers.
async fn handle_within(
    outer: Option<SharedDeadline>,
    layers: &Layers,
    tools: &Arc<Tools>,
    state: &mut CallState<'_>,
) {
    let Some(outermost) = layers.outermost() else {
        return dispatch(outer, tools, state).await;
    };
    let mut call = state.take_call();
    let deadline = SharedDeadline::new(state.context.deadline(), outer);
    let route = Route::new(Arc::<Tools>::clone(tools), deadline.clone());
    call.route = Some(route.clone());
    // Layers may hang, too. Their grace period is twice as long as the grace period of the tool, so that a layer can still
    // return the result of a tool that uses its whole grace period.
    let limits = CallLimits {
        deadline: state.context.deadline(),
        token: state.context.external_token(),
    };
    let result = ROUTE
        .scope(route.clone(), async {
            let started = catch::catch_panic(|| outermost.start(call))?;
            catch::run(
                started,
                limits,
                Some(&deadline),
                None,
                CancellationToken::GRACE_PERIOD * 2,
            )
            .await
            .output
        })
        .await;
    match result {
        Ok(Ok(outcome)) => {
            // The id of the call is kept, since a layer may return a result with another id.
            let id = std::mem::take(&mut state.outcome.result.tool_use_id);
            state.outcome = outcome;
            state.outcome.result.tool_use_id = id;
            state
                .outcome
                .result
                .replace_empty_content(Some(qualified_name(tools, state.name)));
        }
        // `Display` and `Drop` of the error may panic, too.
        Ok(Err(error)) => match catch::catch_panic(move || error.to_string()) {
            Ok(text) if text.trim().is_empty() => {
                state.fail(Failure::Layer, explain::no_answer(Failure::Layer));
            }
            Ok(text) => state.fail(Failure::Layer, &text),
            Err(failure) => state.fail(failure, explain::no_answer(failure)),
        },
        Err(failure @ (Failure::TimedOut | Failure::Cancelled)) if !route.is_reached() => {
            state.fail(
                failure,
                &explain::stopped_in_layers(qualified_name(tools, state.name), failure),
            );
        }
        Err(failure) => state.fail(failure, explain::no_answer(failure)),
    }
}

/// Returns the name by which the model calls a tool. An unknown name is returned unchanged.
fn qualified_name<'a>(tools: &'a Tools, name: &'a str) -> &'a str {
    tools.tool(name).map_or(name, |tool| tool.qualified_name.as_str())
}

/// Runs a call that has passed the layers of its registry: calls the tool, or passes the call to the layers of the nested
/// registry that has the tool.
async fn dispatch(outer: Option<SharedDeadline>, tools: &Tools, state: &mut CallState<'_>) {
    match tools.nested(state.name) {
        None => handle(tools, state).await,
        Some((nested, name)) => handle_nested(outer, nested, name, state).await,
    }
}

/// Runs a call in a nested registry, as if that registry had been called directly. The future is boxed, since it is recursive.
fn handle_nested<'a>(
    outer: Option<SharedDeadline>,
    nested: &'a NestedRegistry,
    name: &'a str,
    state: &'a mut CallState<'_>,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    Box::pin(async move {
        let id = std::mem::take(&mut state.outcome.result.tool_use_id);
        let mut inner = CallState::new(id, name, state.input.take(), state.context);
        inner.policy = state.policy;
        handle_within(outer, &nested.layers, &nested.tools, &mut inner).await;
        state.outcome = inner.outcome;
    })
}

impl RegistryTools for Tools {
    fn tool(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.tool(name)
    }

    fn states(&self) -> &States {
        &self.states
    }

    fn prepare(&self, call: ToolCall) -> ToolCallRequest {
        prepare(self, call)
    }

    fn run(self: Arc<Self>, mut call: ToolCall, route: Route) -> LayerFuture {
        Box::pin(async move {
            route.set_reached();
            let mut state = CallState::from_call(&mut call);
            dispatch(Some(route.deadline), &self, &mut state).await;
            Ok(state.outcome)
        })
    }
}
