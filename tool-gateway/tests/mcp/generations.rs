//! Tools that change between the turns of a session.

use serde_json::{Value, json};

use crate::gateway::{Gateway, server};
use crate::upstream::{Upstream, call, text};

/// Returns a page of the server's list with `set_page` and another tool.
fn page(name: &str) -> Value {
    let schema = json!({ "type": "object", "additionalProperties": true });
    json!({ "tools": [
        { "name": "set_page", "inputSchema": schema },
        { "name": name, "inputSchema": { "type": "object", "properties": { name: { "type": "string" } } } },
    ] })
}

fn configuration(name: &str) -> String {
    "tools.offer = \"always\"\nstore = \"memory\"\n".to_owned()
        + &server("peer", &json!({ "pages": { "": page(name) } }), "")
}

fn message(role: &str, content: Value) -> Value {
    json!({ "role": role, "content": content })
}

fn request(messages: &[Value]) -> Value {
    json!({ "model": "m", "max_tokens": 100, "messages": messages })
}

#[test]
fn a_session_keeps_the_tools_of_its_first_turn() {
    let upstream = Upstream::start(vec![
        call("peer__set_page", &json!({ "page": page("echo") })),
        text("one"),
        text("two"),
        text("three"),
        call("peer__pid", &json!({})),
        text("four"),
    ]);
    let gateway = Gateway::start(&upstream, &configuration("pid"));
    let first = message("user", "Hi".into());
    let answer = gateway.ask(&request(std::slice::from_ref(&first)));
    assert_eq!(answer["content"], text("one"));
    gateway.wait_for_tool("peer__echo");

    // The same session, and a new one.
    let history = [
        first,
        message("assistant", text("one")),
        message("user", "And now?".into()),
    ];
    gateway.ask(&request(&history));
    gateway.ask(&request(&[message("user", "Another".into())]));
    let tools = upstream.tools();
    assert!(tools[0].contains(&"peer__pid".to_owned()), "{tools:?}");
    assert_eq!(tools[1], tools[0]);
    assert_eq!(tools[2], tools[0], "the session keeps its tools");
    assert!(tools[3].contains(&"peer__echo".to_owned()) && !tools[3].contains(&"peer__pid".to_owned()));
    let [before, after] = [0, 2].map(|at| upstream.requests()[at]["tools"].to_string());
    assert_eq!(before, after);

    let (_, metrics) = gateway.send("GET", "/metrics", "");
    assert!(
        metrics.contains("tool_gateway_mcp_definitions_changed_total{server=\"peer\"} 1\n"),
        "{metrics}"
    );

    // A model that calls a tool of an earlier generation receives an error, and the client no call.
    let answer = gateway.ask(&request(&[message("user", "A third".into())]));
    assert_eq!(answer["content"], text("four"));
    let result = upstream.last_result();
    assert_eq!(result["is_error"], true, "{result}");
    assert!(
        result["content"].as_str().unwrap().contains("peer__pid"),
        "{result}"
    );
}

/// A client declares the tools that it has read from `GET /v1/tools`, and the server changes a schema.
#[test]
fn the_schema_of_an_earlier_generation_is_the_gateways() {
    let upstream = Upstream::start(vec![
        call("peer__set_page", &json!({ "page": page("echo") })),
        text("one"),
        text("two"),
    ]);
    let configuration = server("peer", &json!({ "pages": { "": page("pid") } }), "");
    let gateway = Gateway::start(&upstream, &configuration);
    gateway.wait_for_tool("peer__pid");
    let (_, listed) = gateway.send("GET", "/v1/tools", "");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let mut body = request(&[message("user", "Hi".into())]);
    body["tools"] = listed["data"].clone();
    gateway.ask(&body);
    gateway.wait_for_tool("peer__echo");
    // A new session: the tool with the known schema is left out, since its server has removed it, and is not the client's.
    body["messages"] = json!([message("user", "Another".into())]);
    gateway.ask(&body);
    let tools = upstream.tools();
    assert!(tools[0].contains(&"peer__pid".to_owned()));
    assert!(
        !tools[2].contains(&"peer__pid".to_owned()) && tools[2].contains(&"peer__set_page".to_owned()),
        "{tools:?}"
    );
}

/// The digest of a turn's tools is in the store: a restarted gateway with equal tools continues with them, and otherwise with its own.
#[test]
fn a_restarted_gateway_continues_a_session_with_its_newest_tools() {
    let first = message("user", "Hi".into());
    let history = [
        first.clone(),
        message("assistant", text("one")),
        message("user", "And now?".into()),
    ];
    let mut directory = crate::program::Directory::new();
    let store = format!(
        "store = {}\n",
        json!(format!("file:{}/sessions", directory.path().display()))
    );
    let mut all = Vec::new();
    for (name, messages) in [
        ("pid", &[first][..]),
        ("pid", &history[..]),
        ("echo", &history[..]),
    ] {
        let upstream = Upstream::start(vec![text("one")]);
        let configuration = configuration(name).replace("store = \"memory\"\n", &store);
        let gateway = Gateway::start_in(directory, &upstream, &configuration);
        gateway.ask(&request(messages));
        all.extend(upstream.tools());
        directory = gateway.into_directory();
    }
    assert_eq!(all[0], all[1]);
    assert!(
        all[2].contains(&"peer__echo".to_owned()) && !all[2].contains(&"peer__pid".to_owned()),
        "{all:?}"
    );
}

/// The digest of a turn's tools is in the store of all gateways: one with equal tools continues with them, and another one with its newest.
#[cfg(feature = "redis")]
#[test]
fn another_gateway_continues_a_session_with_its_newest_tools() {
    let Some(redis) = crate::redis_server::RedisServer::start() else {
        return;
    };
    let first = message("user", "Hi".into());
    let history = [
        first.clone(),
        message("assistant", text("one")),
        message("user", "And now?".into()),
    ];
    let store = format!("store = \"{}\"\n", redis.url());
    let gateways = ["pid", "pid", "echo"].map(|name| {
        let upstream = Upstream::start(vec![text("one")]);
        let configuration = configuration(name).replace("store = \"memory\"\n", &store);
        (Gateway::start(&upstream, &configuration), upstream)
    });
    let mut all = Vec::new();
    for ((gateway, upstream), messages) in gateways.iter().zip([&[first][..], &history, &history]) {
        gateway.ask(&request(messages));
        all.extend(upstream.tools());
    }
    assert_eq!(all[0], all[1]);
    assert!(
        all[2].contains(&"peer__echo".to_owned()) && !all[2].contains(&"peer__pid".to_owned()),
        "{all:?}"
    );
}
