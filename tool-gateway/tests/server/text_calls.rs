//! Tool calls that arrive as text.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::{OpenAiUpstream, TextCallRules, TextCalls, Upstream, UpstreamFuture};
use tool_runtime::issue::Code;
use tool_runtime::permission::{Decision, Permission, PermissionRequest};
use tool_runtime::repair::FormatFixing;
use tool_runtime::repair::calls::Formats;
use tool_runtime::{Context, FromText, ToolDefinition, ToolRegistry};

use crate::lab::{Chat, Lab, Runs, Whole, call, post, registry, says, schema, text, user};
use crate::reply;
use crate::test_script::TestScript;

/// Builds a call of a tool in the format of Hermes.
fn markup(name: &str, key: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{\"key\": \"{key}\"}}}}\n</tool_call>")
}

fn rules() -> TextCallRules {
    TextCallRules::new(Formats::ALL)
}

fn lab_over<U: Upstream>(
    turns: &Value,
    upstream: impl FnOnce(TestScript) -> U,
    configure: impl FnOnce(Gateway) -> Gateway,
) -> Lab {
    let script = TestScript::from_json(&json!({ "turns": turns, "order": "requests" }).to_string()).unwrap();
    let runs = Runs::default();
    let gateway = Gateway::new(registry(&runs), upstream(script.clone()));
    let gateway = gateway.with_deferred(["later"]).unwrap();
    Lab {
        app: configure(gateway).router(),
        script,
        runs,
    }
}

/// A gateway before a server of the Messages API.
fn lab(turns: &Value) -> Lab {
    lab_over(turns, |script| TextCalls::new(script, rules()), |gateway| gateway)
}

/// A gateway before a server of Chat Completions.
fn chat_lab(turns: &Value) -> Lab {
    let upstream = |script| TextCalls::new(OpenAiUpstream::over(script), rules());
    lab_over(turns, upstream, |gateway| gateway)
}

async fn metrics(lab: &Lab) -> String {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let bytes = reply::bytes(lab.send(request).await.into_body()).await;
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_call_in_text_is_a_call_of_the_client() {
    let says_call = says(&[text(&format!("I ask.\n\n{}", markup("weather", "a")))]);
    let turns = json!([says_call, says(&[text("Done.")])]);
    for is_stream in [false, true] {
        for lab in [lab(&turns), chat_lab(&turns)] {
            let mut chat = Chat::new(is_stream);
            let reply = chat.say(&lab, "go").await;
            assert_eq!(reply.shape(), ["text", "weather"], "{}", reply.message);
            assert_eq!(
                (reply.text().as_str(), reply.stop_reason()),
                ("I ask.", "tool_use")
            );
            assert_eq!(reply.content()[1]["input"], json!({ "key": "a" }));
            assert!(reply.ids()[0].starts_with("toolu_"));
            assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
            // The model sees its call as a call: markup in a history is imitated.
            let requests = lab.script.requests();
            let last = requests.last().unwrap();
            let body = String::from_utf8(last.body.to_vec()).unwrap();
            assert!(!body.contains("tool_call>"), "{body}");
            assert!(
                body.contains("from the client") && body.contains(r#"{\"key\": \"a\"}"#)
                    || body.contains(r#"{"key": "a"}"#),
                "{body}"
            );
            let metrics = metrics(&lab).await;
            let line = "tool_gateway_text_calls_total{format=\"tags\",outcome=\"recovered\"} 1";
            assert!(metrics.contains(line), "{metrics}");
        }
    }
}

#[tokio::test]
async fn a_call_in_text_of_a_tool_of_the_gateway_runs() {
    let turns = json!([
        says(&[text(&markup("lookup", "a"))]),
        says(&[text(&format!(
            "{}\n{}",
            markup("write", "b"),
            markup("weather", "c")
        ))]),
        says(&[text("Done.")]),
    ]);
    for is_stream in [false, true] {
        for lab in [lab(&turns), chat_lab(&turns)] {
            let mut chat = Chat::new(is_stream);
            let reply = chat.say(&lab, "go").await;
            assert_eq!(reply.shape(), ["weather"], "{}", reply.message);
            assert_eq!(lab.runs.ended(), ["lookup a", "write b"]);
            assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
        }
        let lab = lab(&turns);
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        chat.answer(&lab, &reply).await;
        lab.assert_well_formed();
        lab.assert_one_prefix();
    }
}

#[tokio::test]
async fn an_explanation_runs_nothing_and_stays_unchanged() {
    let explanation = format!("Qwen writes `{}` at the end.\n", markup("lookup", "a"));
    let shown = format!("```\n{}\n```", markup("lookup", "a"));
    for is_stream in [false, true] {
        for said in [&explanation, &shown] {
            let turns = json!([says(&[text(said)])]);
            for lab in [lab(&turns), chat_lab(&turns)] {
                let reply = Chat::new(is_stream).say(&lab, "go").await;
                assert_eq!((reply.text(), reply.stop_reason()), (said.clone(), "end_turn"));
                assert_eq!(lab.runs.begun(), Vec::<String>::new());
            }
        }
    }
}

/// Requests without tools, and all requests with an empty list of formats.
#[tokio::test]
async fn messages_without_text_calls_pass_byte_for_byte() {
    let turns = json!([says(&[text(&markup("weather", "a"))])]);
    for is_stream in [false, true] {
        let with_tools = json!([{ "name": "weather", "input_schema": schema() }]);
        for (formats, tools) in [(Formats::ALL, None), (Formats::NONE, Some(with_tools.clone()))] {
            let upstream = |script| TextCalls::new(script, TextCallRules::new(formats));
            let lab = lab_over(&turns, upstream, |gateway| gateway);
            let mut body =
                json!({ "model": "m", "max_tokens": 1, "stream": is_stream, "messages": [user("go")] });
            if let Some(tools) = tools {
                body["tools"] = tools;
            }
            let response = lab.send(post("/v1/messages", &body, &[])).await;
            let passed = reply::bytes(response.into_body()).await;
            let direct = TestScript::from_json(&json!({ "turns": turns }).to_string()).unwrap();
            let request = Request::post("/v1/messages")
                .body(Bytes::from(body.to_string()))
                .unwrap();
            let direct = reply::bytes(direct.send(request).await.unwrap().into_body()).await;
            assert_eq!(passed, direct);
        }
    }
}

#[tokio::test]
async fn a_text_that_would_be_a_call_is_counted_if_no_format_is_set() {
    let turns = json!([says(&[text(&markup("weather", "a"))]), says(&[text("Done.")])]);
    for is_stream in [false, true] {
        // One message passes, one is a turn of the gateway.
        for tools in [json!([{ "name": "weather" }]), json!([{ "name": "lookup" }])] {
            let lab = lab_over(&turns, |script| script, |gateway| gateway);
            let mut chat = Chat::new(is_stream);
            chat.body["tools"] = tools;
            let reply = chat.say(&lab, "go").await;
            assert_eq!(reply.text(), markup("weather", "a"));
            chat.say(&lab, "go on").await;
            let metrics = metrics(&lab).await;
            let line = "tool_gateway_text_calls_total{format=\"tags\",outcome=\"off\"} 1";
            assert!(metrics.contains(line), "{metrics}");
        }
    }
}

#[tokio::test]
async fn only_texts_of_the_named_models_are_read() {
    let turns = json!([says(&[text(&markup("weather", "a"))])]);
    for (model, shape) in [("qwen3", "weather"), ("llama3", "text")] {
        let upstream = |script| TextCalls::new(script, rules().with_models(["qwen*"]));
        let lab = lab_over(&turns, upstream, |gateway| gateway);
        let mut chat = Chat::new(true);
        chat.body["model"] = model.into();
        assert_eq!(chat.say(&lab, "go").await.shape(), [shape]);
    }
}

/// Before a server of the Messages API, only recovered calls are coerced: the server checked the others.
#[tokio::test]
async fn recovered_calls_are_coerced_to_the_clients_schema() {
    let said = "<tool_call>{\"name\": \"count\", \"arguments\": {\"n\": \"42\"}}</tool_call>";
    let structured = json!({ "type": "tool_use", "id": "t", "name": "count", "input": { "n": "42" } });
    for is_stream in [false, true] {
        for (block, n) in [(text(said), json!(42)), (structured.clone(), json!("42"))] {
            let lab = lab(&json!([says(&[block])]));
            let mut chat = Chat::new(is_stream);
            let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
            chat.body["tools"] = json!([{ "name": "count", "input_schema": schema }]);
            let reply = chat.say(&lab, "go").await;
            assert_eq!(reply.content()[0]["input"]["n"], n, "{}", reply.message);
        }
    }
}

/// A tool, and a permission, that see which calls were text.
#[tokio::test]
async fn calls_in_text_are_marked_in_their_context() {
    let permission = Permission::new(async |request: PermissionRequest| {
        match (
            request.context.extension::<FromText>(),
            request.call.argument("key"),
        ) {
            (Some(_), Some(key)) if key == "denied" => Decision::Deny("not from text".to_owned()),
            _ => Decision::Allow,
        }
    });
    let mut registry = ToolRegistry::new().layer(permission);
    let definition = ToolDefinition::new("mark", "Returns the origin of the call.", schema());
    registry
        .register_dynamic(definition, async |_: Value, context: Context| {
            let origin = if context.extension::<FromText>().is_some() {
                "text"
            } else {
                "call"
            };
            Ok::<_, String>(origin)
        })
        .unwrap();
    let turns = json!([
        says(&[text(&format!(
            "{}{}",
            markup("mark", "a"),
            markup("mark", "denied")
        ))]),
        says(&[call("mark", "denied")]),
        says(&[text("Done.")]),
    ]);
    let script = TestScript::from_json(&json!({ "turns": turns, "order": "requests" }).to_string()).unwrap();
    let gateway = Gateway::new(registry, TextCalls::new(script.clone(), rules()));
    let lab = Lab {
        app: gateway.router(),
        script,
        runs: Runs::default(),
    };
    let mut chat = Chat::new(false);
    chat.body["tools"] = json!([{ "name": "mark" }]);
    assert_eq!(chat.say(&lab, "go").await.text(), "Done.");
    let messages = lab.last_seen()["messages"].clone();
    let results: Vec<_> = [2, 4]
        .into_iter()
        .flat_map(|at: usize| messages[at]["content"].as_array().unwrap().clone())
        .map(|result| result["content"].clone())
        .collect();
    assert_eq!(results, ["text", "not from text", "call"], "{messages:#}");
}

#[tokio::test]
async fn the_outcome_of_a_call_in_text_has_a_warning() {
    let runs = Runs::default();
    let registry = registry(&runs);
    let call = |context| tool_runtime::ToolCall::new("t", "lookup", r#"{"key":"a"}"#).with_context(context);
    let outcome = registry.call(call(Context::new().with_extension(FromText))).await;
    let codes: Vec<_> = outcome.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(codes, [Code::RecoveredFromText]);
    assert!(registry.call(call(Context::new())).await.warnings.is_empty());
}

/// An upstream that sends a text in pieces, with a pause before each.
#[derive(Debug)]
struct Slow {
    pieces: Vec<String>,
    pause: Duration,
}

impl Upstream for Slow {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let event = |event: Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
        let block = text("");
        let mut events = vec![
            event(
                json!({ "type": "message_start", "message": { "id": "m", "type": "message", "role": "assistant",
                "content": [], "usage": { "input_tokens": 1 } } }),
            ) + &event(json!({ "type": "content_block_start", "index": 0, "content_block": block })),
        ];
        events.extend(self.pieces.iter().map(|text| {
            let delta = json!({ "type": "text_delta", "text": text });
            event(json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
        }));
        let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
        events.push(
            event(json!({ "type": "content_block_stop", "index": 0 }))
                + &event(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 1 } }))
                + &event(json!({ "type": "message_stop" })),
        );
        let pause = self.pause;
        let events = stream::unfold(events.into_iter(), move |mut events| async move {
            tokio::time::sleep(pause).await;
            let event = events.next()?;
            Some((Ok::<_, std::convert::Infallible>(event), events))
        });
        let response = Response::builder().header("content-type", "text/event-stream");
        let response = response.body(Body::from_stream(events)).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "slow".to_owned()
    }
}

fn slow_lab(pieces: Vec<String>, pause: Duration) -> Lab {
    let runs = Runs::default();
    let upstream = TextCalls::new(Slow { pieces, pause }, rules());
    Lab {
        app: Gateway::new(registry(&runs), upstream).router(),
        script: TestScript::embedded(),
        runs,
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_gets_pings_while_a_call_is_held() {
    // Each piece arrives before the idle timeout of 10 s would end, and before the interval of pings.
    let pieces = markup("weather", "a").chars().map(String::from).collect();
    let reply = Chat::new(true)
        .say(&slow_lab(pieces, Duration::from_secs(4)), "go")
        .await;
    assert_eq!(reply.shape(), ["weather"], "{}", reply.message);
    let events = reply::events(&reply.body);
    let pings = events.iter().filter(|event| event["type"] == "ping").count();
    // 73 characters in 292 s, with a ping every 10 s.
    assert!((20..=30).contains(&pings), "{pings}");
    let first_call = events
        .iter()
        .position(|event| event["type"] == "content_block_start")
        .unwrap();
    assert!(
        events[first_call..].iter().all(|event| event["type"] != "ping"),
        "{events:#?}"
    );
}

#[tokio::test]
async fn the_arguments_of_a_call_leave_in_small_deltas() {
    let key = "é".repeat(40_000);
    let reply = Chat::new(true)
        .say(&slow_lab(vec![markup("weather", &key)], Duration::ZERO), "go")
        .await;
    assert_eq!(reply.content()[0]["input"]["key"], key);
    let events = reply::events(&reply.body);
    let deltas = events
        .iter()
        .filter_map(|event| event["delta"]["partial_json"].as_str());
    assert!(deltas.clone().count() > 4 && deltas.clone().all(|delta| delta.len() <= 16 << 10));
}

#[tokio::test]
async fn a_whole_message_with_a_call_in_text_is_read() {
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{ "type": "thinking", "thinking": "t", "signature": "s" }, text(&format!("Hm. {}", markup("weather", "a")))],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } });
    for is_stream in [false, true] {
        let runs = Runs::default();
        let upstream = TextCalls::new(Whole::new([message.clone()]), rules());
        let lab = Lab {
            app: Gateway::new(registry(&runs), upstream).router(),
            script: TestScript::embedded(),
            runs,
        };
        let reply = Chat::new(is_stream).say(&lab, "go").await;
        assert_eq!(
            reply.shape(),
            ["thinking", "text", "weather"],
            "{}",
            reply.message
        );
        assert_eq!((reply.text().as_str(), reply.stop_reason()), ("Hm.", "tool_use"));
    }
}

/// A deferred call is stored, and keeps its mark.
#[tokio::test]
async fn a_deferred_call_in_text_runs_after_the_clients_results() {
    let said = format!("{}{}", markup("later", "a"), markup("weather", "b"));
    let lab = lab(&json!([says(&[text(&said)]), says(&[text("Done.")])]));
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(reply.shape(), ["weather"]);
    assert_eq!(lab.runs.ended(), Vec::<String>::new());
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
    assert_eq!(lab.runs.ended(), ["later a"]);
    lab.assert_well_formed();
}

/// `/v1/chat/completions`, with and without the repair of arguments.
#[tokio::test]
async fn a_completion_with_a_call_in_text_has_a_call() {
    let turns = json!([says(&[text(&format!("I ask.\n{}", markup("weather", "a")))])]);
    for is_stream in [false, true] {
        for is_repaired in [false, true] {
            for formats in [Formats::ALL, Formats::NONE] {
                let mut fixing = FormatFixing::for_every_tool();
                fixing.enabled = is_repaired;
                let upstream = |script| TextCalls::new(script, TextCallRules::new(formats));
                let lab = lab_over(&turns, upstream, |gateway| gateway.with_format_fixing(fixing));
                let tools = json!([{ "type": "function", "function": { "name": "weather", "parameters": schema() } }]);
                let body =
                    json!({ "model": "m", "stream": is_stream, "tools": tools, "messages": [user("go")] });
                let response = lab.send(post("/v1/chat/completions", &body, &[])).await;
                assert_eq!(response.status(), 200);
                let body = reply::bytes(response.into_body()).await;
                let body = String::from_utf8(body.to_vec()).unwrap();
                let is_call = body.contains("\"finish_reason\":\"tool_calls\"");
                assert_eq!(is_call, !formats.is_empty(), "{body}");
                assert_eq!(body.contains("tool_call>"), formats.is_empty(), "{body}");
                assert!(body.contains("I ask."), "{body}");
            }
        }
    }
}

/// Thoughts in tags and a call in one text.
#[tokio::test]
async fn split_thoughts_are_thinking_before_a_call_in_text() {
    let said = format!("<think>\nHm.\n</think>\n\nI ask.\n{}", markup("weather", "a"));
    let turns = json!([says(&[text(&said)]), says(&[text("Done.")])]);
    for is_stream in [false, true] {
        for is_split in [false, true] {
            let upstream = |script| {
                let server = OpenAiUpstream::over(script);
                let server = if is_split {
                    server.with_split_thoughts(["*"])
                } else {
                    server
                };
                TextCalls::new(server, rules())
            };
            let lab = lab_over(&turns, upstream, |gateway| gateway);
            let mut chat = Chat::new(is_stream);
            chat.body["thinking"] = json!({ "type": "enabled", "budget_tokens": 1024 });
            let reply = chat.say(&lab, "go").await;
            if is_split {
                assert_eq!(
                    reply.shape(),
                    ["thinking", "text", "weather"],
                    "{}",
                    reply.message
                );
                assert_eq!(reply.content()[0]["thinking"], "\nHm.\n");
                assert_eq!(reply.text(), "\n\nI ask.");
            } else {
                assert_eq!(reply.text(), "<think>\nHm.\n</think>\n\nI ask.");
            }
            assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
            // The server gets its own text again, without the markup.
            let requests = lab.script.requests();
            let last = requests.last().unwrap().json().unwrap();
            let message = &last["messages"][1];
            assert_eq!(
                message["content"], "<think>\nHm.\n</think>\n\nI ask.",
                "{message}"
            );
            assert_eq!(message["tool_calls"][0]["function"]["name"], "weather");
        }
    }
}
