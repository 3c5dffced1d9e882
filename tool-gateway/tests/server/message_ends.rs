//! The end of the client's message: the fields of all `message_delta` events and of all rounds.

use serde_json::{Value, json};

use crate::lab::{Chat, call, text};
use crate::raw::{self, Raw, lookup_block, start, text_block};
use crate::reply::Reply;

/// Builds the end of a message in two events, the second of which has only usage.
fn two_ends(stop_reason: &str, second_delta: &Value) -> [Value; 3] {
    let mut second =
        json!({ "type": "message_delta", "usage": { "input_tokens": null, "output_tokens": 7 } });
    if !second_delta.is_null() {
        second["delta"] = second_delta.clone();
    }
    [
        json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop_reason, "stop_sequence": null },
            "usage": { "output_tokens": 5 },
        }),
        second,
        json!({ "type": "message_stop" }),
    ]
}

async fn ask(upstream: &Raw, is_stream: bool) -> Reply {
    let lab = upstream.lab(|gateway| gateway);
    Chat::new(is_stream).say(&lab, "go").await
}

#[tokio::test]
async fn later_ends_of_a_message_erase_nothing() {
    for second in [json!(null), json!({}), json!({ "stop_reason": null })] {
        for is_stream in [true, false] {
            let first = [
                vec![start()],
                lookup_block(0, "a").to_vec(),
                two_ends("tool_use", &second).to_vec(),
            ];
            let last = [
                vec![start()],
                text_block(0, "Done.").to_vec(),
                two_ends("end_turn", &second).to_vec(),
            ];
            let upstream = Raw::new([raw::stream(&first.concat()), raw::stream(&last.concat())]);
            let reply = ask(&upstream, is_stream).await;
            assert_eq!(
                (reply.text(), reply.stop_reason()),
                ("Done.".to_owned(), "end_turn")
            );
            assert_eq!(upstream.seen().len(), 2, "the call ran");
            let usage = &reply.message["usage"];
            assert_eq!(
                (&usage["input_tokens"], &usage["output_tokens"]),
                (&json!(20), &json!(14))
            );
        }
    }
}

/// Converts a message that is not streamed to the events of a stream.
fn streamed(message: &Value) -> Vec<Value> {
    let mut events = vec![start()];
    events[0]["message"]["usage"] = message["usage"].clone();
    for (index, block) in message["content"].as_array().unwrap().iter().enumerate() {
        let [start, delta, stop] = match block["text"].as_str() {
            Some(text) => text_block(index, text),
            None => lookup_block(index, block["input"]["key"].as_str().unwrap()),
        };
        events.extend([start, delta, stop]);
    }
    events.push(json!({
        "type": "message_delta",
        "delta": { "stop_reason": message["stop_reason"], "stop_sequence": null, "container": message["container"] },
        "usage": { "output_tokens": message["usage"]["output_tokens"] },
        "context_management": message["context_management"],
    }));
    events.push(json!({ "type": "message_stop" }));
    events
}

/// Builds three rounds of a conversation, each of which reads 100 tokens from the cache.
fn rounds() -> [Value; 3] {
    let message = |content: Value, stop_reason: &str, container: Value, edits: Value| {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [content],
            "stop_reason": stop_reason, "stop_sequence": null, "container": container, "context_management": edits,
            "usage": { "input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": null },
        })
    };
    let edit = |tokens: u64| json!({ "applied_edits": [{ "type": "clear_tool_uses_20250919", "cleared_input_tokens": tokens }] });
    [
        message(
            call("lookup", "a"),
            "tool_use",
            json!({ "id": "container_1" }),
            edit(1),
        ),
        message(call("lookup", "b"), "tool_use", json!(null), edit(2)),
        message(text("Done."), "end_turn", json!(null), json!(null)),
    ]
}

#[tokio::test]
async fn container_edits_and_usage_of_all_rounds_are_in_the_end() {
    for is_streamed in [true, false] {
        for is_stream in [true, false] {
            let responses = rounds().map(|message| {
                if is_streamed {
                    raw::stream(&streamed(&message))
                } else {
                    raw::whole(&message)
                }
            });
            let upstream = Raw::new(responses);
            let reply = ask(&upstream, is_stream).await;
            let message = &reply.message;
            assert_eq!(message["container"], json!({ "id": "container_1" }), "{message}");
            if !is_stream {
                let edits = &message["context_management"]["applied_edits"];
                let tokens = edits
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|edit| &edit["cleared_input_tokens"]);
                assert_eq!(tokens.collect::<Vec<_>>(), [1, 2], "{message}");
            }
            let events = String::from_utf8_lossy(&reply.body);
            assert!(
                events.contains(r#""cleared_input_tokens":1},{"#),
                "the edits of both rounds are one list: {events}"
            );
            let usage = &message["usage"];
            assert_eq!(usage["cache_read_input_tokens"], 300);
            let round = json!({
                "type": "message", "input_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 100,
                "output_tokens": 5,
            });
            assert_eq!(usage["iterations"], json!([round, round, round]));
        }
    }
}

#[tokio::test]
async fn one_round_has_the_usage_of_the_upstream() {
    let compaction = json!({ "type": "compaction", "input_tokens": 90, "output_tokens": 4 });
    for iterations in [json!(null), json!([compaction])] {
        let mut message = rounds()[2].clone();
        message["usage"]["iterations"] = iterations.clone();
        for is_stream in [true, false] {
            let upstream = Raw::new([raw::whole(&message)]);
            let reply = ask(&upstream, is_stream).await;
            assert_eq!(reply.message["usage"]["iterations"], iterations);
        }
    }
}

#[tokio::test]
async fn samplings_of_the_upstream_are_entries_of_their_own() {
    let mut messages = rounds();
    let compaction = json!({ "type": "compaction", "input_tokens": 90, "output_tokens": 4 });
    let sampling = json!({ "type": "message", "input_tokens": 3, "output_tokens": 5 });
    messages[0]["usage"]["iterations"] = json!([compaction, sampling]);
    let upstream = Raw::new(messages.map(|message| raw::whole(&message)));
    let reply = ask(&upstream, false).await;
    let iterations = reply.message["usage"]["iterations"].as_array().unwrap();
    assert_eq!(iterations.len(), 4, "{iterations:?}");
    assert_eq!(iterations[..2], [compaction, sampling]);
}
