//! Hanging calls, deadlines and cancellation. Unless a thread blocks, tokio's clock is paused, so that an hour takes no time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use tool_runtime::{CancellationToken, Context, State, ToolCall, ToolRegistry, tool};

use crate::calls::{brewing, call_of};
use crate::rows::row;
use crate::telemetry;

const HOUR: Duration = Duration::from_secs(3600);

fn hanging() -> ToolRegistry {
    brewing(async |_, _| std::future::pending::<String>().await)
}

#[tokio::test(start_paused = true)]
async fn hangs_past_the_deadline() {
    let row = row("time::hangs_past_the_deadline");
    let context = Context::new().with_timeout(HOUR);
    row.check(&hanging().call(call_of(&row).with_context(context)).await);
}

/// Make coffee without end.
#[tool(name = "brew", timeout = "1h")]
async fn slow() {
    std::future::pending::<()>().await;
}

#[tokio::test(start_paused = true)]
async fn hangs_past_its_own_timeout() {
    let row = row("time::hangs_past_its_own_timeout");
    let mut registry = ToolRegistry::new();
    registry.register::<slow>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test(start_paused = true)]
async fn hangs_past_set_timeout() {
    let row = row("time::hangs_past_set_timeout");
    let mut registry = hanging();
    registry.set_timeout("brew", HOUR).unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test(start_paused = true)]
async fn hangs_without_a_deadline() {
    let row = row("time::hangs_without_a_deadline");
    let registry = hanging();
    let call = registry.call(call_of(&row));
    tokio::time::timeout(HOUR * 24 * 365, call).await.unwrap_err();
    row.model_reads::<&str>([]);
    row.host_learns(telemetry::of(&row.id()).events);
}

#[tokio::test(start_paused = true)]
async fn answers_in_the_grace_period() {
    let row = row("time::answers_in_the_grace_period");
    let context = Context::new().with_timeout(HOUR);
    row.check(
        &answering_when_cancelled()
            .call(call_of(&row).with_context(context))
            .await,
    );
}

#[tokio::test(start_paused = true)]
async fn answers_after_cancellation() {
    let row = row("time::answers_after_cancellation");
    let token = CancellationToken::new();
    let registry = answering_when_cancelled();
    let call = call_of(&row).with_context(Context::new().with_cancellation(token.clone()));
    let began = tokio::time::Instant::now();
    let (outcome, ()) = tokio::join!(registry.call(call), async { token.cancel() });
    assert!(began.elapsed().is_zero(), "it waits for no grace period");
    row.check(&outcome);
}

/// Stops when its call is cancelled, and returns its progress.
fn answering_when_cancelled() -> ToolRegistry {
    brewing(async |_, context: Context| {
        context.cancellation().cancelled().await;
        "half a cup; call again for the rest"
    })
}

#[tokio::test(start_paused = true)]
async fn ignores_the_grace_period() {
    let row = row("time::ignores_the_grace_period");
    let notified = Arc::new(AtomicBool::new(false));
    let notify = Arc::clone(&notified);
    let registry = brewing(move |_, context: Context| {
        let notify = Arc::clone(&notify);
        async move {
            context.cancellation().cancelled().await;
            notify.store(true, Ordering::SeqCst);
            std::future::pending::<String>().await
        }
    });
    let context = Context::new().with_timeout(HOUR);
    row.check(&registry.call(call_of(&row).with_context(context)).await);
    assert!(notified.load(Ordering::SeqCst), "it had its grace period");
}

#[tokio::test]
async fn deadline_before_the_start() {
    let row = row("time::deadline_before_the_start");
    let registry = brewing(async |_, _| -> String { panic!("it ran") });
    let context = Context::new().with_deadline(Instant::now());
    row.check(&registry.call(call_of(&row).with_context(context)).await);
}

#[tokio::test]
async fn cancelled_before_the_start() {
    let row = row("time::cancelled_before_the_start");
    let registry = brewing(async |_, _| -> String { panic!("it ran") });
    let token = CancellationToken::new();
    token.cancel();
    let context = Context::new().with_cancellation(token);
    row.check(&registry.call(call_of(&row).with_context(context)).await);
}

#[tokio::test(start_paused = true)]
async fn cancelled_while_running() {
    let row = row("time::cancelled_while_running");
    let token = CancellationToken::new();
    let registry = hanging();
    let call = call_of(&row).with_context(Context::new().with_cancellation(token.clone()));
    let began = tokio::time::Instant::now();
    let (outcome, ()) = tokio::join!(registry.call(call), async { token.cancel() });
    assert!(
        began.elapsed() < Duration::from_millis(500),
        "{:?}",
        began.elapsed()
    );
    row.check(&outcome);
}

#[tokio::test]
async fn cancelled_after_the_answer() {
    let row = row("time::cancelled_after_the_answer");
    let token = CancellationToken::new();
    let registry = brewing(async |_, _| "coffee");
    let call = call_of(&row).with_context(Context::new().with_cancellation(token.clone()));
    let outcome = registry.call(call).await;
    token.cancel();
    row.check(&outcome);
}

/// The resources of the call are released, and the call's own token reports the cancellation.
#[tokio::test(start_paused = true)]
async fn caller_drops_the_call() {
    let row = row("time::caller_drops_the_call");
    let held = Arc::new(());
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let (hold, keep) = (Arc::clone(&held), Arc::clone(&tokens));
    let registry = brewing(move |_, context: Context| {
        keep.lock().unwrap().push(context.cancellation());
        let held = Arc::clone(&hold);
        async move {
            std::future::pending::<()>().await;
            drop(held);
        }
    });
    let call = registry.call(call_of(&row));
    tokio::time::timeout(HOUR, call).await.unwrap_err();
    assert_eq!(Arc::strong_count(&held), 2, "the test's and the handler's own");
    assert!(tokens.lock().unwrap()[0].is_cancelled());
    row.model_reads::<&str>([]);
    row.host_learns(telemetry::of(&row.id()).events);
}

/// A blocked thread cannot be interrupted. The other threads continue, and the answer is returned when the thread is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_its_thread() {
    let row = row("time::blocks_its_thread");
    let (release, released) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let released = Mutex::new(released);
    let registry = brewing(move |arguments, _| {
        if arguments["cup"] == 1 {
            begin.send(()).unwrap();
            let _ = released.lock().unwrap().recv();
        }
        async { "coffee" }
    });
    let token = CancellationToken::new();
    let context = Context::new().with_cancellation(token.clone());
    let blocked = ToolCall::new(row.id(), "brew", r#"{ "cup": 1 }"#).with_context(context);
    let blocking = registry.clone();
    let blocked = tokio::spawn(async move { blocking.call(blocked).await });
    begun.recv().unwrap();
    token.cancel();
    let others = (2..12).map(|n| ToolCall::new(format!("{}_{n}", row.id()), "brew", "{}"));
    let others = registry.execute_all(others).await;
    let went_on = !blocked.is_finished();
    // Before any assertion, since the runtime would wait for its thread forever.
    release.send(()).unwrap();
    assert!(went_on, "nothing ends it");
    assert!(
        others
            .iter()
            .all(|outcome| outcome.result.text() == Some("coffee"))
    );
    row.check(&blocked.await.unwrap());
}

/// Make coffee, and block the thread.
#[tool(name = "brew", timeout = "1s")]
async fn blocking() -> &'static str {
    std::thread::sleep(Duration::from_millis(1050));
    "coffee"
}

/// A blocking function cannot be stopped, so its result counts. The host is informed that the result was late.
#[tokio::test]
async fn blocks_past_its_timeout() {
    let row = row("time::blocks_past_its_timeout");
    let mut registry = ToolRegistry::new();
    registry.register::<blocking>().unwrap();
    let outcome = registry.call(call_of(&row)).await;
    assert!(outcome.duration > Duration::from_secs(1));
    row.check(&outcome);
}

/// Make coffee, block the thread, and panic.
#[tool(name = "brew", timeout = "1s")]
async fn spilling() -> &'static str {
    std::thread::sleep(Duration::from_millis(1050));
    panic!("spilt")
}

/// A panic is reported even if it is late.
#[tokio::test]
async fn panics_past_its_timeout() {
    let row = row("time::panics_past_its_timeout");
    let mut registry = ToolRegistry::new();
    registry.register::<spilling>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// Calls that wait for a blocked thread are answered in time; the thread continues.
#[tokio::test(start_paused = true)]
async fn waits_for_a_blocking_thread() {
    let row = row("time::waits_for_a_blocking_thread");
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let (begin, begun) = mpsc::channel();
    let ended = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&ended);
    let registry = brewing(move |_, _| {
        let (begin, released, end) = (begin.clone(), Arc::clone(&released), Arc::clone(&end));
        let blocking = tokio::task::spawn_blocking(move || {
            begin.send(()).unwrap();
            let _ = released.lock().unwrap().recv();
            end.store(true, Ordering::SeqCst);
        });
        async move { blocking.await.map(|()| "coffee") }
    });
    let call = call_of(&row).with_context(Context::new().with_timeout(HOUR));
    let (outcome, ()) = tokio::join!(registry.call(call), async {
        begun.recv().unwrap();
        // While a thread blocks, the clock does not advance automatically: once to the deadline, then for the grace period.
        for _ in 0..4 {
            tokio::time::advance(HOUR).await;
        }
    });
    let went_on = !ended.load(Ordering::SeqCst);
    // Before any assertion, since the runtime would wait for its thread forever.
    release.send(()).unwrap();
    assert!(went_on);
    row.check(&outcome);
}

/// Signal for which a blocking tool waits, and whether the tool has returned.
#[derive(Clone)]
struct Thread {
    begin: mpsc::Sender<()>,
    released: Arc<Mutex<mpsc::Receiver<()>>>,
}

/// Make coffee on a thread.
#[tool(name = "brew", blocking)]
fn holding(thread: State<Thread>) -> &'static str {
    thread.begin.send(()).unwrap();
    let _ = thread.released.lock().unwrap().recv();
    "coffee"
}

/// The answer is returned in time. The log reports that the thread continues, and later that it has ended.
#[tokio::test(start_paused = true)]
async fn blocking_tool_continues() {
    let row = row("time::blocking_tool_continues");
    let (release, released) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let released = Arc::new(Mutex::new(released));
    let mut registry = ToolRegistry::new().with_state(Thread { begin, released });
    registry.register::<holding>().unwrap();
    let call = call_of(&row).with_context(Context::new().with_timeout(HOUR));
    let (outcome, ()) = tokio::join!(registry.call(call), async {
        begun.recv().unwrap();
        for _ in 0..4 {
            tokio::time::advance(HOUR).await;
        }
    });
    let known = telemetry::of(&row.id()).events;
    // Before any assertion, since the runtime would wait for its thread forever.
    release.send(()).unwrap();
    assert_eq!(
        known,
        ["WARN a blocking tool continues after its call was stopped; threads=1"]
    );
    let began = Instant::now();
    while telemetry::of(&row.id()).events.len() < 2 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the log does not say that it ended"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    row.check(&outcome);
}

/// Calls of blocking tools need a runtime, which has the threads.
#[test]
fn blocking_tool_without_a_runtime() {
    let row = row("time::blocking_tool_without_a_runtime");
    let (begin, _begun) = mpsc::channel();
    let (_release, released) = mpsc::channel();
    let released = Arc::new(Mutex::new(released));
    let mut registry = ToolRegistry::new().with_state(Thread { begin, released });
    registry.register::<holding>().unwrap();
    let mut call = std::pin::pin!(registry.call(call_of(&row)));
    let mut waking = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(outcome) = call.as_mut().poll(&mut waking) else {
        panic!("it waits")
    };
    row.check(&outcome);
}
