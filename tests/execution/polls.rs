//! Functions in the executor: polled in the caller's task, woken from any thread, dropped at any time. Deadlines and cancellation do not
//! change this.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as Waking, Poll, Wake, Waker};
use std::time::Duration;

use tool_runtime::result::Failure;
use tool_runtime::{CancellationToken, Context, State, ToolCall, ToolOutcome, ToolRegistry, tool};

use crate::execution::tools::definition;

/// Actions of a function in each of its polls; the last action repeats.
type Script = Vec<fn(&Seen, &Waker) -> Option<&'static str>>;

/// Observations of a function from outside.
#[derive(Clone, Default)]
struct Seen(Arc<Counts>);

#[derive(Default)]
struct Counts {
    started: AtomicUsize,
    polled: AtomicUsize,
    dropped: AtomicUsize,
    /// Waker of the last poll.
    waker: Mutex<Option<Waker>>,
}

impl Seen {
    /// Numbers of starts, polls and drops.
    fn counts(&self) -> [usize; 3] {
        let Counts {
            started,
            polled,
            dropped,
            ..
        } = &*self.0;
        [started, polled, dropped].map(|count| count.load(Ordering::SeqCst))
    }

    fn waker(&self) -> Waker {
        self.0.waker.lock().unwrap().clone().unwrap()
    }
}

/// A hand-written future.
struct Scripted {
    seen: Seen,
    script: Script,
    panics_in_drop: bool,
}

impl Scripted {
    fn new(seen: &Seen, script: &Script, panics_in_drop: bool) -> Self {
        seen.0.started.fetch_add(1, Ordering::SeqCst);
        Self {
            seen: seen.clone(),
            script: script.clone(),
            panics_in_drop,
        }
    }
}

impl Future for Scripted {
    type Output = &'static str;

    fn poll(self: Pin<&mut Self>, waking: &mut Waking<'_>) -> Poll<&'static str> {
        let place = self.seen.0.polled.fetch_add(1, Ordering::SeqCst);
        *self.seen.0.waker.lock().unwrap() = Some(waking.waker().clone());
        let step = self.script.get(place).or(self.script.last()).unwrap();
        step(&self.seen, waking.waker()).map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.seen.0.dropped.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics_in_drop || std::thread::panicking(), "in drop");
    }
}

/// Executes the script.
#[tool]
async fn typed(script: State<Script>, seen: State<Seen>) -> &'static str {
    Scripted::new(&seen, &script, false).await
}

/// Builds a registry with the script as an annotated function and as a dynamic tool.
fn registry(seen: &Seen, script: &Script, panics_in_drop: bool) -> ToolRegistry {
    let mut registry = ToolRegistry::new()
        .with_state(script.clone())
        .with_state(seen.clone());
    registry.register::<typed>().unwrap();
    let (seen, script) = (seen.clone(), script.clone());
    registry
        .register_dynamic(definition("dynamic"), move |_, _| {
            Scripted::new(&seen, &script, panics_in_drop)
        })
        .unwrap();
    registry
}

/// Variants of a call: without limits, with a timeout, with a token.
fn contexts() -> [Context; 3] {
    [
        Context::new(),
        Context::new().with_timeout(Duration::from_secs(3600)),
        Context::new().with_cancellation(CancellationToken::new()),
    ]
}

/// Runs the script in all variants, and passes each to `check`.
async fn in_all_ways(script: Script, check: impl Fn(&Seen, ToolOutcome)) {
    for name in ["typed", "dynamic"] {
        for context in contexts() {
            let seen = Seen::default();
            let call = ToolCall::new("id", name, "{}").with_context(context);
            check(&seen, registry(&seen, &script, false).call(call).await);
        }
    }
}

const WAIT: fn(&Seen, &Waker) -> Option<&'static str> = |_, _| None;
const ANSWER: fn(&Seen, &Waker) -> Option<&'static str> = |_, _| Some("42");

#[tokio::test]
async fn ready_function_is_polled_once() {
    in_all_ways(vec![ANSWER], |seen, outcome| {
        assert_eq!(outcome.result.text(), Some("42"));
        assert_eq!(seen.counts(), [1, 1, 1]);
        // A waker that is kept has no effect later.
        seen.waker().wake();
    })
    .await;
}

#[tokio::test]
async fn function_that_wakes_itself_is_polled_again() {
    let wake = |_: &Seen, waker: &Waker| {
        waker.wake_by_ref();
        waker.wake_by_ref();
        None
    };
    in_all_ways(vec![wake, wake, ANSWER], |seen, outcome| {
        assert_eq!(outcome.result.text(), Some("42"));
        assert_eq!(seen.counts(), [1, 3, 1]);
    })
    .await;
}

#[tokio::test]
async fn function_woken_from_another_thread_continues() {
    let wake_later = |_: &Seen, waker: &Waker| {
        let waker = waker.clone();
        std::thread::spawn(move || waker.wake());
        None
    };
    in_all_ways(vec![wake_later, ANSWER], |seen, outcome| {
        assert_eq!(outcome.result.text(), Some("42"));
        assert_eq!(seen.counts(), [1, 2, 1]);
    })
    .await;
}

#[tokio::test]
async fn catches_panics_in_any_poll() {
    let wake = |_: &Seen, waker: &Waker| {
        waker.wake_by_ref();
        None
    };
    let panic = |_: &Seen, _: &Waker| panic!("in its poll");
    for (script, polls) in [(vec![panic as _], 1), (vec![wake, panic], 2)] {
        in_all_ways(script, |seen, outcome| {
            assert_eq!(outcome.failure, Some(Failure::Panicked));
            assert_eq!(seen.counts(), [1, polls, 1]);
            seen.waker().wake();
        })
        .await;
    }
}

/// Panic, at once or later.
#[tool]
async fn explode(
    /// After so many polls.
    polls: u32,
) -> String {
    for _ in 0..polls {
        tokio::task::yield_now().await;
    }
    panic!("as it was told to")
}

#[tokio::test]
async fn warnings_survive_a_panic() {
    let mut registry = ToolRegistry::new();
    registry.register::<explode>().unwrap();
    for context in contexts() {
        for polls in ["0", "1"] {
            let sent = format!(r#"{{"polls":"{polls}"}}"#);
            let call = ToolCall::new("id", "explode", sent).with_context(context.clone());
            let outcome = registry.call(call).await;
            assert_eq!(outcome.failure, Some(Failure::Panicked));
            assert_eq!(outcome.warnings.len(), 1, "{polls} polls, {context:?}");
        }
    }
}

#[tokio::test]
async fn catches_panics_in_drop_after_the_answer() {
    for context in contexts() {
        let seen = Seen::default();
        let registry = registry(&seen, &vec![ANSWER], true);
        let call = ToolCall::new("id", "dynamic", "{}").with_context(context);
        assert_eq!(registry.call(call).await.failure, Some(Failure::Panicked));
        assert_eq!(seen.counts(), [1, 1, 1]);
    }
}

/// Counts wakes.
#[derive(Default)]
struct Alarm(AtomicUsize);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future>(future: Pin<&mut F>, alarm: &Arc<Alarm>) -> Poll<F::Output> {
    future.poll(&mut Waking::from_waker(&Arc::clone(alarm).into()))
}

/// The task of the latest poll is woken.
#[tokio::test]
async fn call_may_move_to_another_waker() {
    for name in ["typed", "dynamic"] {
        for context in contexts() {
            let seen = Seen::default();
            let registry = registry(&seen, &vec![WAIT, WAIT, ANSWER], false);
            let call = ToolCall::new("id", name, "{}").with_context(context);
            let mut call = std::pin::pin!(registry.call(call));
            let alarms = [Arc::<Alarm>::default(), Arc::default()];
            for alarm in &alarms {
                assert!(poll(call.as_mut(), alarm).is_pending());
                seen.waker().wake();
            }
            let woken = alarms.each_ref().map(|alarm| alarm.0.load(Ordering::SeqCst));
            assert_eq!(woken, [1, 1]);
            let outcome = poll_fn(|waking| call.as_mut().poll(waking)).await;
            assert_eq!(outcome.result.text(), Some("42"));
            assert_eq!(seen.counts(), [1, 3, 1]);
        }
    }
}

/// A function is dropped once, in the caller's poll or drop.
#[tokio::test]
async fn polled_function_is_dropped_once() {
    for (name, panics_in_drop) in [("typed", false), ("dynamic", false), ("dynamic", true)] {
        let seen = Seen::default();
        let registry = registry(&seen, &vec![WAIT], panics_in_drop);
        let alarm = Arc::<Alarm>::default();
        {
            let mut running = std::pin::pin!(registry.execute_tool("id", name, "{}"));
            assert!(poll(running.as_mut(), &alarm).is_pending());
            assert_eq!(seen.counts(), [1, 1, 0]);
        }
        assert_eq!(seen.counts(), [1, 1, 1]);
        for context in contexts() {
            let before = seen.counts();
            {
                let call = ToolCall::new("id", name, "{}").with_context(context);
                let mut running = std::pin::pin!(registry.call(call));
                assert!(poll(running.as_mut(), &alarm).is_pending());
            }
            assert_eq!(seen.counts(), before.map(|count| count + 1));
        }
    }
}
