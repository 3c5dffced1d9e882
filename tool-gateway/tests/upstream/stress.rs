//! Many concurrent requests to a server whose responses all differ. No request receives the response of another, or a partial response that
//! looks complete. `GATEWAY_LONG=1` sends many more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::Request;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tool_gateway::upstream::{AnthropicUpstream, Upstream as _};
use tool_gateway::{Gateway, Offer};
use tool_runtime::{Context, ToolDefinition, ToolRegistry};
use tower::ServiceExt as _;

use crate::body::{events, message};
use crate::random::Random;
use crate::random_server::{ID, Manners, Server, payload};

/// Longer than any step of these tests.
const HANGS: Duration = Duration::from_secs(30);

fn request(id: usize, padding: usize) -> Request<Bytes> {
    let body = json!({
        "model": "m", "max_tokens": 9, "stream": true,
        "messages": [{ "role": "user", "content": id.to_string() }],
    });
    let mut request = crate::body::post("/v1/messages", format!("{body}{}", " ".repeat(padding)));
    request.headers_mut().insert(ID, id.into());
    request
}

/// Way in which a client reads a response.
#[derive(Clone, Copy, PartialEq)]
enum Client {
    Reads,
    ReadsSlowly,
    ReadsElsewhere,
    LeavesBefore,
    LeavesInside,
}

/// Collects the received data, with an error if it is incomplete.
async fn read(mut body: Body, client: Client) -> Result<Vec<u8>, String> {
    let mut read = Vec::new();
    let mut pauses = 10;
    let mut body = std::pin::Pin::new(&mut body);
    while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let frame = frame.map_err(|error| error.to_string())?;
        if let Some(data) = frame.data_ref() {
            read.extend_from_slice(data);
        }
        if client == Client::ReadsSlowly && pauses > 0 {
            pauses -= 1;
            sleep(Duration::from_millis(1)).await;
        }
        if client == Client::LeavesInside {
            break;
        }
    }
    Ok(read)
}

/// Returns whether the response is complete. Panics if it belongs to another request, or is incomplete without an error.
async fn exchange(upstream: &AnthropicUpstream, id: usize) -> Result<(), String> {
    let mut random = Random::new(!(id as u64));
    let client = *random.pick(&[
        Client::Reads,
        Client::Reads,
        Client::Reads,
        Client::ReadsSlowly,
        Client::ReadsElsewhere,
        Client::LeavesBefore,
        Client::LeavesInside,
    ]);
    // The largest response exceeds the buffers of a connection.
    let padding = match id % 256 {
        3 => 8_000_000,
        _ => random.below(1000),
    };
    let sending = upstream.send(request(id, padding));
    let response = if client == Client::LeavesBefore {
        let patience = Duration::from_micros(random.below(3000) as u64);
        let Ok(response) = timeout(patience, sending).await else {
            return Ok(());
        };
        response
    } else {
        timeout(HANGS, sending).await.unwrap()
    };
    let response = response.map_err(|error| error.to_string())?;
    assert_eq!(response.headers()[ID], id.to_string());
    let reading = read(response.into_body(), client);
    let read = if client == Client::ReadsElsewhere {
        timeout(HANGS, tokio::spawn(reading)).await.unwrap().unwrap()
    } else {
        timeout(HANGS, reading).await.unwrap()
    };
    let read = String::from_utf8(read?).unwrap();
    let payload = payload(id);
    if client == Client::LeavesInside {
        assert!(payload.starts_with(&read), "{id}: {read}");
    } else {
        assert_eq!(read, payload, "{id}");
    }
    Ok(())
}

/// Sends a request for each of these numbers, some of them concurrently. Returns the errors.
async fn send_all<F, T>(ids: std::ops::Range<usize>, at_once: usize, exchange: F) -> Vec<String>
where
    F: Fn(usize) -> T + Clone + Send + 'static,
    T: Future<Output = Result<(), String>> + Send,
{
    let next = Arc::new(AtomicUsize::new(ids.start));
    let mut clients = JoinSet::new();
    for _ in 0..at_once {
        let (next, exchange) = (Arc::clone(&next), exchange.clone());
        clients.spawn(async move {
            let mut errors = Vec::new();
            loop {
                let id = next.fetch_add(1, Ordering::SeqCst);
                if id >= ids.end {
                    return errors;
                }
                errors.extend(exchange(id).await.err().map(|error| format!("{id}: {error}")));
            }
        });
    }
    clients.join_all().await.concat()
}

fn amount() -> usize {
    let is_long = std::env::var_os("GATEWAY_LONG").is_some();
    if is_long { 50_000 } else { 800 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn correct_responses_arrive_completely() {
    let server = Server::start(Manners::Correct).await;
    let upstream = Arc::new(server.upstream());
    let asking = Arc::clone(&upstream);
    let errors = send_all(0..amount(), 64, move |id| {
        let upstream = Arc::clone(&asking);
        async move { exchange(&upstream, id).await }
    })
    .await;
    assert_eq!(errors, [""; 0]);
    server.check_each_was_sent_once_or_repeated();
    drop(upstream);
    server.check_connections_are_closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn faulty_responses_are_errors_or_complete() {
    let server = Server::start(Manners::Faulty).await;
    let upstream = Arc::new(server.upstream());
    let asking = Arc::clone(&upstream);
    let errors = send_all(0..amount(), 64, move |id| {
        let upstream = Arc::clone(&asking);
        async move { exchange(&upstream, id).await }
    })
    .await;
    assert!(
        !errors.is_empty() && errors.len() < amount() / 2,
        "{}",
        errors.len()
    );
    server.check_each_was_sent_once_or_repeated();
    drop(upstream);
    server.check_connections_are_closed().await;
}

/// The turn machine reads some responses; the others pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn complete_responses_pass_a_gateway() {
    for has_tools in [true, false] {
        for manners in [Manners::Correct, Manners::Faulty] {
            let server = Server::start(manners).await;
            let gateway = gateway(&server, has_tools);
            let errors = send_all(0..amount() / 8, 32, move |id| {
                let gateway = gateway.clone();
                async move {
                    let id = id * 8 + 1 + id % 7;
                    let request = request(id, 0).map(Body::from);
                    let response = timeout(HANGS, gateway.oneshot(request)).await.unwrap();
                    let response = response.unwrap();
                    let is_error = !response.status().is_success();
                    let read = timeout(HANGS, read(response.into_body(), Client::Reads))
                        .await
                        .unwrap();
                    let read = String::from_utf8(read?).unwrap();
                    if is_error || read.contains("event: error") {
                        return Err(read);
                    }
                    if has_tools {
                        let (read, whole) = (text(&read), text(&payload(id)));
                        assert_eq!(read, whole, "{id}");
                    } else {
                        assert_eq!(read, payload(id), "{id}");
                    }
                    Ok(())
                }
            })
            .await;
            assert_eq!(errors.is_empty(), manners == Manners::Correct, "{errors:#?}");
            assert!(errors.len() < amount() / 16, "{errors:#?}");
            server.check_each_was_sent_once_or_repeated();
            server.check_connections_are_closed().await;
        }
    }
}

/// Returns the text of a complete message.
fn text(stream: &str) -> String {
    let message = message(&events(stream.as_bytes()));
    assert_eq!(message["stop_reason"], "end_turn");
    message["content"][0]["text"].as_str().unwrap().to_owned()
}

fn gateway(server: &Server, has_tools: bool) -> axum::Router {
    let mut registry = ToolRegistry::new();
    let lookup = ToolDefinition::new("lookup", "Look it up.", json!({ "type": "object" }));
    registry
        .register_dynamic(lookup, async |_: serde_json::Value, _: Context| {
            Ok::<_, String>("found")
        })
        .unwrap();
    let registry = if has_tools { registry } else { ToolRegistry::new() };
    Gateway::new(registry, server.upstream())
        .with_offer(Offer::Always)
        .router()
}
