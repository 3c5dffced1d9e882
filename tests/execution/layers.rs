//! Layers apply to every way of calling.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as Waking, Poll};
use std::time::Duration;

use serde_json::Value;
use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::result::Failure;
use tool_runtime::{Context, ToolCall, ToolOutcome, ToolOutput, ToolRegistry, ToolResult};
use tower::{ServiceBuilder, ServiceExt, service_fn};
use tower_layer::{Layer, layer_fn};
use tower_service::Service;

use crate::execution::tools::registry;

/// The service of a `RateLimitLayer` is not `Clone`; a buffer around it is.
#[tokio::test(start_paused = true)]
async fn rate_limit_in_a_buffer_limits_the_calls_of_a_turn() {
    let limit = ServiceBuilder::new()
        .buffer(64)
        .rate_limit(2, Duration::from_secs(1));
    let registry = registry().layer(limit);
    let began = tokio::time::Instant::now();
    let calls = ["1", "2", "3", "4", "5"].map(|id| ToolCall::new(id, "answer", "{}"));
    for outcome in registry.execute_all(calls).await {
        assert_eq!(outcome.result.text(), Some("42"), "{:?}", outcome.failure);
    }
    assert_eq!(began.elapsed().as_secs(), 2);
}

type Log = Arc<Mutex<Vec<String>>>;

/// A layer that records calls, and answers the calls in `known` itself.
#[derive(Clone)]
struct Watch<S> {
    inner: S,
    who: &'static str,
    log: Log,
}

fn watch<S>(who: &'static str, log: &Log) -> impl Layer<S, Service = Watch<S>> {
    let log = Arc::clone(log);
    layer_fn(move |inner| Watch {
        inner,
        who,
        log: Arc::clone(&log),
    })
}

impl<S> Service<ToolCall> for Watch<S>
where
    S: Service<ToolCall, Response = ToolOutcome, Error = BoxError, Future: Send + 'static>,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, waking: &mut Waking<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(waking)
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        self.log
            .lock()
            .unwrap()
            .push(format!("{} {} {}", self.who, call.id, call.name));
        match call.name.as_str() {
            "forged" => Box::pin(self.inner.call(ToolCall::new("other", "answer", "{}"))),
            "known" => Box::pin(async {
                Ok(ToolOutcome::new(ToolResult::new(
                    "other",
                    ToolOutput::text("from the cache"),
                )))
            }),
            _ => Box::pin(self.inner.call(call)),
        }
    }
}

#[tokio::test]
async fn every_method_of_calling_applies_layers() {
    let log = Log::default();
    let registry = registry().layer(watch("w", &log));
    registry.execute_tool("1", "answer", "{}").await;
    registry.call(ToolCall::new("2", "answer", "{}")).await;
    registry.execute_all([ToolCall::new("3", "answer", "{}")]).await;
    registry
        .clone()
        .oneshot(ToolCall::new("4", "answer", "{}"))
        .await
        .unwrap();
    registry
        .subset(["answer"])
        .execute_tool("5", "answer", "{}")
        .await;
    registry.execute_tool("6", "nope", "{}").await;
    let expected = [
        "w 1 answer",
        "w 2 answer",
        "w 3 answer",
        "w 4 answer",
        "w 5 answer",
        "w 6 nope",
    ];
    assert_eq!(*log.lock().unwrap(), expected);
}

#[tokio::test]
async fn last_layer_is_the_outermost() {
    let log = Log::default();
    let registry = registry().layer(watch("inner", &log)).layer(watch("outer", &log));
    assert_eq!(
        registry.execute_tool("1", "answer", "{}").await.text(),
        Some("42")
    );
    assert_eq!(*log.lock().unwrap(), ["outer 1 answer", "inner 1 answer"]);
}

#[tokio::test]
async fn layers_apply_to_tools_registered_later() {
    let log = Log::default();
    let mut registry = ToolRegistry::new().layer(watch("w", &log));
    registry
        .register_dynamic(crate::execution::tools::definition("late"), async |_, _| "here")
        .unwrap();
    assert_eq!(
        registry.execute_tool("1", "late", "{}").await.text(),
        Some("here")
    );
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn answer_of_a_layer_has_the_id_of_the_call() {
    let log = Log::default();
    let outcome = registry()
        .layer(watch("w", &log))
        .call(ToolCall::new("toolu_1", "known", "{}"))
        .await;
    assert_eq!(outcome.result.text(), Some("from the cache"));
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
}

/// The tools and the settings of the registry are taken from the call in the layer.
#[tokio::test]
async fn layers_may_make_calls() {
    let log = Log::default();
    let outcome = registry()
        .layer(watch("inner", &log))
        .layer(watch("outer", &log))
        .call(ToolCall::new("toolu_1", "forged", "{}"))
        .await;
    assert_eq!((outcome.failure, outcome.result.text()), (None, Some("42")));
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
    assert_eq!(
        *log.lock().unwrap(),
        ["outer toolu_1 forged", "inner other answer"]
    );
}

#[tokio::test]
async fn layers_may_pass_calls_to_other_tasks() {
    let spawned = layer_fn(|inner: ToolService| {
        service_fn(move |call: ToolCall| {
            let inner = inner.clone();
            async move { tokio::spawn(inner.oneshot(call)).await? }
        })
    });
    let outcome = registry()
        .layer(spawned)
        .call(ToolCall::new("toolu_1", "answer", "{}"))
        .await;
    assert_eq!((outcome.failure, outcome.result.text()), (None, Some("42")));
}

/// Builds a layer that records the definition of a call: the name of its tool, the issues of its input, and the defaults.
fn note_definitions<S: Clone>(log: &Log, rename: Option<&'static str>) -> impl Layer<S, Service = Noted<S>> {
    let log = Arc::clone(log);
    layer_fn(move |inner| Noted {
        inner,
        log: Arc::clone(&log),
        rename,
    })
}

#[derive(Clone)]
struct Noted<S> {
    inner: S,
    log: Log,
    rename: Option<&'static str>,
}

impl<S> Service<ToolCall> for Noted<S>
where
    S: Service<ToolCall, Response = ToolOutcome, Error = BoxError, Future: Send + 'static>,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Waking<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut call: ToolCall) -> Self::Future {
        let request = call.prepare().unwrap();
        let codes: Vec<_> = request.errors.iter().map(|error| error.code.as_str()).collect();
        self.log.lock().unwrap().push(format!(
            "{:?} {} {} {codes:?}",
            call.definition().map(|tool| &*tool.name),
            request.arguments_json,
            Value::Object(request.defaults),
        ));
        if let Some(name) = self.rename {
            call.name = name.to_owned();
        }
        self.inner.call(call)
    }
}

#[tool_runtime::tool]
/// Greet a guest.
async fn greet(
    /// Name of the person.
    name: String,
    /// Number of greetings.
    #[arg(default = 2)]
    times: u8,
    /// Whether it is loud.
    #[arg(default = false)]
    loud: bool,
) -> String {
    format!("{name} {times} {loud}")
}

#[tokio::test]
async fn calls_in_layers_have_definition_and_prepare() {
    let log = Log::default();
    let mut registry = registry().layer(note_definitions(&log, None));
    registry.register::<greet>().unwrap(); // after the layer was added
    let calls = [
        ToolCall::new("1", "greet", r#"{"Name":"Ada","loud":"true"}"#),
        ToolCall::new("2", "greet", r#"{"times":"often"}"#),
        ToolCall::new("3", "nobody", "{}"),
    ];
    for call in calls {
        registry.call(call).await;
    }
    assert_eq!(
        *log.lock().unwrap(),
        [
            r#"Some("greet") {"name":"Ada","loud":true} {"times":2} []"#,
            r#"Some("greet") {"times":"often"} {"loud":false} ["missing_required", "unsupported_integer_literal"]"#,
            r#"None {} {} ["unknown_tool"]"#,
        ]
    );
    let call = ToolCall::new("4", "greet", "{}");
    assert!(
        call.definition().is_none() && call.prepare().is_none(),
        "outside of layers"
    );
}

#[tokio::test]
async fn layers_may_change_the_name_of_the_tool() {
    let log = Log::default();
    let registry = registry()
        .layer(note_definitions(&log, None))
        .layer(note_definitions(&log, Some("answer")));
    let outcome = registry.call(ToolCall::new("1", "hang", "{}")).await;
    assert_eq!(outcome.result.text(), Some("42"));
    assert_eq!(
        *log.lock().unwrap(),
        [r#"Some("hang") {} {} []"#, r#"Some("answer") {} {} []"#]
    );
}

#[tokio::test(start_paused = true)]
async fn layers_of_tower_work() {
    let registry = registry()
        .layer(tower::limit::GlobalConcurrencyLimitLayer::new(1))
        .layer(tower::timeout::TimeoutLayer::new(Duration::from_secs(3600)));
    assert_eq!(
        registry.execute_tool("1", "answer", "{}").await.text(),
        Some("42")
    );
    let outcome = registry.call(ToolCall::new("2", "hang", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::Layer));
    assert_eq!(outcome.result.text(), Some("request timed out"));
}

#[tokio::test(start_paused = true)]
async fn cancelled_tool_behind_layers_may_answer() {
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let registry = registry().layer(watch("w", &Log::default()));
    let outcome = registry
        .call(ToolCall::new("toolu_1", "polite", "{}").with_context(context))
        .await;
    assert_eq!(outcome.result.text(), Some("tidied up"));
}
