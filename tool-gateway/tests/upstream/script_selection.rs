//! The upstream `script`: selection of the turn that answers a request, and the requests that the test script records.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tool_gateway::upstream::{ScriptUpstream, Upstream as _};

use crate::body::{ask, json, post};
use crate::test_script::TestScript;

/// Texts of three turns.
fn turns(order: &str) -> ScriptUpstream {
    let turns: Vec<_> = ["one", "two", "three"]
        .iter()
        .map(|text| json!({"content": [{"type": "text", "text": text}]}))
        .collect();
    ScriptUpstream::from_json(&json!({"order": order, "turns": turns}).to_string()).unwrap()
}

/// Builds a request after this many answers.
fn request(answers: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "?"})];
    for _ in 0..answers {
        messages.push(json!({"role": "assistant", "content": "!"}));
        messages.push(json!({"role": "user", "content": "?"}));
    }
    json!({"messages": messages})
}

async fn answer(script: &ScriptUpstream, answers: usize) -> String {
    let message = json(ask(script, request(answers)).await).await;
    message["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn number_of_assistant_messages_selects_the_turn() {
    let script = turns("messages");
    for (answers, expected) in [
        (0, "one"),
        (0, "one"),
        (2, "three"),
        (1, "two"),
        (3, "one"),
        (7, "two"),
    ] {
        assert_eq!(answer(&script, answers).await, expected);
    }
}

#[tokio::test]
async fn order_of_requests_ends_with_the_last_turn() {
    let script = turns("requests");
    for expected in ["one", "two", "three"] {
        assert_eq!(answer(&script.clone(), 5).await, expected);
    }
    let response = ask(&script, request(0)).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(
        json(response).await["error"],
        json!({
            "type": "invalid_request_error",
            "message": "no turn of the script is left for request 4 (3 turns); \
                        add a turn, or remove `order` to repeat the script",
        })
    );
}

#[tokio::test]
async fn records_received_requests() {
    let script = TestScript::from_json(r#"{"turns": [{"content": []}]}"#).unwrap();
    let clone = script.clone();
    let mut request = post("/v1/messages?beta=true", "{\"messages\" : []}");
    request
        .headers_mut()
        .insert("anthropic-beta", "b".parse().unwrap());
    clone.send(request).await.unwrap();
    script.send(post("/other", "no JSON")).await.unwrap();

    let recorded = script.requests();
    assert_eq!(recorded.len(), 2);
    assert_eq!(recorded[0].path, "/v1/messages?beta=true");
    assert_eq!(recorded[0].body, "{\"messages\" : []}");
    assert_eq!(recorded[0].json().unwrap(), json!({"messages": []}));
    assert_eq!(recorded[0].headers["anthropic-beta"], "b");
    assert_eq!(
        (recorded[1].path.as_str(), recorded[1].json().is_err()),
        ("/other", true)
    );
}
