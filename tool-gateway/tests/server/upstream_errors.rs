//! Errors of an upstream in other forms than the API's, and at other places: with the status 200, in a stream, after the beginning of a
//! stream.

use axum::body::Bytes;
use axum::http::Response;
use serde_json::{Value, json};

use crate::lab::Chat;
use crate::raw::{self, Raw, lookup_block, message, start, text_block};
use crate::reply::{Reply, events};

async fn ask(upstream: &Raw, is_stream: bool) -> Reply {
    let lab = upstream.lab(|gateway| gateway);
    let reply = Chat::new(is_stream).say(&lab, "go").await;
    assert!(reply.is_error(), "{}", reply.message);
    reply
}

/// The status, the type and the message of an answer that has not begun otherwise.
fn seen(reply: &Reply) -> (u16, &str, &str) {
    let (kind, message) = reply.error();
    (reply.status.as_u16(), kind, message)
}

fn api_error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

#[tokio::test]
async fn errors_with_the_status_200_reach_the_client() {
    for (error, expected) in [
        (
            api_error("overloaded_error", "Overloaded"),
            (529, "overloaded_error", "Overloaded"),
        ),
        (
            api_error("authentication_error", "bad key"),
            (401, "authentication_error", "bad key"),
        ),
        (
            json!({ "error": { "message": "slow down", "code": 429 } }),
            (429, "rate_limit_error", "slow down"),
        ),
        (json!({ "error": "no model" }), (502, "api_error", "no model")),
        (json!({ "detail": "no model" }), (502, "api_error", "no model")),
    ] {
        let data = Bytes::from(format!("data: {error}\n\n"));
        let named = Bytes::from(format!("event: error\ndata: {error}\n\n"));
        for is_stream in [true, false] {
            for response in [
                raw::whole(&error),
                raw::response(200, "text/event-stream", data.clone()),
                raw::response(200, "text/event-stream", named.clone()),
            ] {
                let reply = ask(&Raw::new([response]), is_stream).await;
                assert_eq!(seen(&reply), expected, "{error}");
            }
        }
    }
}

#[tokio::test]
async fn an_error_event_that_is_not_json_reaches_the_client() {
    let response = raw::response(
        200,
        "text/event-stream",
        "event: error\ndata: out of capacity\n\n",
    );
    let reply = ask(&Raw::new([response]), true).await;
    assert_eq!(seen(&reply), (502, "api_error", "out of capacity"));
}

/// The first round of a turn, whose stream has begun.
fn first_round() -> Response<Bytes> {
    message(&[&text_block(0, "One."), &lookup_block(1, "a")], "tool_use")
}

#[tokio::test]
async fn errors_after_the_beginning_of_a_stream_have_the_type_of_their_status() {
    for (status, kind, body, expected) in [
        (
            500,
            "text/plain",
            "upstream connect error",
            ("api_error", "upstream connect error"),
        ),
        (
            400,
            "application/json",
            r#"{"error":{"message":"no","type":"bad"}}"#,
            ("invalid_request_error", "no"),
        ),
        (403, "text/html", "<html>", ("permission_error", "<html>")),
        (
            503,
            "text/plain",
            "",
            ("api_error", "the upstream answered with the status 503"),
        ),
        (
            500,
            "application/json",
            r#"{"type":"error","error":{"type":"later_error","message":"m"}}"#,
            ("later_error", "m"),
        ),
    ] {
        let upstream = Raw::new([first_round(), raw::response(status, kind, body)]);
        let reply = ask(&upstream, true).await;
        assert_eq!((reply.status.as_u16(), reply.error()), (200, expected), "{body}");
        assert_eq!(events(&reply.body)[0]["type"], "message_start");
        // A client that has received nothing gets the response of the upstream.
        let upstream = Raw::new([first_round(), raw::response(status, kind, body)]);
        let lab = upstream.lab(|gateway| gateway);
        let request = Chat::new(false);
        let mut sent = request.body.clone();
        sent["messages"] = json!([{ "role": "user", "content": "go" }]);
        let response = lab.send(crate::lab::post("/v1/messages", &sent, &[])).await;
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(crate::reply::bytes(response.into_body()).await, body);
    }
}

#[tokio::test]
async fn an_error_of_another_form_in_the_middle_of_a_stream_reaches_the_client() {
    let begun = format!("event: message_start\ndata: {}\n\n", start());
    let error = "data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n";
    let response = raw::response(200, "text/event-stream", [&begun, error].concat());
    let reply = ask(&Raw::new([response]), true).await;
    assert_eq!(reply.error(), ("rate_limit_error", "slow down"));
}

#[tokio::test]
async fn another_encoding_is_named() {
    let mut response = raw::whole(&json!({ "content": [], "usage": {} }));
    response
        .headers_mut()
        .insert("content-encoding", "br".parse().unwrap());
    let reply = ask(&Raw::new([response]), false).await;
    let expected = "the upstream's response has the encoding `br`; expected `identity`";
    assert_eq!(seen(&reply), (502, "api_error", expected));
}
