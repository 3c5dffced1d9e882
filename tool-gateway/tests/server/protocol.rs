//! [`Scripted`]: a script that plays a server of the Messages API, or one of Chat Completions in the tests of `chat_completions`.

use axum::body::{Body, Bytes};
use axum::http::Request;
use serde_json::{Value, json};
#[cfg(all(unix, feature = "redis"))]
use tool_gateway::upstream::AnthropicUpstream;
use tool_gateway::upstream::{OpenAiUpstream, TurnBody, Upstream, UpstreamFuture};

use crate::test_script::TestScript;

/// The upstream of a test that both servers pass.
pub(crate) enum Scripted {
    Messages(TestScript),
    Chat(Box<OpenAiUpstream<TestScript>>),
    /// A server that plays the script in another process.
    #[cfg(all(unix, feature = "redis"))]
    Server(Box<AnthropicUpstream>),
}

/// Returns whether the running test is one of `chat_completions`. The test harness names the thread of a test after the test.
pub(crate) fn is_chat() -> bool {
    let thread = std::thread::current();
    thread
        .name()
        .is_some_and(|name| name.starts_with("chat_completions::"))
}

impl Scripted {
    pub(crate) fn new(script: &TestScript) -> Self {
        if is_chat() {
            Self::Chat(Box::new(OpenAiUpstream::over(script.clone())))
        } else {
            Self::Messages(script.clone())
        }
    }

    fn upstream(&self) -> &dyn Upstream {
        match self {
            Self::Messages(script) => script,
            Self::Chat(upstream) => &**upstream,
            #[cfg(all(unix, feature = "redis"))]
            Self::Server(upstream) => &**upstream,
        }
    }
}

impl Upstream for Scripted {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        self.upstream().send(request)
    }

    fn send_stream(&self, request: Request<Body>) -> UpstreamFuture<'_> {
        self.upstream().send_stream(request)
    }

    fn turn(&self, request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
        self.upstream().turn(request)
    }

    fn passes_messages(&self) -> bool {
        self.upstream().passes_messages()
    }

    fn name(&self) -> String {
        self.upstream().name()
    }
}

/// Asserts that a request of Chat Completions is well-formed, and returns the request in the form of the Messages API.
#[track_caller]
pub(crate) fn messages_request(chat: &Value) -> Value {
    let mut request = chat.clone();
    if let Some(tools) = chat.get("tools") {
        let tools = tools.as_array().unwrap().iter().map(|tool| {
            let function = &tool["function"];
            json!({
                "name": function["name"], "description": function["description"],
                "input_schema": function["parameters"],
            })
        });
        let tools: Vec<_> = tools.collect();
        assert!(!tools.is_empty(), "no tools: {chat}");
        request["tools"] = tools.into();
    }
    let mut messages: Vec<Value> = Vec::new();
    let mut open: Vec<Value> = Vec::new();
    for message in chat["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            assert_eq!(
                message["tool_call_id"],
                open.remove(0),
                "the order of results: {chat:#}"
            );
            let content = message["content"].as_str().unwrap();
            let mut block =
                json!({ "type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content });
            if content.starts_with("Error: ") {
                block["is_error"] = true.into();
            }
            match messages.last_mut().filter(|last| last["role"] == "user") {
                Some(last) => last["content"].as_array_mut().unwrap().push(block),
                None => messages.push(json!({ "role": "user", "content": [block] })),
            }
            continue;
        }
        assert!(open.is_empty(), "a call without its result: {chat:#}");
        let mut blocks = Vec::new();
        if let Some(text) = message["content"].as_str() {
            assert!(!text.trim().is_empty(), "an empty message: {chat:#}");
            blocks.push(json!({ "type": "text", "text": text }));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap();
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            assert!(
                (1..=40).contains(&id.len()) && id.bytes().all(is_plain),
                "an id of another form: {chat:#}"
            );
            let input: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            assert!(input.is_object(), "{chat:#}");
            blocks.push(
                json!({ "type": "tool_use", "id": id, "name": call["function"]["name"], "input": input }),
            );
            open.push(call["id"].clone());
        }
        assert!(!blocks.is_empty(), "an empty message: {chat:#}");
        match messages.last_mut().filter(|last| last["role"] == message["role"]) {
            Some(last) => last["content"].as_array_mut().unwrap().extend(blocks),
            None => messages.push(json!({ "role": message["role"], "content": blocks })),
        }
    }
    assert!(open.is_empty(), "a call without its result: {chat:#}");
    request["messages"] = messages.into();
    request
}
