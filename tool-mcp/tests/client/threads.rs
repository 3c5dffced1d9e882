//! Long work of the client leaves the threads of the runtime, which serve all tasks.

use tokio::runtime::Builder;
use tokio::task::{spawn, spawn_blocking, yield_now};
use tool_runtime::serde_json::{Value, json};

use crate::http_peer::{HttpPeer, Reply, brew, coffee, event};
use crate::support::call_text;

/// Number of times that other tasks run, after which work on this thread would be done.
const TURNS: usize = 10_000;

/// Runs `work` while the one thread for long work is occupied, and checks that it ends only when the thread is free.
fn check_is_elsewhere<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let occupied = spawn_blocking(move || gate.recv());
        let work = spawn(work);
        for _ in 0..TURNS {
            yield_now().await;
        }
        assert!(!work.is_finished());
        drop(open);
        occupied.await.unwrap().unwrap_err();
        work.await.unwrap()
    })
}

#[test]
fn schemas_of_a_list_are_compiled_on_another_thread() {
    let client = check_is_elsewhere(async {
        let peer = HttpPeer::modern(brew(), |request| request.result(coffee()));
        let client = peer.connect().await;
        client.definitions().len()
    });
    assert_eq!(client, 1);
}

#[test]
fn long_answers_are_parsed_on_another_thread() {
    for is_stream in [false, true] {
        let length = check_is_elsewhere(async move {
            let text: Value = "x".repeat(300 << 10).into();
            let peer = HttpPeer::modern(brew(), move |request| {
                let answer = request.answer(json!({ "content": [{ "type": "text", "text": text }] }));
                if is_stream {
                    Reply::events(event(&answer))
                } else {
                    Reply::json(200, answer)
                }
            });
            call_text(&peer.connect().await, "brew", &json!({})).await.len()
        });
        assert_eq!(length, 300 << 10);
    }
}
