//! Script for clients of Chat Completions: the turns in the form of that API.

use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tool_gateway::upstream::{ScriptUpstream, Upstream as _};
use tool_runtime::format::openai::chat;

use crate::body::{bytes, json as body_of};

const SCRIPT: &str = r#"{"turns": [
    {"content": [
        {"type": "thinking", "thinking": "Two calls.", "signature": "c2ln"},
        {"type": "text", "text": "I'll look at both of them."},
        {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Paris", "days": 2}},
        {"type": "tool_use", "name": "get_time", "input": {"city": "Paris"}}
    ]},
    {"content": [{"type": "text", "text": "Rain."}], "stop_reason": "max_tokens", "usage": {"output_tokens": 9}},
    {"content": [{"type": "text", "text": "Half"}], "error": {"status": 529}}
]}"#;

async fn ask(
    script: &ScriptUpstream,
    messages: Value,
    more: Value,
) -> axum::http::Response<axum::body::Body> {
    let mut body = json!({"model": "demo", "messages": messages});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let request = Request::post("/v1/chat/completions").body(body.to_string().into());
    script.send(request.unwrap()).await.unwrap()
}

/// Returns the data of the events.
async fn chunks(response: axum::http::Response<axum::body::Body>) -> Vec<String> {
    let body = bytes(response.into_body()).await;
    let text = String::from_utf8(body.to_vec()).unwrap();
    text.split_terminator("\n\n")
        .map(|event| event.strip_prefix("data: ").unwrap_or(event).to_owned())
        .collect()
}

#[tokio::test]
async fn answers_with_texts_and_calls() {
    let script = ScriptUpstream::from_json(SCRIPT).unwrap();
    let question = json!([{"role": "user", "content": "How is Paris?"}]);
    let response = ask(&script, question.clone(), json!({})).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let completion = body_of(response).await;
    assert_eq!(completion["object"], "chat.completion");
    assert_eq!(completion["model"], "demo");
    assert_eq!(completion["choices"][0]["finish_reason"], "tool_calls");
    let message = &completion["choices"][0]["message"];
    assert_eq!(message["content"], "I'll look at both of them.");
    let calls = chat::calls(message).unwrap();
    assert_eq!(
        (calls[0].id.as_str(), calls[0].name.as_str()),
        ("call_1", "get_weather")
    );
    assert_eq!(
        message["tool_calls"][0]["function"]["arguments"],
        r#"{"city": "Paris", "days": 2}"#
    );
    assert_eq!(message["tool_calls"][1]["id"], "call_script_0001_3");
    assert_eq!(
        message["tool_calls"][1]["function"]["arguments"],
        r#"{"city": "Paris"}"#
    );
    let usage = &completion["usage"];
    assert_eq!(
        usage["total_tokens"].as_u64(),
        Some(usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap())
    );

    let answered =
        json!([question[0], message, {"role": "tool", "tool_call_id": "call_1", "content": "rain"}]);
    let completion = body_of(ask(&script, answered, json!({})).await).await;
    assert_eq!(completion["choices"][0]["finish_reason"], "length");
    assert_eq!(completion["choices"][0]["message"].get("tool_calls"), None);
    assert_eq!(completion["usage"]["completion_tokens"], 9);
}

#[tokio::test]
async fn streams_the_same_completion() {
    let script = ScriptUpstream::from_json(SCRIPT).unwrap();
    let question = json!([{"role": "user", "content": "How is Paris?"}]);
    let options = json!({"stream": true, "stream_options": {"include_usage": true}});
    let response = ask(&script, question.clone(), options).await;
    assert_eq!(
        response.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    let chunks = chunks(response).await;
    assert_eq!(chunks.last().map(String::as_str), Some("[DONE]"));
    let (mut content, mut arguments, mut reasons) =
        (String::new(), [String::new(), String::new()], Vec::new());
    let mut usage = Value::Null;
    for chunk in &chunks[..chunks.len() - 1] {
        let chunk: Value = serde_json::from_str(chunk).unwrap();
        assert_eq!(chunk["object"], "chat.completion.chunk");
        let choice = &chunk["choices"][0];
        content += choice["delta"]["content"].as_str().unwrap_or_default();
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            arguments[index] += call["function"]["arguments"].as_str().unwrap();
        }
        reasons.extend(choice["finish_reason"].as_str().map(str::to_owned));
        usage = chunk["usage"].clone();
    }
    let whole = body_of(ask(&script, question, json!({})).await).await;
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], content);
    for (index, arguments) in arguments.iter().enumerate() {
        assert_eq!(message["tool_calls"][index]["function"]["arguments"], *arguments);
    }
    assert_eq!(reasons, ["tool_calls"]);
    assert_eq!(usage["completion_tokens"], whole["usage"]["completion_tokens"]);
}

#[tokio::test]
async fn errors_are_objects_with_a_message() {
    let script = ScriptUpstream::from_json(SCRIPT).unwrap();
    let turn = json!({"role": "assistant", "content": "…"});
    let messages = json!([{"role": "user", "content": "Go on."}, turn, turn]);
    let response = ask(&script, messages.clone(), json!({})).await;
    assert_eq!(response.status(), StatusCode::from_u16(529).unwrap());
    assert_eq!(body_of(response).await["error"]["type"], "overloaded_error");
    let chunks = chunks(ask(&script, messages, json!({"stream": true})).await).await;
    let (error, before) = chunks.split_last().unwrap();
    assert!(error.contains("overloaded_error"), "{error}");
    assert!(before.iter().any(|chunk| chunk.contains("Half")), "{before:?}");
}
