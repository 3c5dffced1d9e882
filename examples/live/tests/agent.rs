//! The agent on servers that need no key: a strict server, and the gateway with a script as its upstream.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use strict_api::StrictServer;

fn agent(api: &str, url: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_live"))
        .arg("How warm is it in Paris?")
        .env("LIVE_API", api)
        .env("LIVE_URL", url)
        .env("LIVE_MODEL", "demo")
        .output()
        .unwrap()
}

fn printed(output: &Output) -> String {
    let fault = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{fault}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Builds a stream of the Messages API.
fn messages(block: Value, delta: Value, stop_reason: &str) -> String {
    let usage = json!({ "input_tokens": 9, "output_tokens": 1 });
    let start = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage });
    [
        json!({ "type": "message_start", "message": start }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop_reason }, "usage": { "output_tokens": 5 } }),
        json!({ "type": "message_stop" }),
    ]
    .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
    .concat()
}

/// Builds a stream of Chat Completions.
fn chat(delta: Value, finish_reason: &str) -> String {
    let choices = [(delta, Value::Null), (json!({}), finish_reason.into())];
    let chunks = choices.map(|(delta, reason)| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        format!(
            "data: {}\n\n",
            json!({ "id": "c", "model": "m", "choices": [choice] })
        )
    });
    chunks.concat() + "data: [DONE]\n\n"
}

fn text(text: &str, stop_reason: &str) -> String {
    let block = json!({ "type": "text", "text": "" });
    messages(block, json!({ "type": "text_delta", "text": text }), stop_reason)
}

#[test]
fn runs_on_a_strict_server_of_the_messages_api() {
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {} });
    let arguments = json!({ "type": "input_json_delta", "partial_json": "{'city': 'Paris'}" });
    let server = StrictServer::start([messages(call, arguments, "tool_use"), text("Warm.", "end_turn")]);
    assert!(printed(&agent("messages", &server.url())).ends_with("Warm.\n"));
    let requests = server.requests();
    assert_eq!(
        requests[1]["messages"][2]["content"][0]["content"],
        "Paris: 21 °C, a light breeze from the west"
    );
}

#[test]
fn runs_on_a_strict_server_of_chat_completions() {
    let function = json!({ "name": "get_weather", "arguments": "{'city': 'Paris'}" });
    let call =
        json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] });
    let server = StrictServer::start([
        chat(call, "tool_calls"),
        chat(json!({ "content": "Warm." }), "stop"),
    ]);
    assert!(printed(&agent("chat", &server.url())).ends_with("Warm.\n"));
    assert_eq!(
        server.requests()[1]["messages"][2]["content"],
        "Paris: 21 °C, a light breeze from the west"
    );
}

#[test]
fn fails_if_the_answer_has_no_end() {
    for (api, answer) in [
        ("messages", text("Wa", "max_tokens")),
        ("chat", chat(json!({ "content": "Wa" }), "length")),
    ] {
        let server = StrictServer::start([answer]);
        let output = agent(api, &server.url());
        assert!(!output.status.success(), "{api}");
        let fault = String::from_utf8_lossy(&output.stderr);
        assert!(fault.contains("the model stopped early"), "{api}: {fault}");
    }
}

/// Ends the program at the end of the test.
struct Gateway(Child);

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The script calls the agent's tool and the gateway's tool, of which the agent sees only its own. `TOOL_GATEWAY` is the path of the
/// program.
#[test]
fn runs_on_the_gateway() {
    let Ok(program) = std::env::var("TOOL_GATEWAY") else {
        eprintln!("ignored: TOOL_GATEWAY names no program");
        return;
    };
    let mut gateway = Command::new(program)
        .args([
            "serve",
            "--upstream-kind",
            "script",
            "--offer",
            "always",
            "--listen",
            "127.0.0.1:0",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(gateway.stderr.take().unwrap()).lines();
    let _gateway = Gateway(gateway);
    let url = log.find_map(|line| Some(line.unwrap().strip_prefix("listening on ")?.to_owned()));
    let url = url.unwrap();
    for api in ["messages", "chat"] {
        let printed = printed(&agent(api, &url));
        // Chat Completions pass through, so a call of a tool that the agent lacks reaches the agent.
        assert!(printed.contains("[get_weather]"), "{api}: {printed}");
        assert_eq!(printed.contains("TodoWrite"), api == "chat", "{printed}");
        assert!(
            printed.contains("I looked up the weather in Paris for you"),
            "{api}: {printed}"
        );
    }
}
