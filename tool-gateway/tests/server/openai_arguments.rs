//! Arguments of calls from a server of Chat Completions, which does not check them.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::session::file::FileStore;
use tool_gateway::upstream::{OpenAiUpstream, Upstream, UpstreamError, UpstreamFuture};

use crate::lab::{Chat, Lab, Runs, registry, result};
use crate::reply;
use crate::test_script::TestScript;

/// A server of Chat Completions that answers in order, as a stream if the request asks for one. It has no connection after its last answer.
#[derive(Debug, Clone)]
pub(crate) struct ChatServer {
    answers: Arc<Mutex<VecDeque<Value>>>,
    requests: Arc<Mutex<Vec<Value>>>,
}

/// Builds an answer with a text and calls, each with its name and the text of its arguments.
pub(crate) fn answer(text: &str, calls: &[[&str; 2]]) -> Value {
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    ended(text, calls, finish)
}

pub(crate) fn ended(text: &str, calls: &[[&str; 2]], finish_reason: &str) -> Value {
    let calls = calls.iter().enumerate().map(|(index, [name, arguments])| {
        json!({ "index": index, "id": format!("call_{name}_{index}"), "type": "function",
                "function": { "name": name, "arguments": arguments } })
    });
    let calls: Vec<_> = calls.collect();
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({ "message": message, "finish_reason": finish_reason })
}

impl ChatServer {
    pub(crate) fn new(answers: impl IntoIterator<Item = Value>) -> Self {
        Self {
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            requests: Arc::default(),
        }
    }

    fn respond(&self, request: &[u8]) -> Option<Response<Body>> {
        let request: Value = serde_json::from_slice(request).unwrap();
        let is_stream = request["stream"] == true;
        self.requests.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front()?;
        let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
        if !is_stream {
            let choice =
                json!({ "index": 0, "message": answer["message"], "finish_reason": answer["finish_reason"] });
            let completion = json!({ "choices": [choice], "usage": usage });
            let response = Response::builder().header("content-type", "application/json");
            return response.body(completion.to_string().into()).ok();
        }
        let mut events = String::new();
        let mut deltas = vec![json!({ "content": answer["message"]["content"] })];
        for call in answer["message"]["tool_calls"].as_array().into_iter().flatten() {
            let mut start = call.clone();
            let arguments = call["function"]["arguments"].as_str().unwrap();
            start["function"]["arguments"] = "".into();
            deltas.push(json!({ "tool_calls": [start] }));
            deltas.extend(arguments.chars().map(|piece| {
                json!({ "tool_calls": [{ "index": call["index"], "function": { "arguments": piece } }] })
            }));
        }
        for delta in deltas {
            let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
            events.extend(["data: ", &chunk.to_string(), "\n\n"]);
        }
        if answer["finish_reason"] != "broken off" {
            let end =
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": answer["finish_reason"] }] });
            let usage = json!({ "choices": [], "usage": usage });
            let (end, usage) = (end.to_string(), usage.to_string());
            events.extend(["data: ", &end, "\n\ndata: ", &usage, "\n\ndata: [DONE]\n\n"]);
        }
        let response = Response::builder().header("content-type", "text/event-stream");
        response.body(events.into()).ok()
    }

    /// Returns the messages of the last request.
    pub(crate) fn last_messages(&self) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        requests.last().unwrap()["messages"].as_array().unwrap().clone()
    }

    pub(crate) fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Asserts that each call in a request has one result after it, in order, and arguments that are an object.
    #[track_caller]
    pub(crate) fn assert_well_formed(&self) {
        for request in self.requests.lock().unwrap().iter() {
            let messages = request["messages"].as_array().unwrap();
            let mut open = VecDeque::new();
            for message in messages {
                if message["role"] == "tool" {
                    assert_eq!(
                        open.pop_front(),
                        Some(message["tool_call_id"].clone()),
                        "{messages:#?}"
                    );
                    continue;
                }
                assert!(open.is_empty(), "{messages:#?}");
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let arguments = call["function"]["arguments"].as_str().unwrap();
                    let arguments: Value = serde_json::from_str(arguments).unwrap();
                    assert!(arguments.is_object(), "{messages:#?}");
                    assert_ne!(call["function"]["name"], "");
                    open.push_back(call["id"].clone());
                }
            }
            assert!(open.is_empty(), "{messages:#?}");
        }
    }
}

impl Upstream for ChatServer {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        let response = self.respond(request.body());
        Box::pin(async { response.ok_or_else(|| UpstreamError::new("no connection")) })
    }

    fn name(&self) -> String {
        "chat".to_owned()
    }
}

fn lab_with(server: &ChatServer, configure: impl FnOnce(Gateway) -> Gateway) -> Lab {
    let runs = Runs::default();
    let gateway = Gateway::new(registry(&runs), OpenAiUpstream::over(server.clone()));
    let unused = json!({ "turns": [{ "content": [] }] }).to_string();
    Lab {
        app: configure(gateway).router(),
        script: TestScript::from_json(&unused).unwrap(),
        runs,
    }
}

pub(crate) fn lab(answers: impl IntoIterator<Item = Value>) -> (Lab, ChatServer) {
    let server = ChatServer::new(answers);
    (lab_with(&server, |gateway| gateway), server)
}

/// A client with the tool `Edit`, and the gateway's tool `lookup`.
fn chat(is_stream: bool) -> Chat {
    let mut chat = Chat::new(is_stream);
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    chat.body["tools"] = json!([
        { "name": "lookup" },
        { "name": "Edit", "description": "Edits.", "input_schema": schema },
        { "name": "Write", "description": "Writes.", "input_schema": { "type": "object" } },
    ]);
    chat
}

async fn metrics(lab: &Lab) -> String {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let bytes = reply::bytes(lab.send(request).await.into_body()).await;
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_python_dict_is_repaired() {
    for is_stream in [false, true] {
        let (lab, server) = lab([
            answer("", &[["Write", "{'n': 1, 'on': True}"]]),
            answer("Done.", &[]),
        ]);
        let mut chat = chat(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.stop_reason(), "tool_use", "{}", reply.message);
        assert_eq!(reply.content()[0]["input"], json!({ "n": 1, "on": true }));
        assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
        let arguments = &server.last_messages()[1]["tool_calls"][0]["function"]["arguments"];
        assert_eq!(arguments, r#"{"n": 1, "on": true}"#);
        server.assert_well_formed();
    }
}

#[tokio::test]
async fn arguments_are_coerced_for_the_client_alone() {
    for is_stream in [false, true] {
        let (lab, server) = lab([answer("", &[["Edit", r#"{"n": "42"}"#]]), answer("Done.", &[])]);
        let mut chat = chat(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(
            reply.content()[0]["input"],
            json!({ "n": 42 }),
            "{}",
            reply.message
        );
        assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
        // The model sees its own spelling, since the history was recognized by the coerced form.
        let arguments = &server.last_messages()[1]["tool_calls"][0]["function"]["arguments"];
        assert_eq!(arguments, r#"{"n": "42"}"#);
        assert!(
            metrics(&lab)
                .await
                .contains("tool_gateway_client_coercions_total{code=")
        );
    }
}

#[tokio::test]
async fn a_broken_call_alone_is_corrected_in_a_hidden_round() {
    for is_stream in [false, true] {
        let broken = [
            (["Edit", r#"{"n": 1"#], "json_parse_error"),
            (["Edit", "[1]"], "arguments_not_object"),
            (["Edti", r#"{"n": 1}"#], "`Edit`"),
            (["nothing", "{}"], "unknown_tool"),
        ];
        for (call, code) in broken {
            let (lab, server) = lab([answer("Try.", &[call]), answer("Done.", &[])]);
            let mut chat = chat(is_stream);
            let reply = chat.say(&lab, "go").await;
            assert_eq!(reply.shape(), ["text", "text"], "{}", reply.message);
            assert_eq!(
                (reply.text().as_str(), reply.stop_reason()),
                ("Try.\nDone.", "end_turn")
            );
            let messages = server.last_messages();
            let [_, called, result] = messages.as_slice() else {
                panic!("{messages:#?}")
            };
            assert_eq!(called["tool_calls"][0]["function"]["arguments"], "{}");
            let content = result["content"].as_str().unwrap();
            assert!(content.contains(code) && result["role"] == "tool", "{content}");
            assert!(
                metrics(&lab)
                    .await
                    .contains("tool_gateway_broken_calls_total{tool=")
            );
            chat.say(&lab, "more").await;
            server.assert_well_formed();
        }
    }
}

#[tokio::test]
async fn a_third_broken_call_in_a_row_ends_the_turn_with_a_text() {
    for is_stream in [false, true] {
        let broken = || answer("", &[["Edit", "{n"]]);
        let (lab, server) = lab([broken(), broken(), broken(), answer("Better.", &[])]);
        let mut chat = chat(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.stop_reason(), "end_turn", "{}", reply.message);
        let expected = "The model's call of Edit could not be read: json_parse_error: ";
        assert!(reply.text().starts_with(expected), "{}", reply.message);
        assert_eq!((reply.shape(), server.asked()), (vec!["text"], 3));
        assert_eq!(chat.say(&lab, "again").await.text(), "Better.");
        let texts = server.last_messages();
        assert_eq!(texts[texts.len() - 2]["content"], reply.text());
        server.assert_well_formed();
    }
}

#[tokio::test]
async fn an_error_of_a_broken_call_joins_the_clients_results() {
    for is_stream in [false, true] {
        let calls = [
            ["Edit", "{n"],
            ["Write", r#"{"n": 1}"#],
            ["lookup", r#"{"key": "a"}"#],
        ];
        let (lab, server) = lab([answer("", &calls), answer("Done.", &[])]);
        let mut chat = chat(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!((reply.shape(), reply.stop_reason()), (vec!["Write"], "tool_use"));
        assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
        let results: Vec<_> = server.last_messages().split_off(2);
        let contents: Vec<_> = results
            .iter()
            .map(|result| result["content"].as_str().unwrap())
            .collect();
        assert!(contents[0].contains("json_parse_error"), "{contents:?}");
        assert_eq!(contents[1..], ["from the client", "lookup of a"]);
        assert_eq!(lab.runs.ended(), ["lookup a"]);
        server.assert_well_formed();
    }
}

#[tokio::test]
async fn an_error_of_a_broken_call_joins_the_gateways_results() {
    let calls = [["lookup", r#"{"key": "a"}"#], ["Edit", "{n"]];
    let (lab, server) = lab([answer("", &calls), answer("Done.", &[])]);
    let reply = chat(true).say(&lab, "go").await;
    assert_eq!(
        (reply.text().as_str(), reply.stop_reason()),
        ("Done.", "end_turn")
    );
    assert_eq!(lab.runs.ended(), ["lookup a"]);
    assert!(
        server.last_messages()[3]["content"]
            .as_str()
            .unwrap()
            .contains("json_parse_error")
    );
    server.assert_well_formed();
}

#[tokio::test]
async fn names_with_additions_are_calls_of_declared_tools() {
    let calls = [
        ["functions.Edit", r#"{"n": 1}"#],
        [" lookup<|end|>", r#"{"key": "a"}"#],
    ];
    let (lab, server) = lab([answer("", &calls), answer("Done.", &[])]);
    let mut chat = chat(true);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(reply.shape(), ["Edit"], "{}", reply.message);
    assert_eq!(lab.runs.ended(), ["lookup a"]);
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
    server.assert_well_formed();
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_never_shown() {
    for (is_stream, finish) in [(false, "length"), (true, "length"), (true, "broken off")] {
        let (lab, server) = lab([
            ended("Try.", &[["Edit", r#"{"n": 1"#]], finish),
            answer("Done.", &[]),
        ]);
        let mut chat = chat(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert!(
            !reply.message.to_string().contains("tool_use"),
            "{finish}: {}",
            reply.message
        );
        if finish == "length" {
            assert_eq!(
                (reply.text().as_str(), reply.stop_reason()),
                ("Try.", "max_tokens")
            );
            assert_eq!(chat.say(&lab, "more").await.text(), "Done.");
            server.assert_well_formed();
        }
    }
}

/// Opens the file of sessions as soon as the gateway before has closed the file.
async fn opened(file: &Path) -> FileStore {
    loop {
        match FileStore::open(file) {
            Ok(store) => return store,
            Err(error) => assert!(error.to_string().contains("another process"), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_hidden_round_of_a_broken_call_continues_after_a_crash() {
    for is_stream in [false, true] {
        let folder =
            std::env::temp_dir().join(format!("tool-gateway-broken-{is_stream}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("sessions.redb");
        let mut chat = chat(is_stream);
        // The connection fails in the second round.
        let server = ChatServer::new([answer("", &[["Edit", "{n"]])]);
        let store = opened(&file).await;
        let first = lab_with(&server, |gateway| gateway.with_store(store));
        assert!(chat.say(&first, "go").await.is_error());
        assert_eq!(server.asked(), 2);
        drop(first);
        let server = ChatServer::new([answer("", &[["Edit", r#"{"n": 1}"#]]), answer("Done.", &[])]);
        let store = opened(&file).await;
        let second = lab_with(&server, |gateway| gateway.with_store(store));
        chat.headers.push(("x-stainless-retry-count", "1".to_owned()));
        let reply = chat.ask(&second).await;
        assert_eq!(reply.shape(), ["Edit"], "{}", reply.message);
        let messages = server.last_messages();
        assert_eq!(messages.len(), 3, "{messages:#?}");
        assert!(
            messages[2]["content"]
                .as_str()
                .unwrap()
                .contains("json_parse_error")
        );
        chat.messages()
            .push(json!({ "role": "assistant", "content": reply.message["content"] }));
        let done = chat
            .say(&second, json!([result(&reply.ids()[0], "from the client")]))
            .await;
        assert_eq!(done.text(), "Done.");
        assert_eq!(server.last_messages()[..3], messages);
        server.assert_well_formed();
        drop(second);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
