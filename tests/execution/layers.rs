//! Layers stand around every way of calling.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as Waking, Poll};
use std::time::Duration;

use serde_json::Value;
use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::result::Failure;
use tool_runtime::{CancellationToken, Context, ToolCall, ToolOutcome, ToolOutput, ToolRegistry, ToolResult};
use tower::{ServiceExt, service_fn};
use tower_layer::{Layer, layer_fn};
use tower_service::Service;

use crate::tools::registry;

type Log = Arc<Mutex<Vec<String>>>;

/// Writes down the calls that pass, refuses those of `forbidden`, and answers those of `known` by itself.
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
            "forbidden" => Box::pin(async { Err("you may not; ask the user".into()) }),
            "explode" => panic!("a layer's own"),
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
async fn every_way_of_calling_goes_through_them() {
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
async fn the_last_one_added_is_the_outermost() {
    let log = Log::default();
    let registry = registry().layer(watch("inner", &log)).layer(watch("outer", &log));
    assert_eq!(
        registry.execute_tool("1", "answer", "{}").await.text(),
        Some("42")
    );
    assert_eq!(*log.lock().unwrap(), ["outer 1 answer", "inner 1 answer"]);
}

#[tokio::test]
async fn tools_that_are_registered_later_are_behind_them_too() {
    let log = Log::default();
    let mut registry = ToolRegistry::new().layer(watch("w", &log));
    registry
        .register_dynamic(crate::tools::definition("late"), async |_, _| "here")
        .unwrap();
    assert_eq!(
        registry.execute_tool("1", "late", "{}").await.text(),
        Some("here")
    );
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn what_a_layer_fails_with_is_a_result_with_the_calls_id() {
    let log = Log::default();
    let outcome = registry()
        .layer(watch("w", &log))
        .call(ToolCall::new("toolu_1", "forbidden", "{}"))
        .await;
    assert_eq!(outcome.failure, Some(Failure::Layer));
    assert_eq!(outcome.result.text(), Some("you may not; ask the user"));
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
    assert!(outcome.result.is_error);
}

#[tokio::test]
async fn what_a_layer_answers_by_itself_is_a_result_with_the_calls_id() {
    let log = Log::default();
    let outcome = registry()
        .layer(watch("w", &log))
        .call(ToolCall::new("toolu_1", "known", "{}"))
        .await;
    assert_eq!(outcome.result.text(), Some("from the cache"));
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
}

#[tokio::test]
async fn a_layers_panic_stays_in_its_call() {
    let log = Log::default();
    let outcome = registry()
        .layer(watch("w", &log))
        .call(ToolCall::new("toolu_1", "explode", "{}"))
        .await;
    assert_eq!(outcome.failure, Some(Failure::Panicked));
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
}

/// The tools and what the registry does for each call are those of the call that the layer was given.
#[tokio::test]
async fn a_layer_may_make_a_call_itself() {
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
async fn calls_pass_through_other_tasks() {
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

/// What calls know in a layer: the name of their tool, what of their input is wrong, and the defaults.
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
/// Greet somebody.
async fn greet(
    /// Who.
    name: String,
    /// How often.
    #[arg(default = 2)]
    times: u8,
    /// Whether it is loud.
    #[arg(default = false)]
    loud: bool,
) -> String {
    format!("{name} {times} {loud}")
}

#[tokio::test]
async fn calls_know_their_tool_in_a_layer() {
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
async fn the_name_behind_the_last_layer_counts() {
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

#[tokio::test]
async fn towers_own_layers_fit() {
    let registry = registry()
        .layer(tower::limit::GlobalConcurrencyLimitLayer::new(1))
        .layer(tower::timeout::TimeoutLayer::new(Duration::from_millis(30)));
    assert_eq!(
        registry.execute_tool("1", "answer", "{}").await.text(),
        Some("42")
    );
    let outcome = registry.call(ToolCall::new("2", "hang", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::Layer));
    assert_eq!(outcome.result.text(), Some("request timed out"));
}

/// A layer that never lets anything through.
#[derive(Clone)]
struct Stuck;

impl Service<ToolCall> for Stuck {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = std::future::Pending<Result<ToolOutcome, BoxError>>;

    fn poll_ready(&mut self, _: &mut Waking<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: ToolCall) -> Self::Future {
        std::future::pending()
    }
}

#[tokio::test]
async fn deadlines_and_cancellation_reach_into_the_layers() {
    let registry = registry().layer(layer_fn(|_| Stuck));
    let call = ToolCall::new("toolu_1", "answer", "{}");
    let late = call
        .clone()
        .with_context(Context::new().with_timeout(Duration::from_millis(20)));
    let outcome = registry.call(late).await;
    assert_eq!(outcome.failure, Some(Failure::TimedOut));
    assert_eq!(
        outcome.result.text(),
        Some("the call timed out before it reached `answer`; try again later")
    );

    let token = CancellationToken::new();
    let cancelled = call.with_context(Context::new().with_cancellation(token.clone()));
    let canceller = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(registry.call(cancelled), canceller);
    assert_eq!(outcome.failure, Some(Failure::Cancelled));
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
}

#[tokio::test]
async fn a_tool_behind_layers_has_the_first_word_when_it_is_cancelled() {
    let context = Context::new().with_timeout(Duration::from_millis(20));
    let registry = registry().layer(watch("w", &Log::default()));
    let outcome = registry
        .call(ToolCall::new("toolu_1", "polite", "{}").with_context(context))
        .await;
    assert_eq!(outcome.result.text(), Some("tidied up"));
}
