//! `tool-cli repair --sse`: repairs the tool calls of a stream.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::{Value, json};

use crate::program::{Directory, command, run, start};

/// Builds the events of a stream.
fn events(data: &[Value]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// Builds a Chat Completions stream with a call in pieces.
fn chat(tool: &str, pieces: &[&str], finish: &str) -> String {
    let call = |function: Value| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "id": "call_1", "function": function }] } }] });
    let mut data = vec![call(json!({ "name": tool, "arguments": "" }))];
    data.extend(pieces.iter().map(|piece| call(json!({ "arguments": piece }))));
    data.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }));
    events(&data) + "data: [DONE]\n\n"
}

/// Builds an Anthropic Messages stream.
fn anthropic(tool: &str, pieces: &[&str]) -> String {
    let block = json!({ "type": "tool_use", "id": "toolu_1", "name": tool, "input": {} });
    let mut data = vec![json!({ "type": "content_block_start", "index": 0, "content_block": block })];
    data.extend(pieces.iter().map(|piece| {
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": piece } })
    }));
    data.push(json!({ "type": "content_block_stop", "index": 0 }));
    data.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
    data.push(json!({ "type": "message_stop" }));
    let event = |data: &Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    data.iter().map(event).collect()
}

/// Builds an OpenAI Responses stream.
fn responses(tool: &str, pieces: &[&str]) -> String {
    let item = |arguments: &str, status: &str| json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool, "arguments": arguments, "status": status });
    let whole = pieces.concat();
    let mut data = vec![
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("", "in_progress") }),
    ];
    data.extend(pieces.iter().map(|piece| {
        json!({ "type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": piece })
    }));
    data.push(json!({ "type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 0, "arguments": whole }));
    data.push(
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item(&whole, "completed") }),
    );
    let response = json!({ "id": "resp_1", "status": "completed", "output": [item(&whole, "completed")] });
    data.push(json!({ "type": "response.completed", "response": response }));
    let numbered = data.into_iter().enumerate().map(|(number, mut data)| {
        data["sequence_number"] = number.into();
        format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
    });
    numbered.collect()
}

/// Returns the arguments that a client joins from the pieces.
fn arguments(stream: &str) -> String {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let data = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let pieces = data.map(|data| {
        let chat = &data["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"];
        let pieces = [chat, &data["delta"]["partial_json"], &data["delta"]];
        pieces
            .iter()
            .find_map(|piece| piece.as_str())
            .unwrap_or_default()
            .to_owned()
    });
    pieces.collect()
}

const PIECES: [&str; 3] = ["{\"todos\": [{'content': ", "'写代", "码', 'done': False}]}"];
const REPAIRED: &str = "{\"todos\": [{\"content\": \"写代码\", \"done\": false}]}";

#[test]
fn every_dialect_is_repaired() {
    for (dialect, stream) in [
        ("chat", chat("TodoWrite", &PIECES, "tool_calls")),
        ("responses", responses("TodoWrite", &PIECES)),
        ("anthropic", anthropic("TodoWrite", &PIECES)),
    ] {
        let ran = run(&["repair", "--sse", dialect], &stream);
        assert_eq!(
            (ran.status, arguments(ran.text()).as_str()),
            (0, REPAIRED),
            "{dialect}"
        );
        assert!(
            !ran.text().contains("'content'"),
            "{dialect}: every copy is repaired"
        );
        let message: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(message.len(), 1, "{}", ran.stderr);
        assert!(
            message[0].starts_with("TodoWrite ") && message[0].contains(": repaired, "),
            "{}",
            message[0]
        );
        assert!(
            message[0].ends_with("fixes: 3 single_quotes, 1 python_literal"),
            "{}",
            message[0]
        );
    }
}

#[test]
fn valid_calls_and_other_events_pass_unchanged() {
    let odd: &[u8] = b": ping\r\n\r\ndata: {\"choices\": [ ]}\r\ndata:\r\n\r\nid: \xff\n\ndata: {not json}\n\ndata: unended";
    for dialect in ["chat", "responses", "anthropic"] {
        let ran = run(&["repair", "--sse", dialect], odd);
        assert_eq!((ran.status, ran.stdout.as_slice()), (0, odd), "{dialect}");
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(
            ran.stderr.starts_with("the stream has no tool calls; "),
            "{}",
            ran.stderr
        );
    }
    let valid = chat("TodoWrite", &["{\"todos\"", ": [] }"], "tool_calls");
    let ran = run(&["repair", "--sse", "chat"], &valid);
    assert_eq!(
        (ran.status, arguments(ran.text()), ran.stderr.as_str()),
        (0, "{\"todos\": [] }".into(), "")
    );
}

#[test]
fn calls_of_other_tools_pass_with_a_note() {
    let stream = chat("Edit", &PIECES, "tool_calls");
    let ran = run(&["repair", "--sse", "chat"], &stream);
    assert_eq!((ran.status, ran.text()), (0, stream.as_str()));
    assert_eq!(
        ran.stderr,
        "calls of other tools were not repaired: Edit; to include these tools, add --target-tools with '*' or their names\n"
    );
    for targets in ["*", "Edit", "TodoWrite,Edit", " TodoWrite , Edit ", " *"] {
        let ran = run(&["repair", "--sse", "chat", "--target-tools", targets], &stream);
        assert_eq!(
            (ran.status, arguments(ran.text()).as_str()),
            (0, REPAIRED),
            "{targets}"
        );
    }
}

#[test]
fn reports_calls_without_a_name() {
    let stream = chat("", &PIECES, "tool_calls") + &chat("Edit", &PIECES, "tool_calls");
    let ran = run(&["repair", "--sse", "chat"], &stream);
    assert_eq!((ran.status, ran.text()), (0, stream.as_str()));
    assert_eq!(
        ran.stderr,
        "calls of other tools were not repaired: (a call without a name), Edit; to include these tools, \
         add --target-tools with '*' or their names\n"
    );
}

#[test]
fn reports_input_that_is_not_a_stream() {
    let message = "the stream has no tool calls; the input is JSON and not a stream of events: record the answer with \
                \"stream\": true, or repair its arguments separately, without --sse\n";
    for answer in [
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"TodoWrite","arguments":"{'a': 1}"}}]}}]}"#,
        "\u{feff}\n  {\n  \"choices\": []\n}\n",
        "[{}]",
    ] {
        let ran = run(&["repair", "--sse", "chat"], answer);
        assert_eq!(
            (ran.status, ran.text(), ran.stderr.as_str()),
            (0, answer, message)
        );
    }
    for stream in ["", "\n", "data: {}\n\n", "\u{feff}: {\n\n"] {
        let ran = run(&["repair", "--sse", "chat"], stream);
        assert!(ran.stderr.contains("choose another API"), "{}", ran.stderr);
    }
}

#[test]
fn names_from_a_stream_are_escaped() {
    let stream = chat("Todo\u{1b}[2JWrite", &PIECES, "tool_calls");
    for targets in ["*", "TodoWrite"] {
        let ran = run(&["repair", "--sse", "chat", "--target-tools", targets], &stream);
        assert!(ran.stderr.contains("Todo\\u{1b}[2JWrite"), "{}", ran.stderr);
        assert!(!ran.stderr.contains('\u{1b}'));
    }
}

#[test]
fn reports_streams_of_another_dialect() {
    let stream = anthropic("TodoWrite", &PIECES);
    let ran = run(&["repair", "--sse", "chat"], &stream);
    assert_eq!((ran.status, ran.text()), (0, stream.as_str()));
    assert!(
        ran.stderr.starts_with("the stream has no tool calls; "),
        "{}",
        ran.stderr
    );
}

#[test]
fn reports_that_the_rest_of_a_stream_is_not_repaired() {
    let big = format!("data: {}\n\n", "x".repeat(16 << 20));
    let call = |at: usize| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": at, "id": format!("call_{at}"), "function": { "name": "TodoWrite", "arguments": "{}" } }] } }] });
    let calls: Vec<Value> = (0..258).map(call).collect();
    for (stream, reason) in [
        (big, "an event of more than 16777216 bytes"),
        (events(&calls), "more than 256 calls at once"),
    ] {
        let after = chat("TodoWrite", &PIECES, "tool_calls");
        let ran = run(&["repair", "--sse", "chat"], stream + &after);
        assert_eq!((ran.status, ran.text().ends_with(&after)), (1, true));
        let message = format!("the rest of the stream was not repaired: {reason}\n");
        assert!(ran.stderr.ends_with(&message), "{}", ran.stderr);
    }
}

#[test]
fn truncated_calls_stay_truncated_and_set_the_exit_status() {
    let stream = chat("TodoWrite", &PIECES[..2], "length");
    let ran = run(&["repair", "--sse", "chat"], &stream);
    assert_eq!((ran.status, arguments(ran.text())), (1, PIECES[..2].concat()));
    assert!(
        ran.stderr
            .starts_with("TodoWrite call_1 (choice 0, index 0): truncated at byte "),
        "{}",
        ran.stderr
    );
}

#[test]
fn irreparable_calls_pass_unchanged_or_become_an_error() {
    let stream = chat("TodoWrite", &["{\"a\": @", "}"], "tool_calls");
    let ran = run(&["repair", "--sse", "chat"], &stream);
    assert_eq!((ran.status, arguments(ran.text()).as_str()), (1, "{\"a\": @}"));
    assert!(
        ran.stderr.contains("refused at byte 6 of the arguments: "),
        "{}",
        ran.stderr
    );
    let ran = run(&["repair", "--sse", "chat", "--no-fallback"], &stream);
    assert_eq!(ran.status, 1);
    let last = ran.text().trim_end().lines().last().unwrap();
    let error: Value = serde_json::from_str(last.strip_prefix("data: ").unwrap()).unwrap();
    assert!(
        error["error"]["message"].as_str().unwrap().contains("TodoWrite"),
        "{error}"
    );
}

#[test]
fn debug_logging_lists_the_fixes() {
    let stream = chat("TodoWrite", &PIECES, "tool_calls");
    let ran = run(&["repair", "--sse", "chat", "--debug-logging"], &stream);
    let message: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(message.len(), 5, "{}", ran.stderr);
    assert!(
        message[1].starts_with("  byte 12: single_quotes: "),
        "{}",
        message[1]
    );
    let ran = run(&["repair", "--sse", "chat", "--no-strict-validation"], &stream);
    assert!(ran.stderr.ends_with("; not validated\n"), "{}", ran.stderr);
}

#[test]
fn events_are_written_without_delay() {
    let mut child = start(&["repair", "--sse", "anthropic"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for event in anthropic("TodoWrite", &["{\"a\"", ": [", "1]}"]).split_inclusive("\n\n") {
        stdin.write_all(event.as_bytes()).unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim_end(), event.lines().next().unwrap());
        while answer.trim_end_matches('\n').len() + 2 > answer.len() {
            stdout.read_line(&mut answer).unwrap();
        }
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn reads_a_file() {
    let directory = Directory::new();
    let file = directory.file("response.sse", chat("TodoWrite", &PIECES, "tool_calls"));
    assert_eq!(
        arguments(run(&["repair", "--sse", "chat", &file], "").text()),
        REPAIRED
    );
}

#[test]
fn closed_output_ends_the_program_quietly() {
    let mut child = start(&["repair", "--sse", "chat"]);
    let mut stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let _ = stdin.write_all("data: {}\n\n".repeat(200_000).as_bytes()); // the program may exit before the end of the input
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[cfg(unix)]
#[test]
fn broken_streams_pass_unchanged() {
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::process::Stdio;

    let stream = chat("TodoWrite", &["{\"a\": 1, ", "'b': 2}"], "tool_calls");
    let half = &stream[..stream.rfind("data: {").unwrap()];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut theirs, _) = listener.accept().unwrap();
    // A socket that is closed with unread data resets the connection.
    theirs.write_all(b"never read").unwrap();
    let mut child = command(&["repair", "--sse", "chat"])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    ours.write_all(half.as_bytes()).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut sent = String::new();
    while sent.matches("\n\n").count() < 3 {
        stdout.read_line(&mut sent).unwrap();
    }
    drop(ours);
    stdout.read_to_string(&mut sent).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), arguments(&sent).as_str()),
        (Some(2), "{\"a\": 1, 'b': 2}")
    );
    let message: Vec<&str> = stderr.lines().collect();
    assert_eq!(message.len(), 2, "{stderr}");
    assert!(
        message[0].starts_with("TodoWrite call_1 (choice 0, index 0): truncated "),
        "{stderr}"
    );
    assert!(
        message[1].starts_with("error: stdin cannot be read: "),
        "{stderr}"
    );
}

#[test]
fn unreadable_input_is_an_error() {
    let directory = Directory::new();
    let ran = run(
        &["repair", "--sse", "chat", directory.path().to_str().unwrap()],
        "",
    );
    assert_eq!((ran.status, ran.text()), (2, ""));
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert!(ran.stderr.contains(" cannot be read: "), "{}", ran.stderr);
}
