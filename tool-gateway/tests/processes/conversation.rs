//! [`Conversation`]: a client that sends its history, and repeats requests as SDKs do.

use std::time::Duration;

use serde_json::{Value, json};

use crate::gateway_process::GatewayProcess;
use crate::http::Reply;

pub(crate) const RETRY: (&str, &str) = ("x-stainless-retry-count", "1");

#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    pub(crate) body: Value,
}

impl Conversation {
    /// Creates a conversation whose first message is a plan for the upstream: the content of each message of the model.
    pub(crate) fn new(plan: &[Value]) -> Self {
        let mut conversation = Self {
            body: json!({
                "model": "m", "max_tokens": 100, "messages": [],
                "tools": [
                    { "name": "lookup" }, { "name": "write" }, { "name": "later" },
                    { "name": "weather", "description": "The weather.", "input_schema": { "type": "object" } },
                ],
            }),
        };
        conversation.plan(plan);
        conversation
    }

    fn messages(&mut self) -> &mut Vec<Value> {
        self.body["messages"].as_array_mut().unwrap()
    }

    /// Adds a text of the user: the plan of the following messages of the model.
    pub(crate) fn plan(&mut self, plan: &[Value]) {
        let text = Value::from(plan).to_string();
        self.messages().push(json!({ "role": "user", "content": text }));
    }

    /// Adds an answer, and results of its calls.
    pub(crate) fn answer(&mut self, reply: &Reply) {
        let content = reply.json()["content"].clone();
        let results: Vec<_> = calls(&content)
            .iter()
            .map(|id| json!({ "type": "tool_result", "tool_use_id": id, "content": "from the client" }))
            .collect();
        self.messages()
            .push(json!({ "role": "assistant", "content": content }));
        if !results.is_empty() {
            self.messages()
                .push(json!({ "role": "user", "content": results }));
        }
    }

    /// Sends the conversation once.
    pub(crate) async fn ask(&self, gateway: &GatewayProcess) -> Reply {
        let reply = gateway.post(&self.body, &[]).await.unwrap();
        assert_eq!(reply.status, 200, "{}", reply.json());
        reply
    }

    /// Sends a retry, and repeats it for two minutes after 409, 429 and 5xx, as SDKs do.
    pub(crate) async fn retry(&self, gateway: &GatewayProcess) -> Reply {
        let mut last = None;
        for _ in 0..120 {
            let reply = gateway.post(&self.body, &[RETRY]).await.unwrap();
            if reply.status == 200 {
                return reply;
            }
            assert!(matches!(reply.status, 409 | 429 | 500..), "{}", reply.json());
            last = Some(reply);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("{last:?}");
    }
}

/// Returns the ids of the calls in the content of a message.
pub(crate) fn calls(content: &Value) -> Vec<String> {
    let blocks = content.as_array().into_iter().flatten();
    let calls = blocks.filter(|block| block["type"] == "tool_use");
    calls
        .map(|call| call["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the texts of a message.
pub(crate) fn text(reply: &Reply) -> String {
    let message = reply.json();
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks
        .filter_map(|block| block["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}
