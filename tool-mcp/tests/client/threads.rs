//! Long work of the client leaves the threads of the runtime, which serve all tasks.

use std::sync::mpsc::{Sender, channel};

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{spawn, spawn_blocking, yield_now};
use tool_runtime::serde_json::{Value, json};

use crate::http_peer::{HttpPeer, Reply, brew, coffee, event};
use crate::support::call_text;

/// Number of times that other tasks run, after which work on this thread would be done.
const TURNS: usize = 10_000;

/// Runs `work` while the one thread for long work is occupied before each of its `steps`, and checks that it ends only when the thread is
/// free.
fn check_is_elsewhere<T: Send + 'static>(steps: usize, work: impl Future<Output = T> + Send + 'static) -> T {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (mut gate, begun) = occupy();
        begun.await.unwrap();
        let work = spawn(work);
        for step in 1..=steps {
            for _ in 0..TURNS {
                yield_now().await;
            }
            assert!(!work.is_finished(), "step {step}");
            let (next, begun) = occupy();
            // The step that waits runs before the thread is occupied again.
            gate = next;
            begun.await.unwrap();
        }
        drop(gate);
        work.await.unwrap()
    })
}

/// Occupies a thread for long work until the sender is dropped. The receiver is notified when the thread is occupied.
fn occupy() -> (Sender<()>, oneshot::Receiver<()>) {
    let (open, gate) = channel();
    let (occupied, begun) = oneshot::channel();
    spawn_blocking(move || {
        let _ = occupied.send(());
        let _ = gate.recv();
    });
    (open, begun)
}

#[test]
fn schemas_of_a_list_are_compiled_on_another_thread() {
    let client = check_is_elsewhere(1, async {
        let peer = HttpPeer::modern(brew(), |request| request.result(coffee()));
        let client = peer.connect().await;
        client.definitions().len()
    });
    assert_eq!(client, 1);
}

#[test]
fn long_answers_are_parsed_and_converted_on_another_thread() {
    for is_stream in [false, true] {
        let text: Value = "x".repeat(300 << 10).into();
        let length = check_is_elsewhere(3, async move {
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

#[test]
fn long_errors_are_parsed_on_another_thread() {
    let message: Value = "x".repeat(300 << 10).into();
    let text = check_is_elsewhere(2, async move {
        let peer = HttpPeer::modern(brew(), move |request| {
            request.error(400, json!({ "code": -32602, "message": message }))
        });
        call_text(&peer.connect().await, "brew", &json!({})).await
    });
    assert!(text.contains("refused the call: xxx"), "{text:.100}");
}
