//! Thinking of a server of Chat Completions: shown if the client asks for it, and sent back to its server byte for byte.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::{OpenAiUpstream, Upstream, UpstreamFuture};

use crate::lab::{Chat, Lab, Runs, registry};
use crate::reply::{self, Reply};
use crate::test_script::TestScript;

/// A server that answers in order with these messages, which are streamed as one delta for each field. The requests are kept as text.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThinkingServer {
    answers: Arc<Mutex<VecDeque<Value>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ThinkingServer {
    pub(crate) fn new(answers: impl IntoIterator<Item = Value>) -> Self {
        let server = Self::default();
        server.answers.lock().unwrap().extend(answers);
        server
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn last_messages(&self) -> Vec<Value> {
        let request: Value = serde_json::from_str(self.requests().last().unwrap()).unwrap();
        request["messages"].as_array().unwrap().clone()
    }

    /// Asserts that each request begins with the model, tools and messages of the one before, byte for byte.
    #[track_caller]
    fn assert_one_prefix(&self) {
        for pair in self.requests().windows(2) {
            let end = pair[0].rfind(r#"],"max_tokens""#).unwrap();
            assert!(pair[1].starts_with(&pair[0][..end]), "{}\n\n{}", pair[0], pair[1]);
        }
    }
}

impl Upstream for ThinkingServer {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        let body = String::from_utf8(request.into_body().to_vec()).unwrap();
        let is_stream = body.contains(r#""stream":true"#);
        self.requests.lock().unwrap().push(body);
        let message = self.answers.lock().unwrap().pop_front().unwrap();
        let finish = if message["tool_calls"].is_array() {
            "tool_calls"
        } else {
            "stop"
        };
        let response = Response::builder();
        let response = if is_stream {
            let chunk = |delta: &Value, finish: Option<&str>| {
                let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
                format!("data: {}\n\n", json!({ "choices": [choice] }))
            };
            let fields = message.as_object().unwrap().iter();
            let mut body: String = fields
                .map(|(name, value)| chunk(&json!({ name: value }), None))
                .collect();
            body.push_str(&chunk(&json!({}), Some(finish)));
            body.push_str("data: [DONE]\n\n");
            response
                .header("content-type", "text/event-stream")
                .body(Body::from(body))
        } else {
            let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
            let body = json!({ "choices": [choice] }).to_string();
            response
                .header("content-type", "application/json")
                .body(Body::from(body))
        };
        Box::pin(async { Ok(response.unwrap()) })
    }

    fn name(&self) -> String {
        "chat".to_owned()
    }
}

fn thought(thinking: &str, text: &str) -> Value {
    json!({ "reasoning_content": thinking, "content": text })
}

/// A message with thinking and a call of the gateway's `lookup`.
fn thought_call(thinking: &str) -> Value {
    let function = json!({ "name": "lookup", "arguments": "{\"key\": \"a\"}" });
    let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
    json!({ "reasoning_content": thinking, "tool_calls": [call] })
}

fn lab(server: &ThinkingServer) -> Lab {
    lab_with(server, [1; 32])
}

fn lab_with(server: &ThinkingServer, secret: [u8; 32]) -> Lab {
    let runs = Runs::default();
    let upstream = OpenAiUpstream::over(server.clone());
    let gateway = Gateway::new(registry(&runs), upstream).with_secret(secret);
    let unused = json!({ "turns": [{ "content": [] }] }).to_string();
    Lab {
        app: gateway.router(),
        script: TestScript::from_json(&unused).unwrap(),
        runs,
    }
}

fn thinking_chat(is_stream: bool, thinking: Value) -> Chat {
    let mut chat = Chat::new(is_stream);
    chat.body["thinking"] = thinking;
    chat
}

fn enabled() -> Value {
    json!({ "type": "enabled", "budget_tokens": 1024 })
}

async fn dropped(lab: &Lab, reason: &str) -> bool {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let bytes = reply::bytes(lab.send(request).await.into_body()).await;
    let metrics = String::from_utf8(bytes.to_vec()).unwrap();
    metrics.contains(&format!(
        "tool_gateway_thinking_dropped_total{{reason=\"{reason}\"}} 1"
    ))
}

fn signature(reply: &Reply) -> &str {
    reply.content()[0]["signature"].as_str().unwrap()
}

#[tokio::test]
async fn thinking_goes_back_byte_for_byte_in_the_next_round_and_in_the_next_turn() {
    // The client asks for thinking, for thinking without its text, and for none.
    let requested = [
        enabled(),
        json!({ "type": "adaptive", "display": "omitted" }),
        Value::Null,
    ];
    for thinking in requested {
        for is_stream in [false, true] {
            let server = ThinkingServer::new([
                thought_call("I \"look\"…\n\n"),
                thought(" I found\tit.\n", "Done."),
                thought("Again.", "Bye."),
            ]);
            let lab = lab(&server);
            let mut chat = thinking_chat(is_stream, thinking.clone());
            assert_eq!(chat.say(&lab, "go").await.text(), "Done.");
            assert_eq!(chat.say(&lab, "more").await.text(), "Bye.");
            server.assert_one_prefix();
            let messages = server.last_messages();
            assert_eq!(messages.len(), 5, "{messages:#?}");
            assert_eq!(messages[1]["reasoning_content"], "I \"look\"…\n\n");
            assert_eq!(messages[3]["reasoning_content"], " I found\tit.\n");
            assert_eq!(messages[3]["content"], "Done.");
        }
    }
}

#[tokio::test]
async fn thinking_is_shown_only_if_the_client_asks_for_it() {
    for is_stream in [false, true] {
        for (thinking, shape, shown) in [
            (enabled(), vec!["thinking", "text"], json!("t")),
            (
                json!({ "type": "adaptive", "display": "omitted" }),
                vec!["thinking", "text"],
                json!(""),
            ),
            (json!({ "type": "disabled" }), vec!["text"], Value::Null),
            (Value::Null, vec!["text"], Value::Null),
        ] {
            let lab = lab(&ThinkingServer::new([thought("t", "a")]));
            let reply = thinking_chat(is_stream, thinking).say(&lab, "go").await;
            assert_eq!(reply.shape(), shape, "{}", reply.message);
            assert_eq!(
                (&reply.content()[0]["thinking"], reply.text().as_str()),
                (&shown, "a")
            );
        }
    }
}

#[tokio::test]
async fn a_message_of_hidden_thinking_alone_has_a_text() {
    for is_stream in [false, true] {
        let server = ThinkingServer::new([json!({ "reasoning_content": "t" }), thought("u", "a")]);
        let lab = lab(&server);
        let mut chat = thinking_chat(is_stream, Value::Null);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.text(), "[The model gave no answer.]", "{}", reply.message);
        assert_eq!(chat.say(&lab, "more").await.text(), "a");
    }
}

#[tokio::test]
async fn thinking_of_the_client_goes_back_without_a_session() {
    for is_stream in [false, true] {
        let kinds = [enabled(), json!({ "type": "adaptive", "display": "omitted" })];
        for thinking in kinds {
            let server = ThinkingServer::new([thought("t\n", "a"), thought("u", "b")]);
            let mut chat = thinking_chat(is_stream, thinking);
            let reply = chat.say(&lab(&server), "go").await;
            assert!(signature(&reply).starts_with("tg1."), "{}", reply.message);
            // A new process with the secret of the one before.
            let later = lab(&server);
            chat.say(&later, "more").await;
            server.assert_one_prefix();
            assert_eq!(server.last_messages()[1]["reasoning_content"], "t\n");
        }
    }
}

#[tokio::test]
async fn thinking_of_another_secret_and_changed_thinking_are_dropped() {
    for (secret, text, reason) in [([2; 32], "t", "foreign"), ([1; 32], "changed", "changed")] {
        let server = ThinkingServer::new([thought("t", "a"), thought("u", "b")]);
        let mut chat = thinking_chat(true, enabled());
        chat.say(&lab(&server), "go").await;
        chat.messages()[1]["content"][0]["thinking"] = text.into();
        let later = lab_with(&server, secret);
        assert_eq!(chat.say(&later, "more").await.text(), "b");
        assert_eq!(
            server.last_messages()[1],
            json!({ "role": "assistant", "content": "a" })
        );
        assert!(dropped(&later, reason).await, "{reason}");
    }
}

#[tokio::test]
async fn stored_thinking_goes_back_whatever_the_client_sends_but_not_to_another_model() {
    for (model, expected) in [("m", json!("t")), ("other", Value::Null)] {
        let server = ThinkingServer::new([thought("t", "a"), thought("u", "b")]);
        let lab = lab(&server);
        let mut chat = thinking_chat(true, enabled());
        chat.say(&lab, "go").await;
        chat.messages()[1]["content"][0]["thinking"] = "changed".into();
        chat.body["model"] = model.into();
        chat.say(&lab, "more").await;
        assert_eq!(server.last_messages()[1]["reasoning_content"], expected);
        assert_eq!(dropped(&lab, "other_model").await, model == "other");
    }
}
