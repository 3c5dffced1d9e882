//! A client with the official SDK for Python, and a gateway that is killed between two requests of a turn.
//!
//! `SDK_PYTHON` is an interpreter with the packages of `tests/sdks/requirements.txt`; `.ci/run programs` creates it. Without it, the test is
//! ignored with a message.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::gateway::{Gateway, server, wait_for_end};
use crate::program::Directory;
use crate::upstream::{Upstream, text};

/// The message calls a tool of a server, an annotated function and a tool of the client.
#[test]
fn a_mixed_turn_is_resumed_after_the_gateway_was_killed() {
    let Some(python) = std::env::var_os("SDK_PYTHON") else {
        eprintln!("IGNORED: `SDK_PYTHON` is missing; `.ci/run programs` installs the SDK");
        return;
    };
    let todos = json!([{ "content": "Weather", "status": "pending", "activeForm": "Looking" }]);
    let call = |id: &str, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let upstream = Upstream::start(vec![
        json!([
            { "type": "text", "text": "I look." },
            call("toolu_1", "peer__echo", json!({ "word": "tea" })),
            call("toolu_2", "TodoWrite", json!({ "todos": todos })),
            call("toolu_3", "get_weather", json!({ "city": "Paris" })),
        ]),
        text("It is warm."),
    ]);
    let directory = Directory::new();
    let store = json!(format!("file:{}/sessions", directory.path().display()));
    let configuration =
        format!("store = {store}\ntools.offer = \"always\"\n") + &server("peer", &json!({}), "");
    let mut client = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/mixed.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = client.stdin.take().unwrap();
    let mut answers = BufReader::new(client.stdout.take().unwrap()).lines();
    let mut answer = |gateway: &Gateway| -> Value {
        writeln!(input, "http://{}", gateway.address()).unwrap();
        serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap()
    };

    let gateway = Gateway::start_in(directory, &upstream, &configuration);
    assert_eq!(answer(&gateway), json!(["I look.", "get_weather"]));
    let pids = gateway.children();
    assert_eq!(pids.len(), 1);
    let directory = gateway.kill();
    pids.into_iter().for_each(wait_for_end);

    let gateway = Gateway::start_in(directory, &upstream, &configuration);
    assert_eq!(answer(&gateway), json!(["It is warm."]));
    assert!(client.wait().unwrap().success());
    let requests = upstream.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0]["tools"], requests[1]["tools"]);
    let results = requests[1]["messages"][2]["content"].as_array().unwrap().clone();
    let ids: Vec<_> = results
        .iter()
        .map(|result| result["tool_use_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["toolu_1", "toolu_2", "toolu_3"]);
    for (result, wanted) in results
        .iter()
        .zip(["{\\\"word\\\":\\\"tea\\\"}", "success", "21 degrees"])
    {
        assert!(result["content"].to_string().contains(wanted), "{result}");
    }
}
