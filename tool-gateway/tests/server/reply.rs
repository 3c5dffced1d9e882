//! [`Reply`]: a response, parsed like a strict client.

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{HeaderMap, Response, StatusCode};
use serde_json::Value;

pub(crate) use crate::events::events;

/// A response with its message.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Message or error.
    pub(crate) message: Value,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) async fn read(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let body = bytes(body).await;
        let is_stream = head
            .headers
            .get("content-type")
            .is_some_and(|kind| kind.to_str().unwrap().starts_with("text/event-stream"));
        let message = if is_stream {
            message(&events(&body))
        } else {
            serde_json::from_slice(&body).unwrap_or_else(|_| panic!("{} {body:?}", head.status))
        };
        Self {
            status: head.status,
            headers: head.headers,
            message,
            body,
        }
    }

    pub(crate) fn content(&self) -> &[Value] {
        let content = self.message["content"].as_array();
        content.unwrap_or_else(|| panic!("no message: {} {}", self.status, self.message))
    }

    pub(crate) fn stop_reason(&self) -> &str {
        self.message["stop_reason"].as_str().unwrap_or("none")
    }

    /// Returns the text of all text blocks, with a line for each.
    pub(crate) fn text(&self) -> String {
        let texts = self.content().iter().filter_map(|block| block["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the types of the blocks, with the names of calls.
    pub(crate) fn shape(&self) -> Vec<&str> {
        let kinds = self.content().iter();
        kinds
            .map(|block| block["name"].as_str().or(block["type"].as_str()).unwrap())
            .collect()
    }

    /// Returns the ids of the calls.
    pub(crate) fn ids(&self) -> Vec<String> {
        let calls = self.content().iter().filter(|block| block["type"] == "tool_use");
        calls
            .map(|call| call["id"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn error(&self) -> (&str, &str) {
        assert_eq!(self.message["type"], "error", "{}", self.message);
        let error = &self.message["error"];
        (
            error["type"].as_str().unwrap(),
            error["message"].as_str().unwrap(),
        )
    }

    pub(crate) fn is_error(&self) -> bool {
        self.message["type"] == "error"
    }

    /// Returns the session, and the means by which it was found.
    pub(crate) fn session(&self) -> (String, String) {
        let header = self.headers["x-tool-gateway-session"].to_str().unwrap();
        let (id, found) = header.split_once("; found=").unwrap();
        assert!(id.starts_with("ses_") && id.len() > 20, "{header}");
        (id.to_owned(), found.to_owned())
    }
}

pub(crate) async fn bytes(body: Body) -> Bytes {
    // The received part of a response whose connection was cut off.
    until_broken(body).await.0
}

/// Returns the text of a body, and whether the body was cut off after it.
pub(crate) async fn until_broken(mut body: Body) -> (Bytes, bool) {
    let mut all = Vec::new();
    loop {
        match std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await {
            Some(Ok(frame)) => all.extend(frame.into_data().unwrap()),
            Some(Err(_)) => return (all.into(), true),
            None => return (all.into(), false),
        }
    }
}

#[derive(Debug, PartialEq)]
enum Stage {
    Before,
    Blocks,
    Ended,
    Stopped,
}

/// Returns the message of a stream, or its error. Panics if the events are not in the order of the API.
#[track_caller]
pub(crate) fn message(events: &[Value]) -> Value {
    let mut message = Value::Null;
    let mut stage = Stage::Before;
    let mut open: Option<(usize, String)> = None;
    for event in events {
        let index = || usize::try_from(event["index"].as_u64().unwrap()).unwrap();
        match event["type"].as_str().unwrap() {
            "message_start" => {
                assert_eq!(stage, Stage::Before, "{events:#?}");
                stage = Stage::Blocks;
                message = event["message"].clone();
                assert_eq!(message["content"], serde_json::json!([]));
                assert_eq!(message["stop_reason"], Value::Null);
                assert!(
                    message["usage"]["input_tokens"].as_u64().unwrap() > 0,
                    "{message}"
                );
            }
            "content_block_start" => {
                assert_eq!((&stage, &open), (&Stage::Blocks, &None), "{events:#?}");
                let content = message["content"].as_array_mut().unwrap();
                assert_eq!(content.len(), index(), "a gap: {events:#?}");
                content.push(event["content_block"].clone());
                open = Some((index(), String::new()));
            }
            "content_block_delta" => {
                let (at, arguments) = open.as_mut().unwrap();
                assert_eq!(*at, index());
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
                let text = &mut message["content"][*at][member];
                *text = format!("{}{}", text.as_str().unwrap(), delta[member].as_str().unwrap()).into();
            }
            "content_block_stop" => {
                let (at, arguments) = open.take().unwrap();
                assert_eq!(at, index());
                if let Ok(input) = serde_json::from_str::<Value>(&arguments) {
                    message["content"][at]["input"] = input;
                }
            }
            "message_delta" => {
                assert_eq!((&stage, &open), (&Stage::Blocks, &None), "{events:#?}");
                stage = Stage::Ended;
                assert!(event["delta"].as_object().unwrap().contains_key("stop_sequence"));
                for (name, value) in event["delta"].as_object().unwrap() {
                    message[name] = value.clone();
                }
                for (name, value) in event["usage"].as_object().unwrap() {
                    message["usage"][name] = value.clone();
                }
            }
            "message_stop" => {
                assert_eq!(stage, Stage::Ended, "{events:#?}");
                stage = Stage::Stopped;
            }
            // Also before the message, while deferred calls run.
            "ping" => assert!(stage != Stage::Stopped, "{events:#?}"),
            "error" => {
                assert_eq!(Some(event), events.last(), "nothing comes after an error");
                return event.clone();
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(stage, Stage::Stopped, "the stream is not complete: {events:#?}");
    message
}
