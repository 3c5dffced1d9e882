//! Other requests while a large one is worked on, and the work on messages of many blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use tokio::sync::oneshot;
use tower::ServiceExt as _;

use crate::alone;
use crate::shapes::{Shape, gateway, list, message, send, streamed};

async fn health(app: &Router) -> u16 {
    let request = Request::get("/healthz").body(Body::empty()).unwrap();
    app.clone().oneshot(request).await.unwrap().status().as_u16()
}

/// The runtime has one worker. Work on the worker would answer `/healthz` only after the large request, and none beside it. The bodies are
/// within the caps, also with 32 MiB.
#[test]
fn health_is_answered_beside_a_large_request() {
    let _alone = alone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let shapes = [
        "1 as arguments",
        "1 as metadata",
        "{} as tool result",
        "1 as system",
    ];
    for shape in Shape::all()
        .into_iter()
        .filter(|shape| shapes.contains(&shape.name.as_str()))
    {
        let app = gateway(true, message(r#"[{"type":"text","text":"a"}]"#)).router();
        let body = Bytes::from(shape.accepted_body());
        let (answered, slowest, took) = runtime.block_on(async {
            let is_over = Arc::new(AtomicBool::new(false));
            let (started, start) = oneshot::channel();
            let large = tokio::spawn({
                let (app, is_over) = (app.clone(), Arc::clone(&is_over));
                async move {
                    started.send(()).unwrap();
                    let began = Instant::now();
                    let (status, _) = send(&app, body).await;
                    is_over.store(true, Ordering::SeqCst);
                    assert_eq!(status, 200);
                    began.elapsed()
                }
            });
            let beside = tokio::spawn(async move {
                start.await.unwrap();
                let (mut answered, mut slowest) = (0, Duration::ZERO);
                while !is_over.load(Ordering::SeqCst) {
                    let began = Instant::now();
                    assert_eq!(health(&app).await, 200);
                    slowest = slowest.max(began.elapsed());
                    answered += 1;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                (answered, slowest)
            });
            let took = large.await.unwrap();
            let (answered, slowest) = beside.await.unwrap();
            (answered, slowest, took)
        });
        eprintln!(
            "{}: {took:?}, {answered} times /healthz, at most {slowest:?}",
            shape.name
        );
        // Other tasks run at least between the pieces of the body.
        assert!(answered >= 5, "{}: {answered} answers", shape.name);
        // Generous, since other processes may have the processor.
        assert!(
            slowest < Duration::from_secs(5) && slowest <= took,
            "{}: {slowest:?}",
            shape.name
        );
    }
}

/// Builds a request and a response of so many blocks.
type Build<'b> = &'b dyn Fn(usize) -> (String, String);

/// Four times the blocks take about four times as long; in quadratic time, they would take sixteen times as long.
#[test]
fn blocks_of_a_message_are_handled_in_linear_time() {
    let _alone = alone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let block = r#"{"type":"text","text":"a"}"#;
    let user =
        |content: &str| format!(r#"{{"model":"m","messages":[{{"role":"user","content":{content}}}]}}"#);
    let blocks = |count: usize| list(block, (block.len() + 1) * count - 2);
    let cases: [(&str, Build<'_>); 3] = [
        ("request", &|count| (user(&blocks(count)), message("[]"))),
        ("response", &|count| (user("\"a\""), message(&blocks(count)))),
        ("stream", &|count| (user("\"a\""), streamed(&vec![block; count]))),
    ];
    for (name, build) in cases {
        // The shortest of several times is the least disturbed by other processes.
        let time = |count: usize| {
            let times = (0..3).map(|_| {
                let (body, response) = build(count);
                let app = gateway(true, response).router();
                let began = Instant::now();
                let (status, _) = runtime.block_on(send(&app, body.into()));
                assert_eq!(status, 200, "{name}");
                began.elapsed()
            });
            times.min().unwrap().as_secs_f64()
        };
        let (few, many) = (time(2_000), time(8_000));
        eprintln!("{name}: {few:.3} s, {many:.3} s for four times the blocks");
        assert!(
            many < 9.0 * few,
            "{name}: {few} s, {many} s for four times the blocks"
        );
    }
}
