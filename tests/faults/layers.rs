//! Faults of layers, which the call must answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waking, Poll};
use std::time::Duration;

use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::{CancellationToken, Context, ToolCall, ToolOutcome, ToolRegistry};
use tower_layer::layer_fn;
use tower_service::Service;

use crate::calls::{PanicsInDrop, brewing, call_of};
use crate::rows::row;

/// Behavior of a layer around a call.
type Behavior = fn(ToolService, ToolCall) -> Answering;
type Answering = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

#[derive(Clone)]
struct Layered {
    inner: ToolService,
    behavior: Behavior,
    ready: fn() -> Poll<Result<(), BoxError>>,
}

impl Service<ToolCall> for Layered {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Waking<'_>) -> Poll<Result<(), BoxError>> {
        (self.ready)()
    }

    fn call(&mut self, call: ToolCall) -> Answering {
        (self.behavior)(self.inner.clone(), call)
    }
}

fn layered(behavior: Behavior) -> ToolRegistry {
    let ready = || Poll::Ready(Ok(()));
    brewing(async |_, _| "coffee").layer(layer_fn(move |inner| Layered {
        inner,
        behavior,
        ready,
    }))
}

#[tokio::test]
async fn panics_before_the_tool() {
    let row = row("layers::panics_before_the_tool");
    let registry = layered(|_, call| panic!("no {} today", call.name));
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn panics_after_the_tool() {
    let row = row("layers::panics_after_the_tool");
    let registry = layered(|mut inner, call| {
        Box::pin(async move {
            inner.call(call).await?;
            panic!("the cup broke")
        })
    });
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn panics_in_poll_ready() {
    let row = row("layers::panics_in_poll_ready");
    let behavior: Behavior = |mut inner, call| inner.call(call);
    let ready = || panic!("never ready");
    let registry = brewing(async |_, _| "coffee").layer(layer_fn(move |inner| Layered {
        inner,
        behavior,
        ready,
    }));
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn panics_in_drop() {
    let row = row("layers::panics_in_drop");
    let registry = layered(|mut inner, call| {
        Box::pin(async move {
            let _cup = PanicsInDrop;
            inner.call(call).await
        })
    });
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn answers_with_an_error() {
    let row = row("layers::answers_with_an_error");
    let registry =
        layered(|_, _| Box::pin(async { Err("coffee needs the user's consent; ask for it".into()) }));
    row.check(&registry.call(call_of(&row)).await);
}

/// An error whose `Display` fails.
#[derive(Debug)]
struct PanickingError;

impl fmt::Display for PanickingError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("cannot be shown")
    }
}

impl std::error::Error for PanickingError {}

#[tokio::test]
async fn answers_with_an_error_that_panics() {
    let row = row("layers::answers_with_an_error_that_panics");
    let registry = layered(|_, _| Box::pin(async { Err(PanickingError.into()) }));
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn makes_a_call_in_another_task() {
    let row = row("layers::makes_a_call_in_another_task");
    let registry = layered(|mut inner, _| {
        let made = async move { inner.call(ToolCall::new("other", "brew", "{}")).await };
        Box::pin(async { tokio::spawn(made).await? })
    });
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test(start_paused = true)]
async fn hangs_past_the_deadline() {
    let row = row("layers::hangs_past_the_deadline");
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let registry = layered(|_, _| Box::pin(std::future::pending()));
    row.check(&registry.call(call_of(&row).with_context(context)).await);
}

/// A decision takes longer than the tool may run, but less than the call may take.
#[tokio::test(start_paused = true)]
async fn passes_on_too_late() {
    let row = row("layers::passes_on_too_late");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(3600);
    let context = Context::new().with_deadline(deadline.into_std());
    let registry = layered(|mut inner, call| {
        Box::pin(async move {
            let deadline = call.context.deadline().unwrap();
            tokio::time::sleep_until((deadline + CancellationToken::GRACE_PERIOD / 2).into()).await;
            inner.call(call).await
        })
    });
    row.check(&registry.call(call_of(&row).with_context(context)).await);
}

#[tokio::test(start_paused = true)]
async fn hangs_after_the_tool() {
    let row = row("layers::hangs_after_the_tool");
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let registry = layered(|mut inner, call| {
        Box::pin(async move {
            inner.call(call).await?;
            std::future::pending().await
        })
    });
    row.check(&registry.call(call_of(&row).with_context(context)).await);
}

#[tokio::test(start_paused = true)]
async fn hangs_and_is_cancelled() {
    let row = row("layers::hangs_and_is_cancelled");
    let token = CancellationToken::new();
    let registry = layered(|_, _| Box::pin(std::future::pending()));
    let call = call_of(&row).with_context(Context::new().with_cancellation(token.clone()));
    let (outcome, ()) = tokio::join!(registry.call(call), async { token.cancel() });
    row.check(&outcome);
}

/// Builds a registry in which a registry with a layer is nested as `shop`.
fn shop(behavior: Behavior) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.nest("shop", layered(behavior)).unwrap();
    registry
}

#[tokio::test(start_paused = true)]
async fn of_a_nested_registry_hangs() {
    let row = row("layers::of_a_nested_registry_hangs");
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let call = ToolCall::new(row.id(), "shop__brew", "{}").with_context(context);
    let registry = shop(|_, _| Box::pin(std::future::pending()));
    row.check(&registry.call(call).await);
}

#[tokio::test]
async fn of_a_nested_registry_panics() {
    let row = row("layers::of_a_nested_registry_panics");
    let registry = shop(|_, call| panic!("no {} today", call.name));
    row.check(&registry.call(ToolCall::new(row.id(), "shop__brew", "{}")).await);
}
