//! Requests, and bodies as they arrive.

use std::pin::pin;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{Request, Response};
use serde_json::Value;
use tool_gateway::upstream::Upstream;

pub(crate) use crate::events::events;

pub(crate) fn post(path: &str, body: impl ToString) -> Request<Bytes> {
    Request::post(path).body(Bytes::from(body.to_string())).unwrap()
}

/// Returns the response to a request for a message.
pub(crate) async fn ask(upstream: &impl Upstream, body: impl ToString) -> Response<Body> {
    upstream.send(post("/v1/messages", body)).await.unwrap()
}

/// Returns the pieces of a body, and its final error.
pub(crate) async fn pieces(body: Body) -> (Vec<Bytes>, Option<axum::Error>) {
    let mut body = pin!(body);
    let mut pieces = Vec::new();
    loop {
        match std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await {
            Some(Ok(frame)) => pieces.extend(frame.into_data()),
            Some(Err(error)) => return (pieces, Some(error)),
            None => return (pieces, None),
        }
    }
}

pub(crate) async fn bytes(body: Body) -> Bytes {
    axum::body::to_bytes(body, usize::MAX).await.unwrap()
}

pub(crate) async fn json(response: Response<Body>) -> Value {
    serde_json::from_slice(&bytes(response.into_body()).await).unwrap()
}

/// Joins the message of a stream like a client.
pub(crate) fn message(events: &[Value]) -> Value {
    let mut message = Value::Null;
    let mut arguments = String::new();
    for event in events {
        let index = usize::try_from(event["index"].as_u64().unwrap_or_default()).unwrap();
        match event["type"].as_str().unwrap() {
            "message_start" => {
                message = event["message"].clone();
                assert_eq!(message["content"], serde_json::json!([]));
                assert_eq!(message["stop_reason"], Value::Null);
            }
            "content_block_start" => {
                let content = message["content"].as_array_mut().unwrap();
                assert_eq!(content.len(), index);
                content.push(event["content_block"].clone());
                arguments.clear();
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                let member = match delta["type"].as_str().unwrap() {
                    "text_delta" => "text",
                    "thinking_delta" => "thinking",
                    "signature_delta" => "signature",
                    "input_json_delta" => {
                        arguments.push_str(delta["partial_json"].as_str().unwrap());
                        continue;
                    }
                    other => panic!("{other}"),
                };
                let text = &mut message["content"][index][member];
                *text = format!("{}{}", text.as_str().unwrap(), delta[member].as_str().unwrap()).into();
            }
            "content_block_stop" => {
                if let Ok(input) = serde_json::from_str::<Value>(&arguments) {
                    message["content"][index]["input"] = input;
                }
            }
            "message_delta" => {
                for (name, value) in event["delta"].as_object().unwrap() {
                    message[name] = value.clone();
                }
                for (name, value) in event["usage"].as_object().unwrap() {
                    message["usage"][name] = value.clone();
                }
            }
            "message_stop" | "ping" => {}
            other => panic!("{other}"),
        }
    }
    message
}
