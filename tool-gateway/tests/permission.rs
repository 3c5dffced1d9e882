//! A call that needs an approval becomes external if the client declares the tool; otherwise it is denied.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

#[path = "server/test_script.rs"]
#[allow(dead_code, reason = "other suites use the rest")]
mod test_script;

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, from_slice, json};
use tool_gateway::session::file::FileStore;
use tool_gateway::{Gateway, Offer};
use tool_runtime::permission::{Decision, Permission, PermissionRequest};
use tool_runtime::{SessionState, ToolRegistry, tool, tool_set};
use tower::ServiceExt as _;

use crate::test_script::TestScript;

/// Look for files.
#[tool(read_only)]
async fn look() -> &'static str {
    "a.txt"
}

/// Delete a file.
#[tool(destructive)]
async fn delete(
    /// Its path.
    path: String,
) {
    panic!("{path} is deleted")
}

const SCRIPT: &str = r#"{ "turns": [
    { "content": [
        { "type": "tool_use", "id": "toolu_look", "name": "look", "input": {} },
        { "type": "tool_use", "id": "toolu_delete", "name": "delete", "input": { "path": "a.txt" } }
    ] },
    { "content": [{ "type": "text", "text": "Done." }] }
] }"#;

fn gateway(offer: Offer) -> (Router, TestScript) {
    gateway_with(SCRIPT, |gateway| gateway.with_offer(offer))
}

fn gateway_with(script: &str, configure: impl FnOnce(Gateway) -> Gateway) -> (Router, TestScript) {
    let mut registry = ToolRegistry::new().layer(Permission::by_hints(async |_| Decision::Interrupt));
    registry.register_all(tool_set![look, delete]).unwrap();
    let upstream = TestScript::from_json(script).unwrap();
    let app = configure(Gateway::new(registry, upstream.clone())).router();
    (app, upstream)
}

async fn ask(app: &Router, tools: Value, messages: &[Value], is_stream: bool) -> Value {
    let body = json!({
        "model": "demo", "max_tokens": 1024, "tools": tools, "messages": messages, "stream": is_stream,
    });
    let request = Request::post("/v1/messages")
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    if is_stream {
        return String::from_utf8(bytes.into()).unwrap().into();
    }
    from_slice(&bytes).unwrap()
}

/// Returns the results of the first message in the model's view, by id.
fn results(upstream: &TestScript) -> Vec<(String, String)> {
    let requests = upstream.requests();
    let last: Value = from_slice(requests.last().unwrap().body.as_ref()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results = last["messages"][2]["content"].as_array().unwrap().iter();
    results
        .map(|result| (text(&result["tool_use_id"]), text(&result["content"])))
        .collect()
}

/// R-TURN-8
#[tokio::test]
async fn hands_the_call_to_a_client_that_declared_the_tool() {
    let (app, upstream) = gateway(Offer::Declared);
    let tools = json!([{ "name": "look" }, { "name": "delete" }]);
    let mut messages = vec![json!({ "role": "user", "content": "Clean up." })];
    let answer = ask(&app, tools.clone(), &messages, false).await;
    assert_eq!(answer["stop_reason"], "tool_use");
    let [call] = answer["content"].as_array().unwrap().as_slice() else {
        panic!("the client sees its call only: {answer}");
    };
    assert_eq!(
        (&call["name"], &call["input"]),
        (&json!("delete"), &json!({ "path": "a.txt" }))
    );

    let result =
        json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "the client deleted it" });
    messages.push(json!({ "role": "assistant", "content": answer["content"] }));
    messages.push(json!({ "role": "user", "content": [result] }));
    let answer = ask(&app, tools, &messages, false).await;
    assert_eq!(answer["content"][0]["text"], "Done.");
    let expected = [("toolu_look", "a.txt"), ("toolu_delete", "the client deleted it")];
    assert_eq!(
        results(&upstream),
        expected.map(|(id, content)| (id.to_owned(), content.to_owned()))
    );
}

#[tokio::test]
async fn streams_the_call_to_a_client_that_declared_the_tool() {
    let (app, _) = gateway(Offer::Declared);
    let tools = json!([{ "name": "look" }, { "name": "delete" }]);
    let messages = [json!({ "role": "user", "content": "Clean up." })];
    let answer = ask(&app, tools, &messages, true).await;
    let events = answer.as_str().unwrap();
    assert_eq!(
        events.matches("event: content_block_start").count(),
        1,
        "{events}"
    );
    assert!(
        events.contains(r#""name":"delete""#) && events.contains("a.txt"),
        "{events}"
    );
    assert!(events.contains(r#""stop_reason":"tool_use""#), "{events}");
}

/// R-GW-16
#[tokio::test]
async fn denies_the_call_if_the_client_did_not_declare_the_tool() {
    let (app, upstream) = gateway(Offer::Always);
    let messages = [json!({ "role": "user", "content": "Clean up." })];
    let answer = ask(&app, json!([{ "name": "look" }]), &messages, false).await;
    assert_eq!(answer["content"][0]["text"], "Done.");
    let [look, (id, content)] = results(&upstream).try_into().unwrap();
    assert_eq!(look, ("toolu_look".to_owned(), "a.txt".to_owned()));
    assert_eq!(id, "toolu_delete");
    assert!(
        content.starts_with("the call was denied: it needs an approval"),
        "{content}"
    );
}

/// The client has answered the message, so none of its calls can become external.
#[tokio::test]
async fn denies_a_deferred_call() {
    let script = SCRIPT.replace("look", "ask").replace("toolu_ask", "toolu_look");
    let (app, upstream) = gateway_with(&script, |gateway| gateway.with_deferred(["delete"]).unwrap());
    let tools = json!([{ "name": "ask" }, { "name": "delete" }]);
    let mut messages = vec![json!({ "role": "user", "content": "Clean up." })];
    let answer = ask(&app, tools.clone(), &messages, false).await;
    let [call] = answer["content"].as_array().unwrap().as_slice() else {
        panic!("the client sees its call only: {answer}");
    };
    let result = json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "yes" });
    messages.push(json!({ "role": "assistant", "content": answer["content"] }));
    messages.push(json!({ "role": "user", "content": [result] }));
    let answer = ask(&app, tools, &messages, false).await;
    assert_eq!(answer["content"][0]["text"], "Done.");
    let [_, (id, content)] = results(&upstream).try_into().unwrap();
    assert_eq!(id, "toolu_delete");
    assert!(
        content.starts_with("the call was denied: it needs an approval"),
        "{content}"
    );
}

/// Ring the bell.
#[tool]
async fn ring() -> &'static str {
    "rung"
}

/// Counts the rings of a session.
#[tool]
async fn count(rings: SessionState<u32>) -> u32 {
    *rings.lock() += 1;
    *rings.lock()
}

#[tokio::test]
async fn rules_of_a_session_survive_a_restart() {
    let folder = std::env::temp_dir().join(format!("tool-gateway-rules-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let asked = Arc::new(Mutex::new(Vec::new()));
    // Each message of the model has concurrent calls, and calls that run in order.
    let calls = |key: u8| {
        ["ring", "count", "look", "count"].into_iter().enumerate().map(move |(index, name)| {
            json!({ "type": "tool_use", "id": format!("toolu_{key}_{index}"), "name": name, "input": {} })
        })
    };
    let process = |key: u8| {
        let asked = Arc::clone(&asked);
        let permission = Permission::new(move |request: PermissionRequest| {
            asked.lock().unwrap().push(request.call.name.clone());
            std::future::ready(Decision::AllowAlways(request.rule_for_tool()))
        });
        let mut registry = ToolRegistry::new().layer(permission);
        registry.register_all(tool_set![ring, count, look]).unwrap();
        let script = json!({ "order": "requests", "turns": [
            { "content": calls(key).collect::<Vec<_>>() },
            { "content": [{ "type": "text", "text": format!("Done {key}.") }] },
        ] });
        let upstream = TestScript::from_json(&script.to_string()).unwrap();
        let store = FileStore::open(folder.join("sessions.redb")).unwrap();
        let gateway = Gateway::new(registry, upstream.clone()).with_store(store);
        (gateway.with_offer(Offer::Always).router(), upstream)
    };
    let mut messages = Vec::new();
    for key in 0..3 {
        messages.push(json!({ "role": "user", "content": format!("Go on {key}.") }));
        let (app, upstream) = process(key);
        let answer = ask(&app, json!([]), &messages, false).await;
        assert_eq!(answer["content"][0]["text"], format!("Done {key}."));
        let requests = upstream.requests();
        let last: Value = from_slice(requests.last().unwrap().body.as_ref()).unwrap();
        let results = last["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        for text in ["rung", "a.txt", &(2 * key + 2).to_string()] {
            assert!(results.contains(&format!("\"content\":\"{text}\"")), "{results}");
        }
        messages.push(json!({ "role": "assistant", "content": answer["content"] }));
    }
    let asked_in_order = || {
        let mut asked = std::mem::take(&mut *asked.lock().unwrap());
        asked.sort();
        asked
    };
    assert_eq!(
        asked_in_order(),
        ["count", "look", "ring"],
        "each was asked about once"
    );
    // Another conversation has none of these rules.
    let (app, _) = process(9);
    ask(
        &app,
        json!([]),
        &[json!({ "role": "user", "content": "Hello." })],
        false,
    )
    .await;
    assert_eq!(asked_in_order(), ["count", "look", "ring"]);
    std::fs::remove_dir_all(folder).unwrap();
}
