//! Times of calls, progress, and servers that do not read.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::{Instant, sleep};
use tool_runtime::{Context, ProgressReport};

use crate::adapt::fault::Fault;
use crate::client::call::call;
use crate::client::connection::Connection;
use crate::client::outgoing::Tracker;
use crate::client::settings::{Limits, Settings};
use crate::client::tests::fake_server::FakeServer;

fn start(connection: &Arc<Connection>, context: Context) -> tokio::task::JoinHandle<Result<Value, Fault>> {
    let connection = Arc::clone(connection);
    tokio::spawn(async move {
        let settings = Settings::new("slow".to_owned());
        call(
            &connection,
            "slow".to_owned(),
            json!({}),
            &context,
            &settings,
            Tracker::default(),
        )
        .await
    })
}

fn progress(request: &Value, params: Value) -> Value {
    let mut params = params;
    params["progressToken"] = request["params"]["_meta"]["progressToken"].clone();
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}

#[tokio::test(start_paused = true)]
async fn progress_extends_a_call_and_is_reported() {
    let (mut server, connection) = FakeServer::connected(1 << 10).await;
    let (sender, report) = watch::channel(ProgressReport::default());
    let running = start(&connection, Context::new().with_progress(sender));
    let request = server.receive().await;
    for (at, wanted) in [(1, "25 of 100"), (2, "50 of 100"), (3, "75 of 100")] {
        sleep(Duration::from_secs(59)).await;
        let params = json!({ "progress": f64::from(at) / 4.0, "total": 1 });
        server.send(progress(&request, params)).await;
        // Progress of another call does not count.
        let other = json!({ "params": { "_meta": { "progressToken": 999 } } });
        server.send(progress(&other, json!({ "progress": 9 }))).await;
        sleep(Duration::from_millis(1)).await;
        assert_eq!(report.borrow().to_string(), wanted);
    }
    sleep(Duration::from_secs(59)).await;
    server.answer(&request, json!({ "content": [] })).await;
    assert_eq!(running.await.unwrap(), Ok(json!({ "content": [] })));
}

#[tokio::test(start_paused = true)]
async fn a_call_without_progress_times_out_and_is_cancelled_at_the_server() {
    let (mut server, connection) = FakeServer::connected(1 << 10).await;
    let began = Instant::now();
    let running = start(&connection, Context::new());
    let request = server.receive().await;
    let limit = Duration::from_secs(60);
    assert_eq!(running.await.unwrap(), Err(Fault::TimedOut(limit)));
    assert_eq!(began.elapsed(), limit);
    let cancelled = server.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    // The late answer harms nothing.
    server.answer(&request, json!({})).await;
    let running = start(&connection, Context::new());
    let request = server.receive().await;
    server.answer(&request, json!({ "content": [] })).await;
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_extend_a_call_forever() {
    let (mut server, connection) = FakeServer::connected(1 << 10).await;
    let began = Instant::now();
    let mut running = start(&connection, Context::new());
    let request = server.receive().await;
    let result = loop {
        tokio::select! {
            result = &mut running => break result.unwrap(),
            () = sleep(Duration::from_secs(50)) => server.send(progress(&request, json!({ "progress": 1 }))).await,
        }
    };
    let limit = Duration::from_secs(600);
    assert_eq!(result, Err(Fault::TookTooLong(limit)));
    assert_eq!(began.elapsed(), limit);
}

#[tokio::test(start_paused = true)]
async fn calls_to_a_server_that_does_not_read_fail_at_once_when_the_queue_is_full() {
    let (mut server, connection) = FakeServer::connected(64).await;
    let running: Vec<_> = (0..300).map(|_| start(&connection, Context::new())).collect();
    // Time passes only when nothing else can be done.
    sleep(Duration::from_secs(1)).await;
    let (failed, waiting): (Vec<_>, Vec<_>) = running
        .into_iter()
        .partition(tokio::task::JoinHandle::is_finished);
    // One message is being written, 256 are queued.
    assert_eq!((failed.len(), waiting.len()), (43, 257));
    for failed in failed {
        assert_eq!(failed.await.unwrap(), Err(Fault::Busy));
    }
    // Answers are still read.
    let first = server.receive().await;
    server.answer(&first, json!({ "content": [] })).await;
    let mut finished = 0;
    sleep(Duration::from_secs(1)).await;
    for waiting in waiting {
        finished += usize::from(waiting.is_finished());
    }
    assert_eq!(finished, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_reads_nothing_for_a_minute_is_restarted() {
    let (mut server, connection) = FakeServer::connected(64).await;
    let mut settings = Settings::new("pipe".to_owned());
    settings.limits = Limits {
        call: Duration::from_secs(3600),
        total: Duration::from_secs(3600),
        ..Limits::default()
    };
    let context = Context::new();
    let first = call(
        &connection,
        "a".repeat(100),
        json!({}),
        &context,
        &settings,
        Tracker::default(),
    );
    let second = call(
        &connection,
        "b".to_owned(),
        json!({}),
        &context,
        &settings,
        Tracker::default(),
    );
    let began = Instant::now();
    let (first, second) = tokio::join!(first, second);
    assert_eq!(began.elapsed(), Duration::from_secs(60));
    let reason = "read no input for 60 s".to_owned();
    assert_eq!(first, Err(Fault::EndedDuring(reason.clone())));
    // Not a byte of the second call was written, so a repetition is safe.
    assert_eq!(second, Err(Fault::EndedBefore(reason)));
    assert!(connection.wire.end.is_cancelled());
    drop(server.receive());
}

/// A server whose process continues has a second to end, since its exit status would be a better reason.
#[tokio::test(start_paused = true)]
async fn a_server_that_closes_its_output_is_restarted() {
    let (mut server, connection) = FakeServer::connected(1 << 10).await;
    let running = start(&connection, Context::new());
    server.receive().await;
    let began = Instant::now();
    server.close_output().await;
    let reason = "closed standard output".to_owned();
    assert_eq!(running.await.unwrap(), Err(Fault::EndedDuring(reason)));
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}

/// The one thread for long work is occupied.
#[test]
fn a_long_answer_in_a_pipe_is_parsed_on_another_thread() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (mut server, connection) = FakeServer::connected(1 << 10).await;
        let running = start(&connection, Context::new());
        let request = server.receive().await;
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let occupied = spawn_blocking(move || gate.recv());
        let result = json!({ "content": [{ "type": "text", "text": "x".repeat(400 << 10) }] });
        server.answer(&request, result.clone()).await;
        // Work on this thread would be done after so many turns of other tasks.
        for _ in 0..10_000 {
            yield_now().await;
        }
        assert!(!running.is_finished());
        drop(open);
        occupied.await.unwrap().unwrap_err();
        assert_eq!(running.await.unwrap(), Ok(result));
    });
}
