//! Servers with a process for each client key, or for each session, and servers that start at the first call.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gateway::{Gateway, is_running, server, wait_for_end};
use crate::program::{Directory, run};
use crate::upstream::{Upstream, call, text};

const ALWAYS: &str = "tools.offer = \"always\"\n";

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// Sends a conversation with a key.
fn ask(gateway: &Gateway, key: &str, messages: &[Value]) {
    let body = json!({ "model": "m", "max_tokens": 100, "messages": messages });
    let headers = format!("x-api-key: {key}\r\n");
    let (status, text) = gateway.send_with("POST", "/v1/messages", &headers, &body.to_string());
    assert_eq!(status, 200, "{text}");
}

/// Returns the id of the process that ran the last call.
fn pid(upstream: &Upstream) -> u32 {
    let result = upstream.last_result();
    let text = result["content"].as_str().unwrap();
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Returns answers of the upstream for turns that each call `peer__pid`.
fn turns_with_pid(count: usize) -> Vec<Value> {
    let turn = || [call("peer__pid", &json!({})), text("done")];
    (0..count).flat_map(|_| turn()).collect()
}

#[test]
fn each_client_has_its_own_process() {
    let upstream = Upstream::start(turns_with_pid(4));
    let configuration = ALWAYS.to_owned() + &server("peer", &json!({}), "scope = \"principal\"");
    let mut gateway = Gateway::start_with_keys(&upstream, &configuration, "ada=key-of-ada,bob=key-of-bob");
    let pids = ["key-of-ada", "key-of-bob", "key-of-ada", "key-of-bob"].map(|key| {
        ask(&gateway, key, &[user("Hi")]);
        pid(&upstream)
    });
    assert_eq!([pids[0], pids[1]], [pids[2], pids[3]]);
    // One more process lists the tools.
    let children: BTreeSet<u32> = gateway.children().into_iter().collect();
    assert_eq!(children.len(), 3);
    assert!(BTreeSet::from(pids).is_subset(&children) && pids[0] != pids[1]);
    let headers = "x-api-key: key-of-ada\r\n";
    let metrics = gateway.send_with("GET", "/metrics", headers, "").1;
    let starts = "tool_gateway_mcp_starts_total{server=\"peer\",result=\"ok\"} 3\n";
    assert!(metrics.contains(starts), "{metrics}");
    assert!(gateway.stop());
    assert!(children.into_iter().all(|pid| !is_running(pid)));
}

/// The tools of another server change, so that a new session has another generation. Each session keeps its process.
#[test]
fn each_session_has_its_own_process_in_every_generation() {
    let schema = json!({ "type": "object", "additionalProperties": true });
    let page = |name: &str| {
        let tools = ["set_page", name].map(|name| json!({ "name": name, "inputSchema": schema }));
        json!({ "tools": tools })
    };
    let mut answers = turns_with_pid(1);
    answers.extend([
        call("other__set_page", &json!({ "page": page("late") })),
        text("done"),
    ]);
    answers.extend(turns_with_pid(3));
    let upstream = Upstream::start(answers);
    let configuration = ALWAYS.to_owned()
        + &server("peer", &json!({}), "scope = \"session\"")
        + &server("other", &json!({ "pages": { "": page("early") } }), "");
    let mut gateway = Gateway::start(&upstream, &configuration);
    let mut session = vec![user("Hi")];
    ask(&gateway, "key", &session);
    let first = pid(&upstream);
    ask(&gateway, "key", &[user("Change")]);
    gateway.wait_for_tool("other__late");
    ask(&gateway, "key", &[user("A new session")]);
    let second = pid(&upstream);
    session.extend([
        json!({ "role": "assistant", "content": text("done") }),
        user("Again"),
    ]);
    ask(&gateway, "key", &session);
    assert_eq!(pid(&upstream), first, "the session keeps its process");
    let requests = upstream.tools();
    assert_eq!(requests[0], requests[7], "the session keeps its tools");
    assert_ne!(requests[0], requests[5]);
    ask(&gateway, "key", &[user("A third session")]);
    let third = pid(&upstream);
    assert_eq!(BTreeSet::from([first, second, third]).len(), 3);
    let children = gateway.children();
    assert_eq!(children.len(), 5);
    assert!(gateway.stop());
    assert!(children.into_iter().all(|pid| !is_running(pid)));
}

#[test]
fn a_process_without_calls_is_ended() {
    let upstream = Upstream::start(turns_with_pid(2));
    let lines = "scope = \"principal\"\nidle_seconds = 1";
    let gateway = Gateway::start(
        &upstream,
        &(ALWAYS.to_owned() + &server("peer", &json!({}), lines)),
    );
    ask(&gateway, "key", &[user("Hi")]);
    let first = pid(&upstream);
    wait_for_end(first);
    assert_eq!(gateway.children().len(), 1, "the process that lists");
    ask(&gateway, "key", &[user("Again")]);
    assert_ne!(pid(&upstream), first);
}

/// Of a server with the scope `principal`, sixteen processes run at once.
#[test]
fn the_process_that_is_idle_for_the_longest_time_is_ended_above_the_limit() {
    let keys: Vec<String> = (0..17).map(|at| format!("key-of-{at}")).collect();
    let names: Vec<String> = keys.iter().map(|key| format!("{}={key}", &key[7..])).collect();
    let upstream = Upstream::start(turns_with_pid(17));
    let configuration = ALWAYS.to_owned() + &server("peer", &json!({}), "scope = \"principal\"");
    let mut gateway = Gateway::start_with_keys(&upstream, &configuration, &names.join(","));
    let pids: Vec<u32> = keys
        .iter()
        .map(|key| {
            ask(&gateway, key, &[user("Hi")]);
            pid(&upstream)
        })
        .collect();
    wait_for_end(pids[0]);
    assert!(pids[1..].iter().all(|pid| is_running(*pid)));
    let children = gateway.children();
    assert_eq!(children.len(), 17);
    assert!(gateway.stop());
    assert!(children.into_iter().all(|pid| !is_running(pid)));
}

#[test]
fn a_lazy_server_starts_at_the_first_call() {
    let directory = Directory::new();
    let schema = json!({ "type": "object", "additionalProperties": true });
    let tools = ["pid", "echo"].map(|name| json!({ "name": name, "inputSchema": schema }));
    let script = json!({ "pages": { "": { "tools": tools } } });
    let pins = json!(directory.path().join("pins.json"));
    let configuration =
        format!("{ALWAYS}[mcp]\npins = {pins}\n") + &server("peer", &script, "start = \"lazy\"");
    let file = directory.file("gateway.toml", &configuration);
    let ran = run(&["tools", "--config", &file, "--pin"], "");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut answers = vec![text("done")];
    answers.extend(turns_with_pid(2));
    let upstream = Upstream::start(answers);
    let mut gateway = Gateway::start_in(directory, &upstream, &configuration);
    ask(&gateway, "key", &[user("No call")]);
    assert!(gateway.children().is_empty());
    let tools = &upstream.tools()[0];
    assert!(
        tools.ends_with(&["peer__echo".to_owned(), "peer__pid".to_owned()]),
        "{tools:?}"
    );
    ask(&gateway, "key", &[user("Hi")]);
    let first = pid(&upstream);
    assert_eq!(gateway.children(), [first]);
    ask(&gateway, "key", &[user("Another session")]);
    assert_eq!(pid(&upstream), first);
    // The list of the server is as pinned, so the tools do not change.
    let requests = upstream.requests();
    assert!(
        requests
            .iter()
            .all(|request| request["tools"] == requests[0]["tools"])
    );
    assert!(gateway.stop());
    assert!(!is_running(first));
}

#[test]
fn a_lazy_server_needs_pins() {
    let directory = Directory::new();
    let text = "[mcp.servers.peer]\ncommand = \"peer\"\nstart = \"lazy\"\n";
    let file = directory.file("gateway.toml", text);
    let ran = run(&["serve", "--config", &file, "--check-config"], "");
    assert_eq!(ran.status, 2);
    let wanted =
        "gateway.toml:3: mcp.servers.peer.start: a server that starts at its first call needs `mcp.pins`";
    assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
}
