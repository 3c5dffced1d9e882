//! Long lines of a pipe leave the threads of the runtime, which serve all tasks.

use std::sync::mpsc::channel;

use serde_json::json;
use tokio::runtime::Builder;
use tokio::task::{spawn, spawn_blocking, yield_now};
use tool_runtime::Context;

use crate::adapt::lines::LONG_BYTES;
use crate::client::call::call;
use crate::client::outgoing::Tracker;
use crate::client::settings::Settings;
use crate::client::tests::fake_server::FakeServer;

/// Number of times that other tasks run, after which a line that is parsed on this thread has been parsed.
const TURNS: usize = 10_000;

/// Returns whether the answer to a call, a line of this length, arrives while the one thread for long work is occupied.
fn arrives_beside_long_work(length: usize) -> bool {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (mut server, connection) = FakeServer::connected(1 << 10).await;
        let (open, gate) = channel::<()>();
        let occupied = spawn_blocking(move || gate.recv().is_err());
        let running = spawn(async move {
            let (settings, context) = (Settings::new("long".to_owned()), Context::new());
            let tracker = Tracker::default();
            call(
                &connection,
                "long".to_owned(),
                json!({}),
                &context,
                &settings,
                tracker,
            )
            .await
        });
        let request = server.receive().await;
        let answer =
            |text: &str| json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "text": text } });
        let rest = length - answer("").to_string().len() - "\n".len();
        server.send(answer(&"x".repeat(rest))).await;
        for _ in 0..TURNS {
            yield_now().await;
        }
        let has_arrived = running.is_finished();
        drop(open);
        occupied.await.unwrap();
        let result = running.await.unwrap().unwrap();
        assert_eq!(result["text"].as_str().unwrap().len(), rest);
        has_arrived
    })
}

#[test]
fn lines_above_the_limit_are_parsed_on_another_thread() {
    assert!(arrives_beside_long_work(1 << 10));
    assert!(arrives_beside_long_work(LONG_BYTES));
    assert!(!arrives_beside_long_work(LONG_BYTES + 1));
    assert!(!arrives_beside_long_work(LONG_BYTES + (40 << 10)));
    assert!(!arrives_beside_long_work(LONG_BYTES + (300 << 10)));
}
