//! Long conversations with interruptions: cut-off upstream responses, and clients that disconnect and return.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, Bytes};
use axum::http::Request;
use futures_util::stream;
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::{Upstream, UpstreamFuture};

use crate::lab::{
    Chat, Lab, Runs, assistant, post, registry, result, says, slow_call, text, thinking, user, well_formed,
};
use crate::reply;
use crate::test_script::TestScript;

/// Deterministic pseudo-random numbers.
struct Dice(AtomicU64);

impl Dice {
    fn below(&self, limit: u64) -> u64 {
        let step = |seed: u64| {
            Some(
                seed.wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407),
            )
        };
        let seed = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, step)
            .unwrap();
        (seed >> 33) % limit
    }
}

/// A script whose responses are cut off at random.
struct Flaky {
    script: TestScript,
    dice: Dice,
}

impl Upstream for Flaky {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        Box::pin(async move {
            let mut response = self.script.send(request).await?;
            match self.dice.below(6) {
                0 => {
                    let bytes = reply::bytes(std::mem::take(response.body_mut())).await;
                    let cut = usize::try_from(self.dice.below(bytes.len() as u64)).unwrap();
                    let broken = Err(std::io::Error::other("broken"));
                    *response.body_mut() = Body::from_stream(stream::iter([Ok(bytes.slice(..cut)), broken]));
                }
                1 => {
                    let kind = axum::http::HeaderValue::from_static("application/json");
                    response.headers_mut().insert("content-type", kind);
                    *response.status_mut() = axum::http::StatusCode::from_u16(529).unwrap();
                    *response.body_mut() = Body::from(
                        r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                    );
                }
                _ => {}
            }
            Ok(response)
        })
    }

    fn name(&self) -> String {
        "flaky".to_owned()
    }
}

fn script(dice: &Dice) -> Value {
    let turns = (0..60).map(|turn| {
        let mut blocks = vec![thinking(&format!("s{turn}"))];
        for place in 0..dice.below(4) {
            let key = format!("{turn}_{place}");
            blocks.push(match dice.below(6) {
                0 => text(&format!("text {key}")),
                1 => slow_call("lookup", &key, dice.below(20)),
                2 => slow_call("write", &key, dice.below(20)),
                3 => slow_call("later", &key, dice.below(20)),
                _ => slow_call("weather", &key, 0),
            });
        }
        if !blocks.iter().any(|block| block["type"] == "tool_use") {
            blocks.push(text(&format!("end {turn}")));
        }
        says(&blocks)
    });
    json!({ "turns": turns.collect::<Vec<_>>() })
}

/// Sends the conversation until it is answered, with random disconnects.
async fn insist(lab: &Lab, chat: &Chat, dice: &Dice) -> Value {
    for attempt in 0..100 {
        let headers: &[(&str, &str)] = if attempt > 0 && dice.below(2) == 0 {
            &[("x-stainless-retry-count", "1")]
        } else {
            &[]
        };
        let answered =
            async { reply::Reply::read(lab.send(post("/v1/messages", &chat.body, headers)).await).await };
        // A client with the whole answer has not disconnected early.
        let patience = if dice.below(4) == 0 {
            dice.below(20)
        } else {
            60_000
        };
        let Ok(reply) = tokio::time::timeout(std::time::Duration::from_millis(patience), answered).await
        else {
            continue;
        };
        if !reply.is_error() {
            return reply.message;
        }
    }
    panic!("no answer");
}

#[tokio::test]
async fn conversations_survive_broken_streams_and_abandoned_requests() {
    for seed in 0..20 {
        let dice = Dice(AtomicU64::new(seed * 7919 + 1));
        let script = TestScript::from_json(&script(&dice).to_string()).unwrap();
        let runs = Runs::default();
        let flaky = Flaky {
            script: script.clone(),
            dice: Dice(AtomicU64::new(seed)),
        };
        let gateway = Gateway::new(registry(&runs), flaky)
            .with_deferred(["later"])
            .unwrap()
            .with_max_rounds(2);
        let lab = Lab {
            app: gateway.router(),
            script,
            runs,
        };
        let mut chat = Chat::new(seed % 2 == 0);
        chat.messages().push(user("go"));
        for _ in 0..10 {
            let message = insist(&lab, &chat, &dice).await;
            let content = message["content"].clone();
            let calls = content
                .as_array()
                .unwrap()
                .iter()
                .filter(|block| block["type"] == "tool_use");
            let results: Vec<_> = calls
                .map(|call| result(call["id"].as_str().unwrap(), "from the client"))
                .collect();
            chat.messages().push(assistant(content));
            match message["stop_reason"].as_str().unwrap() {
                "tool_use" => chat.messages().push(user(results)),
                "pause_turn" if dice.below(2) == 0 => {}
                _ => chat.messages().push(user("go on")),
            }
        }
        let mut times = BTreeMap::new();
        for run in lab.runs.ended() {
            *times.entry(run).or_insert(0) += 1;
        }
        for (run, times) in times {
            assert!(
                times == 1 || run.starts_with("lookup"),
                "{seed}: {run} ran {times} times"
            );
        }
        for body in lab.seen() {
            well_formed(body["messages"].as_array().unwrap());
        }
        let messages = lab.seen_messages();
        let longest = messages.iter().max_by_key(|messages| messages.len()).unwrap();
        for shorter in &messages {
            assert!(
                longest.starts_with(shorter),
                "{seed}: another prefix\n{}\n\n{}",
                shorter.join("\n"),
                longest.join("\n")
            );
        }
    }
}
