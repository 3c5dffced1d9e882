//! Deadlines, timeouts and cancellation tokens of calls. Results of stopped calls are tested in `tests/faults/time.rs`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tool_runtime::result::Failure;
use tool_runtime::{CancellationToken, Context, ToolCall, ToolRegistry, tool};
use tower::util::MapRequestLayer;

use crate::execution::tools::{Gauge, definition, registry};

const HOUR: Duration = Duration::from_secs(3600);

/// All values of the call are released before its answer is returned.
#[tokio::test(start_paused = true)]
async fn stopped_tool_is_dropped_before_the_answer() {
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
    let by_time = Context::new().with_timeout(HOUR);
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

/// A call needs tokio only if it has a deadline or a token.
#[test]
fn call_without_deadline_runs_on_any_executor() {
    let registry = registry();
    let mut call = std::pin::pin!(registry.execute_tool("toolu_1", "answer", "{}"));
    let mut waking = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(result) = call.as_mut().poll(&mut waking) else {
        panic!("not ready")
    };
    assert_eq!(result.text(), Some("42"));
}

/// Return the remaining time in whole minutes.
#[tool(timeout = "1h")]
async fn time_left(context: Context) -> Option<u64> {
    let left = context.deadline()?.saturating_duration_since(Instant::now());
    Some((left + Duration::from_secs(30)).as_secs() / 60)
}

#[tokio::test(start_paused = true)]
async fn timeout_can_be_set_replaced_and_removed() {
    let mut registry = registry();
    registry.register::<time_left>().unwrap();
    let left = async |registry: &ToolRegistry| registry.execute_tool("toolu_1", "time_left", "{}").await;
    registry
        .set_timeout("time_left", Duration::from_secs(7200))
        .unwrap();
    assert_eq!(left(&registry).await.text(), Some("120"));
    registry.set_timeout("time_left", None).unwrap();
    assert_eq!(left(&registry).await.text(), Some("null"));

    registry.set_timeout("hang", HOUR).unwrap();
    assert_eq!(registry.get_tool("hang").unwrap().timeout(), Some(HOUR));
    let outcome = registry.call(ToolCall::new("toolu_1", "hang", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::TimedOut));

    let error = registry.set_timeout("nope", None).unwrap_err();
    assert!(error.to_string().contains("`nope`"), "{error}");
}

/// The host asks its user first. This time does not count as the tool's time; the timeout that the layer sets afterwards does.
#[tokio::test]
async fn layer_may_set_a_timeout() {
    let approval = MapRequestLayer::new(|mut call: ToolCall| {
        call.context = call.context.with_timeout(Duration::from_secs(120));
        call
    });
    let mut registry = ToolRegistry::new().layer(approval);
    registry.register::<time_left>().unwrap();
    let call = ToolCall::new("toolu_1", "time_left", "{}");
    assert_eq!(registry.call(call).await.result.text(), Some("2"));
}

#[tokio::test]
async fn functions_see_the_earlier_deadline() {
    let mut registry = ToolRegistry::new();
    registry.register::<time_left>().unwrap();
    let left = async |context: Context| {
        let call = ToolCall::new("toolu_1", "time_left", "{}").with_context(context);
        registry.call(call).await.result
    };
    let (minute, day) = (Duration::from_secs(60), HOUR * 24);
    assert_eq!(left(Context::new()).await.text(), Some("60"));
    assert_eq!(left(Context::new().with_timeout(day)).await.text(), Some("60"));
    assert_eq!(left(Context::new().with_timeout(minute)).await.text(), Some("1"));
    let result = registry.execute_tool("toolu_1", "time_left", "{}").await;
    assert_eq!(result.text(), Some("60"));
}

#[test]
fn timeout_beyond_the_clock_is_none() {
    assert_eq!(Context::new().with_timeout(Duration::MAX).deadline(), None);
}

/// Keeps its token while it waits, and panics when it is dropped.
struct Bomb(CancellationToken);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(self.0.is_cancelled(), "dropped before it was told");
    }
}

/// A future that is dropped notifies its listeners, even if its tool panics on drop.
#[tokio::test]
async fn dropping_a_call_cancels_its_token() {
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

/// Waits until it is stopped, and then panics.
#[tool]
async fn panics_when_stopped(cancel: CancellationToken) {
    cancel.cancelled().await;
    panic!("spilt")
}

#[tokio::test(start_paused = true)]
async fn panic_in_the_grace_period_is_reported_as_a_panic() {
    let mut registry = ToolRegistry::new();
    registry.register::<panics_when_stopped>().unwrap();
    let call = |context| ToolCall::new("id", "panics_when_stopped", "{}").with_context(context);
    let timed_out = registry.call(call(Context::new().with_timeout(HOUR)));
    let later = CancellationToken::new();
    let cancelled = registry.call(call(Context::new().with_cancellation(later.clone())));
    let (timed_out, cancelled, ()) = tokio::join!(timed_out, cancelled, async { later.cancel() });
    for outcome in [timed_out, cancelled] {
        assert_eq!(outcome.failure, Some(Failure::Panicked));
        assert!(
            outcome
                .result
                .text()
                .unwrap()
                .contains("failed with an internal error")
        );
    }
}
