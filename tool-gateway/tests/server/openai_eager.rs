//! Calls whose arguments leave in pieces (`eager_input_streaming`), and `[format_fixing]`, before a server of Chat Completions.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{Request, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tool_gateway::Gateway;
use tool_gateway::upstream::{OpenAiUpstream, Upstream, UpstreamError, UpstreamFuture};
use tool_runtime::repair::{FormatFixing, TargetTools};

use crate::lab::{Chat, Lab, Runs, post, registry};
use crate::openai_arguments::{ChatServer, answer, ended};
use crate::reply::{Reply, events};
use crate::test_script::TestScript;

/// Builds a gateway before a server. The script of the lab is not used.
fn lab(server: impl Upstream, fixing: Option<FormatFixing>) -> Lab {
    let runs = Runs::default();
    let mut upstream = OpenAiUpstream::over(server);
    if let Some(fixing) = &fixing {
        upstream = upstream.with_format_fixing(fixing.clone());
    }
    let mut gateway = Gateway::new(registry(&runs), upstream);
    if let Some(fixing) = fixing {
        gateway = gateway.with_format_fixing(fixing);
    }
    Lab {
        app: gateway.router(),
        script: TestScript::embedded(),
        runs,
    }
}

fn without_fallback() -> FormatFixing {
    FormatFixing {
        fallback_on_error: false,
        ..FormatFixing::for_every_tool()
    }
}

/// A client with the tools `Eager` and `Held` of one schema.
fn chat(is_stream: bool) -> Chat {
    let mut chat = Chat::new(is_stream);
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    chat.body["tools"] = json!([
        { "name": "lookup" },
        { "name": "Eager", "input_schema": schema, "eager_input_streaming": true },
        { "name": "Held", "input_schema": schema },
    ]);
    chat
}

/// Returns the arguments in the deltas of a block.
fn deltas(reply: &Reply, index: usize) -> Vec<String> {
    let events = events(&reply.body).into_iter();
    let deltas = events.filter(|event| event["type"] == "content_block_delta" && event["index"] == index);
    deltas
        .map(|event| event["delta"]["partial_json"].as_str().unwrap().to_owned())
        .collect()
}

/// A server whose streams are sent by the test.
#[derive(Clone, Default)]
struct Live(Arc<Mutex<VecDeque<mpsc::UnboundedReceiver<String>>>>);

impl Live {
    /// Adds a response, whose chunks are sent by the returned sender.
    fn respond(&self) -> mpsc::UnboundedSender<String> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.lock().unwrap().push_back(receiver);
        sender
    }
}

impl Upstream for Live {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let receiver = self.0.lock().unwrap().pop_front();
        Box::pin(async {
            let receiver = receiver.ok_or_else(|| UpstreamError::new("no connection"))?;
            let chunks = stream::unfold(receiver, |mut receiver| async {
                let chunk = receiver.recv().await?;
                Some((Ok::<_, std::io::Error>(Bytes::from(chunk)), receiver))
            });
            let response = Response::builder().header("content-type", "text/event-stream");
            Ok(response.body(Body::from_stream(chunks)).unwrap())
        })
    }

    fn name(&self) -> String {
        "live".to_owned()
    }
}

fn chunk(delta: &Value, finish_reason: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
    format!("data: {}\n\n", json!({ "choices": [choice] }))
}

/// Builds a chunk that begins a call, with the first of its arguments.
fn begun(index: usize, name: &str, arguments: &str) -> String {
    let function = json!({ "name": name, "arguments": arguments });
    let call =
        json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function });
    chunk(&json!({ "tool_calls": [call] }), None)
}

fn more(index: usize, arguments: &str) -> String {
    let call = json!({ "index": index, "function": { "arguments": arguments } });
    chunk(&json!({ "tool_calls": [call] }), None)
}

/// Reads a body until its text has an end.
async fn read_until(body: &mut Body, text: &mut String, end: &str) {
    while !text.contains(end) {
        let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *body).poll_frame(cx));
        let frame = frame.await.unwrap_or_else(|| panic!("no {end} in {text}"));
        text.push_str(std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap());
    }
}

/// Joins the arguments in the text of a stream.
fn arguments(text: &str) -> String {
    let whole = text.rfind("\n\n").map_or(0, |end| end + 2);
    let events = events(&Bytes::copy_from_slice(&text.as_bytes()[..whole])).into_iter();
    events
        .filter_map(|event| event["delta"]["partial_json"].as_str().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn json_passes_at_once_and_other_text_is_held() {
    let server = Live::default();
    let sender = server.respond();
    let lab = lab(server, None);
    let mut chat = chat(true);
    chat.messages().push(crate::lab::user("go"));
    let send = |text: String| sender.send(text).unwrap();
    send(begun(0, "Eager", ""));
    send(more(0, r#"{"n": "#));
    let response = lab.send(post("/v1/messages", &chat.body, &[])).await;
    let (mut body, mut text) = (response.into_body(), String::new());
    // The stream of the server is open.
    read_until(&mut body, &mut text, r#"{\"n\":"#).await;
    assert!(text.contains("content_block_start") && !text.contains("content_block_stop"));
    send(more(0, r#"1, "s": "#));
    read_until(&mut body, &mut text, r#"\"s\": "#).await;
    send(more(0, "'a"));
    send(more(0, "b', 'on': True"));
    assert_eq!(arguments(&text), r#"{"n": 1, "s": "#);
    // The end of the call releases the repaired rest.
    send(more(0, "}"));
    send(chunk(&json!({}), Some("tool_calls")));
    send("data: [DONE]\n\n".to_owned());
    read_until(&mut body, &mut text, "message_stop").await;
    assert_eq!(arguments(&text), r#"{"n": 1, "s": "ab", "on": true}"#);
}

#[tokio::test]
async fn eager_arguments_are_not_coerced() {
    for is_stream in [false, true] {
        let server = ChatServer::new([answer("", &[["Eager", r#"{"n": "42"}"#]]), answer("Done.", &[])]);
        let lab = lab(server.clone(), None);
        let mut chat = chat(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.stop_reason(), "tool_use");
        assert_eq!(
            reply.content()[0]["input"],
            json!({ "n": "42" }),
            "{}",
            reply.message
        );
        assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
        let arguments = &server.last_messages()[1]["tool_calls"][0]["function"]["arguments"];
        assert_eq!(arguments, r#"{"n": "42"}"#);
        server.assert_well_formed();
    }
}

#[tokio::test]
async fn eager_arguments_are_coerced_without_eager_streaming() {
    for is_stream in [false, true] {
        let server = ChatServer::new([answer("", &[["Eager", r#"{'n': "42"}"#]])]);
        let runs = Runs::default();
        let gateway = Gateway::new(registry(&runs), OpenAiUpstream::over(server)).with_eager_streaming(false);
        let lab = Lab {
            app: gateway.router(),
            script: TestScript::embedded(),
            runs,
        };
        let reply = chat(is_stream).say(&lab, "go").await;
        assert_eq!(
            reply.content()[0]["input"],
            json!({ "n": 42 }),
            "{}",
            reply.message
        );
        assert_eq!(reply.stop_reason(), "tool_use");
    }
}

#[tokio::test]
async fn eager_arguments_that_cannot_be_repaired_arrive_unchanged() {
    let server = ChatServer::new([
        answer("", &[["Eager", r#"{"n": 1 2 'a'}"#]]),
        answer("Done.", &[]),
    ]);
    let lab = lab(server.clone(), None);
    let mut chat = chat(true);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(deltas(&reply, 0).concat(), r#"{"n": 1 2 'a'}"#);
    assert_eq!(reply.stop_reason(), "tool_use");
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
    server.assert_well_formed();
}

#[tokio::test]
async fn eager_arguments_that_cannot_be_repaired_are_an_error_without_fallback() {
    let server = ChatServer::new([answer("", &[["Eager", r#"{"n": 1 2 'a'}"#]])]);
    let lab = lab(server, Some(without_fallback()));
    let reply = chat(true).say(&lab, "go").await;
    let expected = "the arguments of the tool `Eager` are not JSON and could not be repaired";
    assert_eq!(reply.error(), ("api_error", expected));
    assert_eq!(deltas(&reply, 0).concat(), r#"{"n": 1 "#);
}

#[tokio::test]
async fn eager_arguments_of_whole_answers_that_cannot_be_read_are_broken() {
    let server = ChatServer::new([
        answer("", &[["Eager", r#"{"n": 1 2 'a'}"#]]),
        answer("Done.", &[]),
    ]);
    let lab = lab(server.clone(), None);
    let reply = chat(false).say(&lab, "go").await;
    assert_eq!(reply.shape(), ["text"], "{}", reply.message);
    let result = server.last_messages()[2]["content"].clone();
    assert!(result.as_str().unwrap().contains("json_parse_error"), "{result}");
    server.assert_well_formed();
}

#[tokio::test]
async fn eager_arguments_that_are_no_object_are_read_when_they_are_complete() {
    let server = ChatServer::new([
        answer("", &[["Eager", "[1]"]]),
        answer(
            "",
            &[["Eager", " null"], ["Eager", r#""{\"n\": 1}""#], ["Eager", ""]],
        ),
        answer("Done.", &[]),
    ]);
    let lab = lab(server.clone(), None);
    let mut chat = chat(true);
    let reply = chat.say(&lab, "go").await;
    let inputs: Vec<_> = reply.content().iter().map(|call| &call["input"]).collect();
    assert_eq!(
        inputs,
        [&json!({}), &json!({ "n": 1 }), &json!({})],
        "{}",
        reply.message
    );
    // `[1]` was corrected in a hidden round.
    let result = server.last_messages()[2]["content"].clone();
    assert!(result.as_str().unwrap().contains("arguments_not_object"));
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
    server.assert_well_formed();
}

#[tokio::test]
async fn eager_arguments_that_are_cut_off_are_not_completed() {
    let arguments = r#"{"n": 1, "s": "ab"#;
    let server = ChatServer::new([ended("Try.", &[["Eager", arguments]], "length")]);
    let lab_ = lab(server, None);
    let reply = chat(true).say(&lab_, "go").await;
    assert_eq!(reply.stop_reason(), "max_tokens", "{}", reply.message);
    assert_eq!(deltas(&reply, 1).concat(), arguments);
    assert_eq!(reply.shape(), ["text", "Eager"]);

    // A held rest is not shown.
    let server = ChatServer::new([ended("", &[["Eager", r#"{"n": 1, 'on': Tr"#]], "length")]);
    let reply = chat(true).say(&lab(server, None), "go").await;
    assert_eq!(deltas(&reply, 0).concat(), r#"{"n": 1"#);

    let server = ChatServer::new([ended("", &[["Eager", r#"{"n": 1, 'on': Tr"#]], "broken off")]);
    let reply = chat(true).say(&lab(server, None), "go").await;
    assert!(
        reply.error().1.starts_with("the upstream's response was cut off"),
        "{}",
        reply.message
    );
    assert_eq!(deltas(&reply, 0).concat(), r#"{"n": 1"#);
}

/// Asks with a stream whose chunks are already sent.
async fn reply_to(chunks: &[String], change: impl FnOnce(&mut Chat)) -> Reply {
    let server = Live::default();
    let sender = server.respond();
    for chunk in chunks {
        sender.send(chunk.clone()).unwrap();
    }
    drop(sender);
    let mut chat = chat(true);
    change(&mut chat);
    chat.say(&lab(server, None), "go").await
}

#[tokio::test]
async fn parts_after_an_eager_call_wait_for_its_end() {
    let chunks = [
        begun(0, "Eager", r#"{"n""#),
        chunk(&json!({ "content": "And " }), None),
        begun(1, "Eager", r#"{"n": 2"#),
        more(0, ": 1}"),
        chunk(&json!({ "content": "then." }), None),
        more(1, "}"),
        chunk(&json!({}), Some("tool_calls")),
    ];
    let reply = reply_to(&chunks, |_| {}).await;
    assert_eq!(
        reply.shape(),
        ["Eager", "text", "Eager", "text"],
        "{}",
        reply.message
    );
    let inputs: Vec<_> = [0, 2].map(|at| reply.content()[at]["input"]["n"].clone()).into();
    assert_eq!(inputs, [1, 2]);
    assert_eq!(reply.text(), "And \nthen.");
}

#[tokio::test]
async fn a_second_eager_call_leaves_the_message_if_only_one_is_allowed() {
    let chunks = [
        begun(0, "Eager", r#"{"n": 1}"#),
        begun(1, "Eager", r#"{"n": 2}"#),
        chunk(&json!({}), Some("tool_calls")),
    ];
    let reply = reply_to(&chunks, |chat| {
        chat.body["tool_choice"] = json!({ "type": "auto", "disable_parallel_tool_use": true });
    })
    .await;
    assert_eq!(reply.shape(), ["Eager"]);
    assert_eq!(reply.content()[0]["input"], json!({ "n": 1 }));
}

#[tokio::test]
async fn a_name_that_continues_after_the_first_arguments_is_an_error() {
    let mut later: Value = serde_json::from_str(&more(0, ": 1}")[6..]).unwrap();
    later["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] = "Held".into();
    let chunks = [
        begun(0, "Eager", r#"{"n""#),
        format!("data: {later}\n\n"),
        chunk(&json!({}), Some("tool_calls")),
    ];
    let reply = reply_to(&chunks, |_| {}).await;
    assert!(reply.is_error(), "{}", reply.message);
}

#[tokio::test]
async fn pieces_of_arguments_have_at_most_16_kib() {
    let long = json!({ "s": "€".repeat(20_000) }).to_string();
    for tool in ["Eager", "Held"] {
        let chunks = [begun(0, tool, &long), chunk(&json!({}), Some("tool_calls"))];
        let reply = reply_to(&chunks, |_| {}).await;
        let deltas = deltas(&reply, 0);
        assert!(deltas.len() > 3, "{}", deltas.len());
        assert!(deltas.iter().all(|delta| delta.len() <= 16 << 10));
        assert_eq!(deltas.concat(), long);
    }
}

const PYTHON: &str = "{'n': 1}";

#[tokio::test]
async fn calls_of_every_tool_are_repaired_without_target_tools() {
    let server = ChatServer::new([answer("", &[["Held", PYTHON]])]);
    let reply = chat(true).say(&lab(server, None), "go").await;
    assert_eq!(reply.content()[0]["input"], json!({ "n": 1 }));
}

/// Asserts that a Python dict is broken, and JSON is not.
async fn breaks_text_that_is_not_json(fixing: FormatFixing) {
    for is_stream in [false, true] {
        let server = ChatServer::new([
            answer("", &[["Held", PYTHON]]),
            answer("", &[["Held", r#"{"n": 2}"#]]),
        ]);
        let lab = lab(server.clone(), Some(fixing.clone()));
        let reply = chat(is_stream).say(&lab, "go").await;
        assert_eq!(
            reply.content()[0]["input"],
            json!({ "n": 2 }),
            "{}",
            reply.message
        );
        let result = server.last_messages()[2]["content"].clone();
        assert!(result.as_str().unwrap().contains("json_parse_error"), "{result}");
        server.assert_well_formed();
    }
}

#[tokio::test]
async fn calls_outside_of_target_tools_are_not_repaired() {
    let fixing = FormatFixing {
        target_tools: TargetTools::named(["Eager"]),
        ..FormatFixing::default()
    };
    breaks_text_that_is_not_json(fixing.clone()).await;
    let server = ChatServer::new([answer("", &[["Eager", PYTHON]])]);
    let reply = chat(true).say(&lab(server, Some(fixing)), "go").await;
    assert_eq!(reply.content()[0]["input"], json!({ "n": 1 }));
}

#[tokio::test]
async fn no_call_is_repaired_with_enabled_off() {
    let fixing = FormatFixing {
        enabled: false,
        ..FormatFixing::for_every_tool()
    };
    breaks_text_that_is_not_json(fixing).await;
}

#[tokio::test]
async fn strict_validation_is_always_on() {
    let fixing = FormatFixing {
        strict_validation: false,
        ..FormatFixing::for_every_tool()
    };
    let server = ChatServer::new([answer("", &[["Held", PYTHON]])]);
    let reply = chat(true).say(&lab(server, Some(fixing)), "go").await;
    assert_eq!(reply.content()[0]["input"], json!({ "n": 1 }));
}

#[tokio::test]
async fn a_broken_call_ends_the_turn_without_fallback() {
    for is_stream in [false, true] {
        for (call, code) in [
            (["Held", "{n"], "json_parse_error"),
            (["Held", "[1]"], "arguments_not_object"),
            (["Hold", "{}"], "unknown_tool"),
        ] {
            let server = ChatServer::new([answer("Try.", &[call]), answer("Done.", &[])]);
            let lab = lab(server.clone(), Some(without_fallback()));
            let reply = chat(is_stream).say(&lab, "go").await;
            let (kind, message) = reply.error();
            let expected = format!("the model's call of `{}` cannot be read: {code}:", call[0]);
            assert!(
                kind == "api_error" && message.starts_with(&expected),
                "{kind} {message}"
            );
            assert_eq!(reply.status.as_u16(), if is_stream { 200 } else { 502 });
            assert_eq!(server.asked(), 1);
        }
    }
}
