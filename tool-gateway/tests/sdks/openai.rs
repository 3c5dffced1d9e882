//! Tool calls with Python dictionaries as arguments, read with `OpenAI`'s SDK through the program, streamed and whole.

use std::path::PathBuf;
use std::process::Command;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use serde_json::{Value, json};

use crate::{Gateway, python, script, serve_router};

#[test]
fn python_sdk_reads_repaired_calls() {
    let Some(program) = python() else { return };
    let upstream = Router::new()
        .route("/v1/chat/completions", post(chat_completions))
        .route("/v1/responses", post(responses));
    let gateway = Gateway::start(&serve_router(upstream));
    for way in ["create", "stream"] {
        let client = Command::new(&program)
            .arg(script("calls.py"))
            .args([&gateway.url, way])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&client.stderr);
        assert!(client.status.success(), "{way}: {errors}");
        let text = String::from_utf8(client.stdout).unwrap();
        let calls: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let todos = json!([
            { "content": "创建项目结构和主程序文件", "id": "1", "status": "in_progress" },
            { "content": "it's", "done": true },
        ]);
        let call = json!(["TodoWrite", { "todos": todos }]);
        assert_eq!(calls, [call.clone(), call], "{way}");
    }
}

async fn chat_completions(headers: HeaderMap, body: String) -> impl IntoResponse {
    let function = json!({ "name": "TodoWrite", "arguments": ARGUMENTS });
    let message = json!({
        "role": "assistant",
        "content": null,
        "tool_calls": [{ "id": "call_1", "type": "function", "function": function }],
    });
    let choice = json!({ "index": 0, "finish_reason": "tool_calls", "message": message });
    let completion =
        json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice] });
    answer(&headers, &body, "chat_python_dict.sse", &completion)
}

async fn responses(headers: HeaderMap, body: String) -> impl IntoResponse {
    let call = json!({
        "id": "fc_1",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_1",
        "name": "TodoWrite",
        "arguments": ARGUMENTS,
    });
    let response =
        json!({ "id": "r", "object": "response", "status": "completed", "model": "m", "output": [call] });
    answer(&headers, &body, "responses_python_dict.sse", &response)
}

const ARGUMENTS: &str = "{'todos': [{'content': '创建项目结构和主程序文件', 'id': '1', 'status': 'in_progress'}, {'content': \"it's\", 'done': True}]}";

/// Returns the recorded stream, or the whole answer with equal content. Checks that the client's own key is sent.
fn answer(headers: &HeaderMap, body: &str, stream: &str, whole: &Value) -> impl IntoResponse + use<> {
    assert_eq!(headers[header::AUTHORIZATION], "Bearer demo");
    let request: Value = serde_json::from_str(body).unwrap();
    let (kind, text) = if request["stream"] == true {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/repair/streams/recorded");
        let text = std::fs::read_to_string(folder.join(stream)).unwrap();
        ("text/event-stream", text)
    } else {
        ("application/json", whole.to_string())
    };
    (StatusCode::OK, [(header::CONTENT_TYPE, kind)], text)
}
