//! Further faults of the upstream, row by row as `docs/faults.md` has them: messages, errors and refusals in unusual forms, and overloads in the
//! middle of a stream.

use std::io::Write as _;

use axum::body::Body;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tool_gateway::upstream::AnthropicUpstream;

use crate::fault_rows::{Log, Row, row};
use crate::faults::{Answers, START, chat, comes_to_its_end, lab_with, listening, scripted, upstream_fails};
use crate::lab::{Lab, assistant, call, says, text, thinking, user};
use crate::openai_arguments::{self, answer};
use crate::reply::events;

/// The second block would be merged with the first: a call would have the arguments of another one.
#[tokio::test]
async fn upstream_repeats_a_block_index() {
    const BLOCK: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"write\",\"input\":{}}}\n\n";
    let fault = || Answers("text/event-stream", || Body::from([START, BLOCK, BLOCK].concat()));
    upstream_fails(&row("upstream_repeats_a_block_index"), fault).await;
}

#[tokio::test]
async fn upstream_sends_too_many_blocks() {
    let fault = || {
        Answers("application/json", || {
            let call = call("write", "many").to_string();
            let calls = vec![call; 8_001].join(",");
            let message = format!(
                r#"{{"id":"m","role":"assistant","content":[{calls}],"stop_reason":"tool_use","usage":{{}}}}"#
            );
            message.into()
        })
    };
    upstream_fails(&row("upstream_sends_too_many_blocks"), fault).await;
}

/// Builds the body of a response.
type BuildBody = fn() -> Body;

/// Builds a whole message with this block beside a call.
fn with_block(block: &str) -> Body {
    let call = call("write", "a");
    let message = format!(
        r#"{{"id":"m","role":"assistant","content":[{call},{block}],"stop_reason":"tool_use","usage":{{}}}}"#
    );
    message.into()
}

#[tokio::test]
async fn upstream_sends_a_value_in_place_of_a_block() {
    let row = row("upstream_sends_a_value_in_place_of_a_block");
    let invalid: [BuildBody; 6] = [
        || with_block("5"),
        || with_block("null"),
        || with_block(r#"[{"type":"text","text":"a"}]"#),
        || with_block("{}"),
        || with_block(r#"{"type":"text"}"#),
        || with_block(r#"{"type":"text","text":5}"#),
    ];
    for body in invalid {
        upstream_fails(&row, || Answers("application/json", body)).await;
    }
}

/// Builds a stream with a text in these pieces. `~` represents a byte that is invalid in UTF-8.
fn in_pieces(pieces: &[&str]) -> Body {
    let event = |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    let deltas = pieces.iter().map(|piece| {
        let delta = format!(r#","index":0,"delta":{{"type":"text_delta","text":"{piece}"}}"#);
        event("content_block_delta", &delta)
    });
    let text = [
        START,
        &event(
            "content_block_start",
            r#","index":0,"content_block":{"type":"text","text":""}"#,
        ),
        &deltas.collect::<String>(),
        &event("content_block_stop", r#","index":0"#),
        &event(
            "message_delta",
            r#","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}"#,
        ),
        &event("message_stop", ""),
    ]
    .concat();
    let bytes = text.bytes().map(|byte| if byte == b'~' { 0xff } else { byte });
    Body::from(bytes.collect::<Vec<_>>())
}

/// Client libraries join texts, and a half in one of them would end the turn.
#[tokio::test]
async fn upstream_sends_half_a_character() {
    let row = row("upstream_sends_half_a_character");
    let texts: [(BuildBody, &str); 3] = [
        (|| in_pieces(&[r"a\ud83d", r"\ude00b"]), "a😀b"),
        (|| in_pieces(&[r"a\ud83d", "b"]), "a\u{fffd}b"),
        (|| in_pieces(&["a~b"]), "a\u{fffd}b"),
    ];
    for (body, expected) in texts {
        for is_stream in [false, true] {
            let log = Log::start();
            let (lab, _) = lab_with(Answers("text/event-stream", body), 1, |gateway| gateway);
            let mut chat = chat(is_stream, "go");
            let reply = chat.ask(&lab).await;
            row.client_sees(&reply);
            assert_eq!(reply.text(), expected);
            row.host_learns(&lab, &log).await;
            chat.messages()
                .extend([assistant(reply.message["content"].clone()), user("on")]);
            comes_to_its_end(&lab, &chat).await;
            assert!(lab.last_seen().to_string().contains(expected));
        }
    }
}

#[tokio::test]
async fn upstream_cuts_off_a_compressed_answer() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(START.as_bytes()).unwrap();
    let mut archive = encoder.finish().unwrap();
    archive.truncate(archive.len() - 9);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        archive.len()
    );
    let upstream = listening([head.into_bytes(), archive].concat().leak()).await;
    let fault = || AnthropicUpstream::new(&upstream, None).unwrap();
    upstream_fails(&row("upstream_cuts_off_a_compressed_answer"), fault).await;
}

#[tokio::test]
async fn upstream_answers_200_with_an_error() {
    let fault = || {
        Answers("application/json", || {
            r#"{"error":{"message":"Too many requests","code":429}}"#.into()
        })
    };
    upstream_fails(&row("upstream_answers_200_with_an_error"), fault).await;
}

#[tokio::test]
async fn upstream_refuses_thinking() {
    let row = row("upstream_refuses_thinking");
    let message = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let body = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } });
    for is_stream in [false, true] {
        let log = Log::start();
        let lab = Lab::in_order(json!([
            says(&[thinking("old"), call("write", "a")]),
            json!({ "error": { "status": 400, "body": body } }),
            says(&[text("Done.")]),
        ]));
        let reply = chat(is_stream, "go").ask(&lab).await;
        assert_eq!(reply.text(), "Done.");
        row.client_sees(&reply);
        // Each conversation has another session.
        let (session, _) = reply.session();
        row.with("ses_ID", &session).host_learns(&lab, &log).await;
        assert_eq!(lab.runs.begun(), ["write a"]);
    }
}

/// Sends calls that cannot be read, and then a text.
async fn chat_server_sends(broken: usize, row: Row) {
    for is_stream in [false, true] {
        let log = Log::start();
        let answers = vec![answer("", &[["weather", "{n"]]); broken];
        let (lab, server) = openai_arguments::lab(answers.into_iter().chain([answer("Done.", &[])]));
        let reply = chat(is_stream, "go").ask(&lab).await;
        assert_eq!(reply.text() == "Done.", broken < 3, "{}", reply.message);
        assert_eq!((reply.shape(), reply.stop_reason()), (vec!["text"], "end_turn"));
        row.client_sees(&reply);
        row.host_learns(&lab, &log).await;
        server.assert_well_formed();
    }
}

#[tokio::test]
async fn chat_server_sends_a_broken_call() {
    chat_server_sends(1, row("chat_server_sends_a_broken_call")).await;
}

#[tokio::test]
async fn chat_server_sends_broken_calls_in_a_row() {
    chat_server_sends(3, row("chat_server_sends_broken_calls_in_a_row")).await;
}

/// The log has one line for the model.
#[tokio::test]
async fn upstream_sends_calls_as_text() {
    let row = row("upstream_sends_calls_as_text");
    let markup = "<tool_call>{\"name\": \"write\", \"arguments\": {\"key\": \"a\"}}</tool_call>";
    for is_stream in [false, true] {
        let log = Log::start();
        let said = says(&[text(markup)]);
        let lab = Lab::in_order(json!([said, said]));
        for question in ["go", "again"] {
            let reply = chat(is_stream, question).ask(&lab).await;
            assert_eq!(
                (reply.text(), reply.stop_reason()),
                (markup.to_owned(), "end_turn")
            );
            row.client_sees(&reply);
        }
        row.host_learns(&lab, &log).await;
        assert_eq!(lab.runs.begun(), Vec::<String>::new());
    }
}

/// Causes one error in the middle of a stream. Checks that the round is asked again.
async fn upstream_is_busy_in_a_stream(row: Row, status: u16, kind: &str, message: &str) {
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    let busy = json!({ "error": { "status": status, "body": body } });
    for retry_after in [None, Some(25)] {
        let mut busy = busy.clone();
        let log = Log::start();
        if let Some(seconds) = retry_after {
            busy["error"]["headers"] = json!({ "retry-after": seconds.to_string() });
        }
        let (lab, _) = lab_with(scripted(&busy), 1, |gateway| gateway);
        let began = tokio::time::Instant::now();
        let reply = chat(true, "go").ask(&lab).await;
        let waited = began.elapsed().as_secs();
        assert_eq!(waited, retry_after.unwrap_or(1));
        assert_eq!(reply.text(), "Done.");
        let pings = events(&reply.body)
            .iter()
            .filter(|event| event["type"] == "ping")
            .count();
        assert_eq!(pings, usize::try_from(waited / 10).unwrap());
        row.client_sees(&reply);
        let seconds = format!("seconds={waited}.0");
        row.with("seconds=1.0", &seconds).host_learns(&lab, &log).await;
        assert_eq!(lab.runs.begun(), ["write a"]);
        lab.assert_well_formed();
    }
}

#[tokio::test(start_paused = true)]
async fn upstream_limits_the_rate_in_a_stream() {
    let row = row("upstream_limits_the_rate_in_a_stream");
    upstream_is_busy_in_a_stream(row, 429, "rate_limit_error", "Number of requests").await;
}

#[tokio::test(start_paused = true)]
async fn upstream_is_overloaded_in_a_stream() {
    let row = row("upstream_is_overloaded_in_a_stream");
    upstream_is_busy_in_a_stream(row, 529, "overloaded_error", "Overloaded").await;
}

/// Causes all errors of a round in the middle of a stream.
#[tokio::test(start_paused = true)]
async fn upstream_stays_overloaded_in_a_stream() {
    let row = row("upstream_stays_overloaded_in_a_stream");
    let body = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let busy = json!({ "error": { "status": 529, "body": body } });
    let turns = json!([
        says(&[call("write", "a")]),
        busy,
        busy,
        busy,
        says(&[text("Done.")])
    ]);
    let log = Log::start();
    let lab = Lab::in_order(turns);
    let chat = chat(true, "go");
    let began = tokio::time::Instant::now();
    row.client_sees(&chat.ask(&lab).await);
    assert_eq!(began.elapsed().as_secs(), 1 + 2);
    row.host_learns(&lab, &log).await;
    comes_to_its_end(&lab, &chat).await;
}
