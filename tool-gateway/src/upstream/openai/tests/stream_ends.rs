//! Ends of streams: after a finish reason, after a stop sequence, and by a transport error.

use axum::body::{Body, Bytes};
use axum::http::Response;
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::upstream::answer::{Part, TurnBody};
use crate::upstream::openai::response::expected::ExpectedResponse;
use crate::upstream::openai::response::turn_body;
use crate::wire::event::StreamEvent;

const HELLO: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n";
const FINISH: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n";

/// Pieces of a stream's body, each with the seconds before it.
fn timed(pieces: &[(u64, Result<&'static str, &'static str>)]) -> Body {
    let pieces = pieces.to_vec();
    let pieces = futures_util::stream::iter(pieces).then(|(seconds, piece)| async move {
        tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
        piece.map(Bytes::from).map_err(std::io::Error::other)
    });
    Body::from_stream(pieces)
}

/// Returns the last events of a stream, and the seconds until its end.
async fn streamed(body: Body) -> (Result<Value, String>, u64) {
    let begun = tokio::time::Instant::now();
    let response = Response::builder()
        .header("content-type", "text/event-stream")
        .body(body)
        .unwrap();
    let response = turn_body(response, ExpectedResponse::default());
    let TurnBody::Message(mut events) = response.await.into_body() else {
        panic!("an error")
    };
    let mut last = Ok(Value::Null);
    while let Some(event) = std::future::poll_fn(|cx| events.poll_next(cx)).await {
        match event.map(|event| event.0) {
            Ok(Part::Event(StreamEvent::MessageDelta(fields))) => {
                last = Ok(serde_json::from_str(&fields.to_json()).unwrap());
            }
            Ok(_) => {}
            Err(error) => last = Err(error.to_string()),
        }
    }
    (last, begun.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn pieces_after_a_finish_reason_are_awaited_for_five_seconds() {
    // The usage arrives in time, and the connection stays open.
    let body = timed(&[(0, Ok(HELLO)), (1, Ok(FINISH)), (4, Ok(USAGE)), (3600, Ok(HELLO))]);
    let (last, seconds) = streamed(body).await;
    let last = last.unwrap();
    assert_eq!(last["delta"]["stop_reason"], "end_turn");
    assert_eq!((last["usage"]["input_tokens"].as_u64(), seconds), (Some(7), 6));
    // The usage arrives too late.
    let body = timed(&[(0, Ok(HELLO)), (1, Ok(FINISH)), (6, Ok(USAGE))]);
    let (last, seconds) = streamed(body).await;
    let last = last.unwrap();
    assert_eq!(last["delta"]["stop_reason"], "end_turn");
    assert_ne!(last["usage"]["input_tokens"], 7);
    assert_eq!(seconds, 6);
}

#[tokio::test(start_paused = true)]
async fn a_transport_error_after_a_finish_reason_is_the_end() {
    let body = timed(&[(0, Ok(HELLO)), (0, Ok(FINISH)), (0, Ok(USAGE)), (1, Err("reset"))]);
    let (last, _) = streamed(body).await;
    assert_eq!(last.unwrap()["usage"]["output_tokens"], 3);
    let body = timed(&[(0, Ok(HELLO)), (1, Err("reset"))]);
    let (last, _) = streamed(body).await;
    assert_eq!(last.unwrap_err(), "the upstream's response was cut off: reset");
}

#[tokio::test]
async fn a_searched_stop_sequence_ends_the_request() {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<String, std::io::Error>>(1);
    let body = Body::from_stream(futures_util::stream::unfold(receiver, |mut receiver| async {
        Some((receiver.recv().await?, receiver))
    }));
    let expected = ExpectedResponse {
        searched_stops: vec!["STOP".to_owned()],
        ..Default::default()
    };
    let response = Response::builder().header("content-type", "text/event-stream");
    let response = response.body(body).unwrap();
    let chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"aSTOP\"}}]}\n\n";
    sender.send(Ok(chunk.to_owned())).await.unwrap();
    let response = turn_body(response, expected).await;
    // The stream of the server is dropped, though it has not ended.
    sender.closed().await;
    let TurnBody::Message(mut events) = response.into_body() else {
        panic!("an error");
    };
    let mut last = None;
    while let Some(event) = std::future::poll_fn(|cx| events.poll_next(cx)).await {
        last = Some(event.unwrap().0);
    }
    assert!(
        matches!(last, Some(Part::Event(StreamEvent::MessageStop))),
        "{last:?}"
    );
}
