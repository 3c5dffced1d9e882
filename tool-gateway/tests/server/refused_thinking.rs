//! Thinking blocks that the upstream rejects, in all publicly known error texts, and the following requests.

use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::{Upstream, UpstreamFuture};

use crate::lab::{Chat, Lab, Runs, call, registry, says, text, thinking};
use crate::test_script::TestScript;

/// A script that rejects thinking like the API.
#[derive(Clone)]
struct StrictUpstream {
    script: TestScript,
    /// The refusal of the signature `old`.
    wording: &'static str,
    refused: Arc<Mutex<Vec<String>>>,
}

impl Upstream for StrictUpstream {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        let body = serde_json::from_slice(request.body()).unwrap();
        let Some(message) = refusal(&body, self.wording) else {
            return self.script.send(request);
        };
        self.refused.lock().unwrap().push(message.to_owned());
        let error = json!({ "type": "invalid_request_error", "message": message });
        let error = json!({ "type": "error", "error": error });
        let response = Response::builder()
            .status(400)
            .header("content-type", "application/json");
        let response = response.body(Body::from(error.to_string())).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "strict".to_owned()
    }
}

const MISSING: &str = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.";

fn refusal<'w>(body: &Value, wording: &'w str) -> Option<&'w str> {
    let is_on = body
        .get("thinking")
        .is_some_and(|thinking| thinking["type"] != "disabled");
    let messages = body["messages"].as_array().unwrap();
    if messages
        .iter()
        .any(|message| message["content"].to_string().contains("\"old\""))
    {
        return Some(wording);
    }
    let edits = body["context_management"]["edits"].to_string();
    if !is_on && edits.contains("clear_thinking") {
        return Some("`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive");
    }
    let is_result = |block: &Value| block["type"] == "tool_result";
    let answers = messages.last().unwrap()["content"].as_array();
    let is_answered = answers.is_some_and(|blocks| blocks.iter().all(is_result));
    let last = messages
        .iter()
        .rev()
        .find(|message| message["role"] == "assistant");
    let begins_with_thinking = |message: &Value| {
        let kind = message["content"][0]["type"].as_str().unwrap_or_default();
        kind.ends_with("thinking")
    };
    (is_on && is_answered && !last.is_some_and(begins_with_thinking)).then_some(MISSING)
}

fn lab(turns: &Value, wording: &'static str) -> (Lab, StrictUpstream) {
    let script = json!({ "order": "requests", "turns": turns });
    let script = TestScript::from_json(&script.to_string()).unwrap();
    let upstream = StrictUpstream {
        script: script.clone(),
        wording,
        refused: Arc::default(),
    };
    let runs = Runs::default();
    let app = Gateway::new(registry(&runs), upstream.clone()).router();
    (Lab { app, script, runs }, upstream)
}

fn thinking_chat(is_stream: bool) -> Chat {
    let mut chat = Chat::new(is_stream);
    chat.body["thinking"] = json!({ "type": "enabled", "budget_tokens": 1024 });
    chat.body["context_management"] =
        json!({ "edits": [{ "type": "clear_thinking_20251015", "keep": "all" }] });
    chat
}

/// Refusals of the API and of servers before it, as in public reports.
const WORDINGS: [&str; 9] = [
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.1.content.0: Invalid signature in thinking block",
    "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
    "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    "messages.1: thinking block is bound to a different conversation",
    MISSING,
    "***.***.type: Expected thinking or redacted_thinking, but found tool_use. When thinking is enabled, a final assistant message must start with a thinking block",
    "messages.1.content.0: When thinking is disabled, an assistant message in the final position cannot contain thinking. To use thinking blocks, enable thinking in your request.",
    r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#,
];

#[tokio::test]
async fn every_rejection_text_is_retried_once_without_thinking() {
    for wording in WORDINGS {
        for is_stream in [true, false] {
            let turns = json!([
                says(&[thinking("old"), call("lookup", "a")]),
                says(&[text("Two."), call("lookup", "b")]),
                says(&[text("Done.")]),
            ]);
            let (lab, upstream) = lab(&turns, wording);
            let reply = thinking_chat(is_stream).say(&lab, "go").await;
            assert_eq!(reply.text(), "Two.\nDone.", "{wording}");
            assert_eq!(*upstream.refused.lock().unwrap(), [wording]);
            let has = |field: &str| -> Vec<bool> {
                let seen = lab.seen();
                seen.iter().map(|body| body.get(field).is_some()).collect()
            };
            assert_eq!(has("thinking"), [true, false, false]);
            assert_eq!(has("context_management"), [true, false, false]);
        }
    }
}

#[tokio::test]
async fn calls_without_thinking_are_retried_once_with_thinking_disabled() {
    let turns = json!([says(&[call("lookup", "a")]), says(&[text("Done.")])]);
    let (lab, upstream) = lab(&turns, "unused");
    let reply = thinking_chat(true).say(&lab, "go").await;
    assert_eq!(reply.text(), "Done.");
    assert_eq!(*upstream.refused.lock().unwrap(), [MISSING]);
}

#[tokio::test]
async fn thinking_is_off_until_the_next_text_of_the_user() {
    let turns = json!([
        says(&[thinking("old"), call("lookup", "a")]),
        says(&[text("Two."), call("weather", "b")]),
        says(&[text("Three."), call("clock", "c")]),
        says(&[text("Four.")]),
        says(&[thinking("new"), text("Five.")]),
    ]);
    let (lab, upstream) = lab(&turns, WORDINGS[0]);
    let mut chat = thinking_chat(true);
    let other = json!({ "type": "clear_tool_uses_20250919" });
    let edits = chat.body["context_management"]["edits"].as_array_mut().unwrap();
    edits.push(other.clone());
    let reply = chat.say(&lab, "go").await;
    let reply = chat.answer(&lab, &reply).await;
    chat.answer(&lab, &reply).await;
    assert_eq!(chat.say(&lab, "on").await.text(), "Five.");
    assert_eq!(upstream.refused.lock().unwrap().len(), 1, "asked with thinking");
    let seen = lab.seen();
    let thinks = seen.iter().map(|body| body.get("thinking").is_some());
    assert_eq!(thinks.collect::<Vec<_>>(), [true, false, false, false, true]);
    // Other edits stay.
    assert_eq!(seen[2]["context_management"], json!({ "edits": [other] }));
    assert_eq!(seen[4]["context_management"], chat.body["context_management"]);
}

#[tokio::test]
async fn other_rejections_reach_the_client() {
    let turns = json!([says(&[thinking("old"), call("lookup", "a")])]);
    let (lab, upstream) = lab(
        &turns,
        "thinking.budget_tokens: Input should be greater than or equal to 1024",
    );
    let reply = thinking_chat(false).say(&lab, "go").await;
    assert_eq!((reply.status.as_u16(), reply.error().1), (400, upstream.wording));
    assert_eq!(upstream.refused.lock().unwrap().len(), 1);
}
