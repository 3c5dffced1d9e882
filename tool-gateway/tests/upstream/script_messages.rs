//! The upstream `script`: its messages, streamed and not.

use axum::http::{Request, StatusCode};
use bytes::Bytes;
use serde_json::{Value, json};
use tool_gateway::upstream::{ScriptUpstream, Upstream as _};

use crate::body::{ask, bytes, events, json, message, post};
use crate::test_script::TestScript;

const MIXED: &str = r#"{"turns": [{
    "id": "msg_1",
    "content": [
        {"type": "thinking", "thinking": "They want to know the weather…", "signature": "c2lnbmF0dXJl"},
        {"type": "thinking", "thinking": "", "signature": "b25seQ=="},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "天气怎么样？ \"Quoted\"\n👩‍🚀 and more text than fits into one delta."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Paris"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "tool_use", "id": "toolu_1", "name": "TodoRead", "input": {}},
        {
            "type": "tool_use",
            "id": "toolu_2",
            "name": "get_weather",
            "input": {
                "city": "Paris",
                "days": 1.0
            },
            "caller": {"type": "direct"}
        }
    ],
    "usage": {"cache_read_input_tokens": 100, "output_tokens": 50}
}]}"#;

fn request(stream: bool) -> Value {
    json!({"model": "claude-x", "max_tokens": 10, "stream": stream, "messages": [{"role": "user", "content": "?"}]})
}

#[tokio::test]
async fn stream_and_json_hold_the_same_message() {
    let script = ScriptUpstream::from_json(MIXED).unwrap();
    let whole = ask(&script, request(false)).await;
    assert_eq!(whole.headers()["content-type"], "application/json");
    assert_eq!(whole.headers()["request-id"], "req_script_0001");
    let mut whole = json(whole).await;

    let streamed = ask(&script, request(true)).await;
    assert_eq!(
        streamed.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    assert_eq!(streamed.headers()["request-id"], "req_script_0002");
    let events = events(&bytes(streamed.into_body()).await);
    // The two requests differ in length.
    whole["usage"]["input_tokens"] = (request(true).to_string().len() / 4).into();
    assert_eq!(message(&events), whole);

    assert_eq!(whole["id"], "msg_1");
    assert_eq!(whole["model"], "claude-x");
    assert_eq!(whole["stop_reason"], "tool_use");
    assert_eq!(whole["stop_sequence"], Value::Null);
    assert_eq!(whole["usage"]["cache_read_input_tokens"], 100);
    assert_eq!(whole["usage"]["output_tokens"], 50);
    let content: Value = serde_json::from_str::<Value>(MIXED).unwrap()["turns"][0]["content"].clone();
    assert_eq!(whole["content"], content);
}

#[tokio::test]
async fn events_come_in_the_order_of_the_api() {
    let script = ScriptUpstream::from_json(
        r#"{"turns": [{
            "ping": true, "deltas": 5, "id": "msg_1", "usage": {"input_tokens": 7, "output_tokens": 3},
            "content": [
                {"type": "thinking", "thinking": "", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1.0}}
            ]
        }]}"#,
    )
    .unwrap();
    let response = ask(&script, request(true)).await;
    let stream = bytes(response.into_body()).await;
    let data: Vec<_> = std::str::from_utf8(&stream)
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    let expected = [
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1}}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I loo"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"k."}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":" 1.0}"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":7,"output_tokens":3}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    assert_eq!(data, expected);
    assert_eq!(events(&stream).len(), expected.len());
}

#[tokio::test]
async fn values_are_sent_as_they_are_written() {
    let script = ScriptUpstream::from_json(
        r#"{"turns": [{"content": [
            {"type": "tool_use", "id": "t", "name": "f", "input": {"b": 1e2, "a": 12345678901234567890, "c": "\u00e9"}}
        ]}]}"#,
    )
    .unwrap();
    let body = bytes(ask(&script, request(false)).await.into_body()).await;
    let expected = r#""input":{"b": 1e2, "a": 12345678901234567890, "c": "\u00e9"}}]"#;
    assert!(std::str::from_utf8(&body).unwrap().contains(expected), "{body:?}");
}

#[tokio::test]
async fn missing_ids_are_new_in_each_response() {
    let script = ScriptUpstream::from_json(
        r#"{"turns": [{"model": "own", "stop_reason": "max_tokens", "content": [
            {"type": "tool_use", "name": "f", "input": {}}, {"type": "tool_use", "name": "g", "input": {}}
        ]}]}"#,
    )
    .unwrap();
    let first = json(ask(&script, request(false)).await).await;
    let second = ask(&script, request(true)).await;
    let second = message(&events(&bytes(second.into_body()).await));
    let ids = |message: &Value| {
        let ids = [
            &message["id"],
            &message["content"][0]["id"],
            &message["content"][1]["id"],
        ];
        ids.map(|id| id.as_str().unwrap().to_owned())
    };
    assert_eq!(
        ids(&first),
        ["msg_script_0001", "toolu_script_0001_0", "toolu_script_0001_1"]
    );
    assert_eq!(
        ids(&second),
        ["msg_script_0002", "toolu_script_0002_0", "toolu_script_0002_1"]
    );
    assert_eq!(
        (&first["model"], &first["stop_reason"]),
        (&json!("own"), &json!("max_tokens"))
    );
    assert_eq!(
        first["usage"]["input_tokens"],
        request(false).to_string().len() / 4
    );
}

#[tokio::test]
async fn partial_json_is_streamed_as_it_is() {
    let script = TestScript::from_json(
        r#"{"turns": [{"stop_reason": "max_tokens", "content": [
            {"type": "tool_use", "id": "t", "name": "f", "partial_json": "{'city': \"Par"}
        ]}]}"#,
    )
    .unwrap();
    let response = ask(&script, request(true)).await;
    let events = events(&bytes(response.into_body()).await);
    let deltas = events
        .iter()
        .filter_map(|event| event["delta"]["partial_json"].as_str());
    assert_eq!(deltas.collect::<String>(), "{'city': \"Par");
    let whole = json(ask(&script, request(false)).await).await;
    assert_eq!(
        whole["content"][0],
        json!({"type": "tool_use", "id": "t", "name": "f", "input": {}})
    );
}

#[tokio::test]
async fn errors_have_status_body_and_headers() {
    let script = ScriptUpstream::from_json(
        r#"{"order": "requests", "turns": [
            {"error": {"status": 529, "headers": {"retry-after": "1", "request-id": "req_own"}}},
            {"error": {"status": 400, "body": {"type": "error",  "n": 1.0}}, "headers": {"x-should-retry": "false"}},
            {"error": {"status": 502, "body": "<html>\n</html>"}}
        ]}"#,
    )
    .unwrap();
    let overloaded = ask(&script, request(true)).await;
    assert_eq!(overloaded.status().as_u16(), 529);
    assert_eq!(overloaded.headers()["retry-after"], "1");
    assert_eq!(overloaded.headers()["request-id"], "req_own");
    let expected = json!({
        "type": "error",
        "error": {"type": "overloaded_error", "message": "the script answers with status 529"},
        "request_id": "req_script_0001",
    });
    assert_eq!(json(overloaded).await, expected);

    let invalid = ask(&script, request(false)).await;
    assert_eq!(invalid.status(), StatusCode::BAD_REQUEST);
    assert_eq!(invalid.headers()["x-should-retry"], "false");
    assert_eq!(
        bytes(invalid.into_body()).await,
        r#"{"type": "error",  "n": 1.0}"#
    );

    let page = ask(&script, request(true)).await;
    assert_eq!(page.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(bytes(page.into_body()).await, "<html>\n</html>");
}

#[tokio::test]
async fn error_with_content_is_sent_in_the_stream() {
    let script = ScriptUpstream::from_json(
        r#"{"turns": [{"content": [{"type": "text", "text": "I"}], "error": {"status": 529}}]}"#,
    )
    .unwrap();
    let response = ask(&script, request(true)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let events = events(&bytes(response.into_body()).await);
    let types: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let expected = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "error",
    ];
    assert_eq!(types, expected);
    assert_eq!(events[4]["error"]["type"], "overloaded_error");
    assert_eq!(ask(&script, request(false)).await.status().as_u16(), 529);
}

#[tokio::test]
async fn counts_tokens_and_lists_models() {
    let script = ScriptUpstream::embedded();
    let count = script
        .send(post("/v1/messages/count_tokens?beta=true", "x".repeat(40)))
        .await;
    assert_eq!(json(count.unwrap()).await, json!({"input_tokens": 10}));
    let get = Request::get("/v1/models?limit=10").body(Bytes::new()).unwrap();
    let models = json(script.send(get).await.unwrap()).await;
    assert_eq!(models["data"][0]["type"], "model");
    assert_eq!(models["has_more"], false);
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let script = ScriptUpstream::embedded();
    for request in [
        post("/v1/complete", "{}"),
        Request::get("/v1/messages").body(Bytes::new()).unwrap(),
    ] {
        let shown = format!("{} {}", request.method(), request.uri());
        let response = script.send(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        let body = json(response).await;
        assert_eq!(body["error"]["type"], "not_found_error");
        assert_eq!(
            body["error"]["message"],
            format!("unknown route of a script: {shown}")
        );
    }
}

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let script = ScriptUpstream::embedded();
    for (body, expected) in [
        (
            "{",
            "invalid request body: EOF while parsing an object at line 1 column 1",
        ),
        (
            "{}",
            "invalid request body: missing field `messages` at line 1 column 2",
        ),
    ] {
        let response = ask(&script, body).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let body = json(response).await;
        assert_eq!(
            body["error"],
            json!({"type": "invalid_request_error", "message": expected})
        );
    }
}
