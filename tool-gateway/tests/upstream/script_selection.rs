//! The upstream `script`: which turn answers a request, what it must contain, and what is recorded.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tool_gateway::upstream::{ScriptUpstream, Upstream as _};

use crate::body::{ask, json, post};

/// The texts of three turns.
fn turns(order: &str) -> ScriptUpstream {
    let turns: Vec<_> = ["one", "two", "three"]
        .iter()
        .map(|text| json!({"content": [{"type": "text", "text": text}]}))
        .collect();
    ScriptUpstream::from_json(&json!({"order": order, "turns": turns}).to_string()).unwrap()
}

/// A request after that many answers.
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
async fn in_the_order_of_requests_the_last_turn_is_the_end() {
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
            "message": "the script is at its end: it has 3 turns, and this is request 4; \
                        add a turn, or remove `order` to begin again",
        })
    );
}

#[tokio::test]
async fn failed_expectations_are_answered_and_recorded() {
    let script = ScriptUpstream::from_json(
        r#"{"turns": [{
            "expect": {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "tools": []},
            "content": []
        }]}"#,
    )
    .unwrap();
    let fulfilled = json!({
        "model": "m",
        "tools": [],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    });
    assert_eq!(ask(&script, &fulfilled).await.status(), StatusCode::OK);
    assert!(script.failures().is_empty());

    let mut failed = fulfilled.clone();
    failed["messages"][0]["content"][0]["text"] = "ho".into();
    failed["stream"] = true.into();
    let response = ask(&script, &failed).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let failure = r#"turn 1 of the script: /messages/0/content/0/text: expected "hi", got "ho""#;
    let body = json(response).await;
    assert_eq!(
        body["error"],
        json!({"type": "invalid_request_error", "message": failure})
    );
    assert_eq!(body["request_id"], "req_script_0002");
    assert_eq!(script.failures(), [failure]);
    assert_eq!(script.requests()[1].failure.as_deref(), Some(failure));
}

#[tokio::test]
async fn records_what_it_receives() {
    let script = turns("messages");
    let clone = script.clone();
    let mut request = post("/v1/messages?beta=true", "{\"messages\" : []}");
    request
        .headers_mut()
        .insert("x-api-key", "secret".parse().unwrap());
    request
        .headers_mut()
        .insert("anthropic-beta", "b".parse().unwrap());
    clone.send(request).await.unwrap();
    script.send(post("/other", "no JSON")).await.unwrap();

    let recorded = script.requests();
    assert_eq!(recorded.len(), 2);
    assert_eq!(recorded[0].method, "POST");
    assert_eq!(recorded[0].path, "/v1/messages?beta=true");
    assert_eq!(recorded[0].body, "{\"messages\" : []}");
    assert_eq!(recorded[0].json().unwrap(), json!({"messages": []}));
    assert_eq!(recorded[0].headers["x-api-key"], "secret");
    assert_eq!(recorded[0].headers["anthropic-beta"], "b");
    assert_eq!(
        (recorded[1].path.as_str(), recorded[1].json().is_err()),
        ("/other", true)
    );
    assert!(!format!("{script:?} {recorded:?}").contains("secret"));
}
