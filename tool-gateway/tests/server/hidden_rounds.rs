//! Hidden rounds after messages in forms that the API or other servers send, but do not accept unchanged in a request.

use serde_json::{Value, json};

use crate::lab::{Chat, call, says, text};
use crate::raw::{self, Raw, block, end, lookup_block, message, start, text_block};
use crate::reply::Reply;

/// Returns the messages of the second request that follow the messages of the first request.
fn hidden_round(upstream: &Raw) -> Vec<Value> {
    let body = upstream.seen().remove(1);
    body["messages"].as_array().unwrap()[1..].to_vec()
}

async fn ask(upstream: &Raw, is_stream: bool) -> Reply {
    let lab = upstream.lab(|gateway| gateway);
    Chat::new(is_stream).say(&lab, "go").await
}

#[tokio::test]
async fn white_space_before_a_call_does_not_go_up() {
    for blank in ["\n\n", ""] {
        for is_streamed in [true, false] {
            let first = if is_streamed {
                message(&[&text_block(0, blank), &lookup_block(1, "a")], "tool_use")
            } else {
                raw::whole(
                    &json!({ "content": [text(blank), call("lookup", "a")], "stop_reason": "tool_use", "usage": {} }),
                )
            };
            let upstream = Raw::new([first, message(&[&text_block(0, "Done.")], "end_turn")]);
            ask(&upstream, is_streamed).await;
            let round = hidden_round(&upstream);
            assert_eq!(round[0]["content"], json!([call("lookup", "a")]));
        }
    }
}

/// White space in the visible message does not hide the session.
#[tokio::test]
async fn a_message_with_white_space_is_recognized() {
    for is_stream in [true, false] {
        let first = message(&[&text_block(0, "\n\n"), &lookup_block(1, "a")], "tool_use");
        let second = message(&[&text_block(0, "Done."), &text_block(1, " ")], "end_turn");
        let third = message(&[&text_block(0, "Bye.")], "end_turn");
        let upstream = Raw::new([first, second, third]);
        let lab = upstream.lab(|gateway| gateway);
        let mut chat = Chat::new(is_stream);
        chat.say(&lab, "go").await;
        let reply = chat.say(&lab, "on").await;
        assert_eq!(reply.session().1, "chain");
        let seen = upstream.seen();
        let messages = seen[2]["messages"].as_array().unwrap();
        assert_eq!(messages[1]["content"], json!([call("lookup", "a")]));
        assert_eq!(messages[3]["content"], json!([text("Done.")]));
    }
}

#[tokio::test]
async fn arguments_in_other_forms_run_or_are_an_error_for_the_model() {
    for (input, expected) in [
        (json!(null), "lookup of none"),
        (json!("{\"key\":\"a\"}"), "lookup of a"),
        (json!("nothing"), "error"),
        (json!([1]), "error"),
    ] {
        for is_streamed in [true, false] {
            let call = json!({ "type": "tool_use", "id": "up_a", "name": "lookup", "input": input });
            let first = if is_streamed {
                let [start, _, stop] = block(0, &call, &json!({}));
                message(&[&[start, stop]], "tool_use")
            } else {
                raw::whole(&json!({ "content": [call], "stop_reason": "tool_use", "usage": {} }))
            };
            let upstream = Raw::new([first, message(&[&text_block(0, "Done.")], "end_turn")]);
            let reply = ask(&upstream, is_streamed).await;
            assert_eq!(reply.text(), "Done.", "{}", reply.message);
            let round = hidden_round(&upstream);
            assert!(round[0]["content"][0]["input"].is_object(), "{round:#?}");
            let result = &round[1]["content"][0];
            match expected {
                "error" => assert_eq!(result["is_error"], true, "{round:#?}"),
                expected => assert_eq!(result["content"], expected, "{round:#?}"),
            }
        }
    }
}

#[tokio::test]
async fn equal_ids_become_unique() {
    let first = message(&[&lookup_block(0, "a"), &lookup_block(1, "a")], "tool_use");
    let again = message(&[&lookup_block(0, "a")], "tool_use");
    let upstream = Raw::new([first, again, message(&[&text_block(0, "Done.")], "end_turn")]);
    ask(&upstream, false).await;
    let seen = upstream.seen().remove(2);
    let messages = seen["messages"].as_array().unwrap();
    let blocks = messages
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten();
    let ids = |field: &str| -> Vec<Value> {
        let ids = blocks.clone().map(|block| block[field].clone());
        ids.filter(Value::is_string).collect()
    };
    let calls = ids("id");
    assert_eq!((calls.len(), &calls[0]), (3, &json!("up_a")));
    assert!(
        calls[1] != calls[0] && calls[2] != calls[0] && calls[1] != calls[2],
        "{calls:?}"
    );
    assert_eq!(calls, ids("tool_use_id"));
}

/// Code execution of the upstream is pending, and continues only in its container.
#[tokio::test]
async fn next_round_uses_the_container_of_the_response() {
    for is_streamed in [true, false] {
        for (sent, expected) in [
            (json!(null), json!("container_2")),
            (json!("container_1"), json!("container_2")),
            (
                json!({ "skills": [{ "type": "anthropic" }], "id": null }),
                json!({ "skills": [{ "type": "anthropic" }], "id": "container_2" }),
            ),
        ] {
            let container = json!({ "id": "container_2", "expires_at": "2026-11-27T00:00:00Z" });
            let first = if is_streamed {
                let [mut last, stop] = end("tool_use");
                last["delta"]["container"] = container;
                let events = [vec![start()], lookup_block(0, "a").to_vec(), vec![last, stop]];
                raw::stream(&events.concat())
            } else {
                raw::whole(
                    &json!({ "content": [call("lookup", "a")], "stop_reason": "tool_use", "usage": {}, "container": container }),
                )
            };
            let second = raw::whole(
                &json!({ "content": [call("lookup", "b")], "stop_reason": "tool_use", "usage": {} }),
            );
            let last = message(&[&text_block(0, "Done.")], "end_turn");
            let upstream = Raw::new([first, second, last]);
            let lab = upstream.lab(|gateway| gateway);
            let mut chat = Chat::new(is_streamed);
            if !sent.is_null() {
                chat.body["container"] = sent.clone();
            }
            chat.say(&lab, "go").await;
            let containers: Vec<_> = upstream
                .seen()
                .iter()
                .map(|body| body["container"].clone())
                .collect();
            assert_eq!(containers, [sent, expected.clone(), expected]);
        }
    }
}

/// Otherwise blocks would be merged, or a call would have the arguments of another.
#[tokio::test]
async fn events_out_of_order_are_an_error() {
    let again = lookup_block(0, "a");
    let [_, piece, stop] = text_block(1, "b");
    let cases = [
        (
            [&[start()][..], &lookup_block(0, "a"), &again].concat(),
            "duplicate block index 0 in the upstream's response",
        ),
        (
            [&[start()][..], &lookup_block(0, "a"), &[piece]].concat(),
            "missing `content_block_start` of the block 1 in the upstream's response",
        ),
        (
            [&[start()][..], &lookup_block(0, "a"), &[stop]].concat(),
            "missing `content_block_start` of the block 1 in the upstream's response",
        ),
        (
            lookup_block(0, "a").to_vec(),
            "missing `message_start` in the upstream's response",
        ),
    ];
    for (events, expected) in cases {
        let stream = raw::stream(&[events, end("tool_use").to_vec()].concat());
        for is_stream in [true, false] {
            let upstream = Raw::new([stream.clone()]);
            let lab = upstream.lab(|gateway| gateway);
            let reply = Chat::new(is_stream).say(&lab, "go").await;
            assert_eq!(reply.error(), ("api_error", expected));
            assert!(lab.runs.begun().is_empty());
            // Without internal tools, the message passes, and is stored unchanged.
            let next = raw::whole(&json!({ "content": [text("a")], "usage": {} }));
            let upstream = Raw::new([stream.clone(), next]);
            let lab = upstream.lab(|gateway| gateway);
            let mut chat = Chat::new(true);
            chat.body["tools"] = json!([]);
            chat.messages().push(json!({ "role": "user", "content": "go" }));
            let passed = lab.send(crate::lab::post("/v1/messages", &chat.body, &[])).await;
            assert_eq!(crate::reply::bytes(passed.into_body()).await, stream.body());
        }
    }
}

#[tokio::test]
async fn oracle_accepts_every_upstream_request() {
    let blank = says(&[text(" \n"), call("lookup", "a"), call("lookup", "a")]);
    let lab = crate::lab::Lab::in_order(json!([blank.clone(), blank, says(&[text("Done.")])]));
    let mut chat = Chat::new(true);
    let lookup = json!({ "name": "lookup", "input_schema": { "type": "object" } });
    chat.body["tools"] = json!([lookup]);
    chat.say(&lab, "go").await;
    for body in lab.seen() {
        assert_eq!(strict_api::check("/v1/messages", &body, &[]), Ok(()), "{body:#}");
    }
}
