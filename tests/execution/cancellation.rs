//! Cancelling before, during and by dropping the caller; deadlines and timeouts.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::time::Instant as Paused;
use tool_runtime::result::Failure;
use tool_runtime::{CancellationToken, Context, ToolCall, ToolOutcome, ToolRegistry, tool};
use tower::util::MapRequestLayer;

use crate::tools::{Gauge, definition, registry};

async fn cancelled_after(delay: Duration, name: &str) -> (ToolOutcome, Duration) {
    let token = CancellationToken::new();
    let call =
        ToolCall::new("toolu_1", name, "{}").with_context(Context::new().with_cancellation(token.clone()));
    if delay.is_zero() {
        token.cancel();
    }
    let registry = registry();
    let running = tokio::spawn(async move { registry.call(call).await });
    tokio::time::sleep(delay).await;
    let cancelled = Paused::now();
    token.cancel();
    let outcome = running.await.unwrap();
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
    (outcome, cancelled.elapsed())
}

const SOON: Duration = Duration::from_millis(30);

#[tokio::test(start_paused = true)]
async fn a_tool_that_awaits_its_token_answers_by_itself() {
    let (outcome, took) = cancelled_after(SOON, "polite").await;
    assert_eq!(outcome.result.text(), Some("tidied up"));
    assert_eq!(outcome.failure, Some(Failure::Cancelled));
    assert!(took < Duration::from_millis(50), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_is_dropped() {
    let (outcome, took) = cancelled_after(SOON, "hang").await;
    assert_eq!(outcome.failure, Some(Failure::Cancelled));
    assert_eq!(
        outcome.result.text(),
        Some("the call of `hang` was cancelled before it returned a result")
    );
    assert!(took < Duration::from_millis(500), "{took:?}");
}

#[tokio::test]
async fn a_call_that_is_cancelled_beforehand_never_starts() {
    let (outcome, _) = cancelled_after(Duration::ZERO, "answer").await;
    assert_eq!(outcome.failure, Some(Failure::Cancelled));
}

#[tokio::test]
async fn cancelling_afterwards_changes_nothing() {
    let (outcome, _) = cancelled_after(SOON, "answer").await;
    assert_eq!(outcome.result.text(), Some("42"));
}

#[tokio::test]
async fn whoever_drops_the_call_cancels_it() {
    let seen = Arc::new(Mutex::new(None));
    let mut registry = ToolRegistry::new();
    let keep = Arc::clone(&seen);
    registry
        .register_dynamic(definition("keep_token"), move |_, context: Context| {
            *keep.lock().unwrap() = Some(context.cancellation());
            std::future::pending::<String>()
        })
        .unwrap();
    let call = registry.execute_tool("toolu_1", "keep_token", "{}");
    assert!(tokio::time::timeout(SOON, call).await.is_err());
    assert!(seen.lock().unwrap().as_ref().unwrap().is_cancelled());
}

#[tokio::test]
async fn a_deadline_stops_a_hanging_tool() {
    let context = Context::new().with_timeout(SOON);
    let outcome = registry()
        .call(ToolCall::new("toolu_1", "hang", "{}").with_context(context))
        .await;
    assert_eq!(outcome.failure, Some(Failure::TimedOut));
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
    assert!(outcome.duration >= SOON);
}

/// Whatever it holds is released by the time that its answer is there.
#[tokio::test]
async fn a_tool_that_is_stopped_is_dropped_and_not_leaked() {
    let gauge = Arc::new(Gauge::default());
    let mut registry = ToolRegistry::new();
    let keep = Arc::clone(&gauge);
    registry
        .register_dynamic(definition("hold"), move |_, _| {
            let inside = keep.enter();
            async move {
                std::future::pending::<()>().await;
                drop(inside);
            }
        })
        .unwrap();
    let token = CancellationToken::new();
    let by_time = Context::new().with_timeout(SOON);
    let by_token = Context::new().with_cancellation(token.clone());
    for (context, failure) in [(by_time, Failure::TimedOut), (by_token, Failure::Cancelled)] {
        let call = registry.call(ToolCall::new("toolu_1", "hold", "{}").with_context(context));
        let (outcome, ()) = tokio::join!(call, async {
            assert_eq!(gauge.now(), 1, "it has started");
            if failure == Failure::Cancelled {
                token.cancel();
            }
        });
        assert_eq!(outcome.failure, Some(failure));
        assert_eq!(gauge.now(), 0, "{failure:?}");
    }
}

#[tokio::test]
async fn a_deadline_in_the_past_starts_nothing() {
    let context = Context::new().with_deadline(Instant::now());
    let outcome = registry()
        .call(ToolCall::new("toolu_1", "panic", "{}").with_context(context))
        .await;
    assert_eq!(outcome.failure, Some(Failure::TimedOut));
}

/// Only a call with a deadline or a token needs tokio at all.
#[test]
fn a_plain_call_runs_on_any_executor() {
    let registry = registry();
    let mut call = std::pin::pin!(registry.execute_tool("toolu_1", "answer", "{}"));
    let mut waking = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(result) = call.as_mut().poll(&mut waking) else {
        panic!("not ready")
    };
    assert_eq!(result.text(), Some("42"));
}

/// Never answer.
#[tool(timeout = "30ms")]
async fn slow() {
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_tools_own_timeout_stops_it() {
    let mut registry = ToolRegistry::new();
    registry.register::<slow>().unwrap();
    let outcome = registry.call(ToolCall::new("toolu_1", "slow", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::TimedOut));
    assert_eq!(
        outcome.result.text(),
        Some("the tool `slow` timed out and was stopped; ask for less, or try again later"),
    );
}

/// Tell how long there is, in whole seconds.
#[tool(timeout = "1h")]
async fn time_left(context: Context) -> Option<u64> {
    let left = context.deadline()?.saturating_duration_since(Instant::now());
    Some((left + Duration::from_millis(500)).as_secs())
}

#[tokio::test]
async fn a_timeout_can_be_set_replaced_and_taken_away() {
    let mut registry = registry();
    registry.register::<time_left>().unwrap();
    let left = async |registry: &ToolRegistry| registry.execute_tool("toolu_1", "time_left", "{}").await;
    registry
        .set_timeout("time_left", Duration::from_secs(7200))
        .unwrap();
    assert_eq!(left(&registry).await.text(), Some("7200"));
    registry.set_timeout("time_left", None).unwrap();
    assert_eq!(left(&registry).await.text(), Some("null"));

    registry.set_timeout("hang", SOON).unwrap();
    assert_eq!(registry.get_tool("hang").unwrap().timeout(), Some(SOON));
    let outcome = registry.call(ToolCall::new("toolu_1", "hang", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::TimedOut));

    let error = registry.set_timeout("nope", None).unwrap_err();
    assert!(error.to_string().contains("`nope`"), "{error}");
}

/// The host asks its user first. What the user takes is not the tool's time; what the layer gives afterwards is.
#[tokio::test]
async fn a_layer_gives_a_call_time_when_it_passes_it_on() {
    let approval = MapRequestLayer::new(|mut call: ToolCall| {
        call.context = call.context.with_timeout(Duration::from_secs(60));
        call
    });
    let mut registry = ToolRegistry::new().layer(approval);
    registry.register::<time_left>().unwrap();
    let call = ToolCall::new("toolu_1", "time_left", "{}");
    assert_eq!(registry.call(call).await.result.text(), Some("60"));
}

#[tokio::test]
async fn the_deadline_that_a_function_reads_is_the_earlier_of_both() {
    let mut registry = ToolRegistry::new();
    registry.register::<time_left>().unwrap();
    let left = async |context: Context| {
        let call = ToolCall::new("toolu_1", "time_left", "{}").with_context(context);
        registry.call(call).await.result
    };
    let (minute, day) = (Duration::from_secs(60), Duration::from_secs(24 * 3600));
    assert_eq!(left(Context::new()).await.text(), Some("3600"));
    assert_eq!(left(Context::new().with_timeout(day)).await.text(), Some("3600"));
    assert_eq!(left(Context::new().with_timeout(minute)).await.text(), Some("60"));
    let result = registry.execute_tool("toolu_1", "time_left", "{}").await;
    assert_eq!(result.text(), Some("3600"));
}

#[tokio::test]
async fn a_tool_that_is_out_of_time_may_tidy_up_as_well() {
    let context = Context::new().with_timeout(SOON);
    let outcome = registry()
        .call(ToolCall::new("toolu_1", "polite", "{}").with_context(context))
        .await;
    assert_eq!(outcome.result.text(), Some("tidied up"));
    assert_eq!(outcome.failure, Some(Failure::TimedOut));
}

#[test]
fn a_timeout_beyond_all_clocks_is_none() {
    assert_eq!(Context::new().with_timeout(Duration::MAX).deadline(), None);
}

/// Keeps its token while it waits, and panics when it is dropped.
struct Bomb(CancellationToken);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(self.0.is_cancelled(), "dropped before it was told");
    }
}

/// A future that is dropped midway, whether its tool panics in its drop or not, tells whoever listens.
#[tokio::test]
async fn whoever_drops_an_executed_tool_cancels_it() {
    let seen = Arc::new(Mutex::new(None));
    let mut registry = ToolRegistry::new();
    let keep = Arc::clone(&seen);
    registry
        .register_dynamic(definition("keep_token"), move |_, context: Context| {
            let bomb = Bomb(context.cancellation());
            *keep.lock().unwrap() = Some(context.cancellation());
            async move {
                std::future::pending::<()>().await;
                drop(bomb);
                String::new()
            }
        })
        .unwrap();
    drop(registry.execute_tool("id", "keep_token", "{}"));
    assert!(seen.lock().unwrap().is_none(), "started before it was polled");
    let mut running = Box::pin(registry.execute_tool("id", "keep_token", "{}"));
    assert!(poll_once(&mut running).is_none());
    let token = seen.lock().unwrap().take().unwrap();
    assert!(!token.is_cancelled());
    drop(running);
    assert!(token.is_cancelled());
}

/// Polls once.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut waking = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut waking) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}
