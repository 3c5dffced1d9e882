//! Turns with tools of MCP servers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway::{Gateway, is_running, server, wait_for_end};
use crate::upstream::{Upstream, call, text};

const ALWAYS: &str = "tools.offer = \"always\"\n";

fn request(text: &str) -> Value {
    json!({ "model": "m", "max_tokens": 100, "messages": [{ "role": "user", "content": text }] })
}

#[test]
fn a_tool_of_a_server_is_offered_and_called_in_a_streamed_turn() {
    let upstream = Upstream::start(vec![call("peer__echo", &json!({ "word": "tea" })), text("done")]);
    let gateway = Gateway::start(
        &upstream,
        &(ALWAYS.to_owned() + &server("peer", &json!({}), "describe = \"On the test server:\"")),
    );
    let mut body = request("Hi");
    body["stream"] = true.into();
    let (status, events) = gateway.send("POST", "/v1/messages", &body.to_string());
    assert_eq!(status, 200, "{events}");
    assert!(
        events.contains("\"done\"") && !events.contains("tool_use"),
        "{events}"
    );
    assert_eq!(upstream.last_result()["content"], "{\"word\":\"tea\"}");
    let tools = &upstream.requests()[0]["tools"];
    let echo = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "peer__echo");
    assert_eq!(echo.unwrap()["description"], "On the test server:");
    assert!(gateway.tools().contains(&"peer__echo".to_owned()));
    assert!(gateway.log_line("\"turn\"").contains("peer__echo"));
}

#[test]
fn own_tools_are_first_and_servers_follow_in_the_order_of_the_file() {
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let script =
        json!({ "pages": { "": { "tools": [tool("walk"), tool("a.b"), tool("run"), tool("swim")] } } });
    let configuration = ALWAYS.to_owned()
        + &server("zoo", &script, "except = [\"s*\"]")
        + &server("ant", &script, "tools = [\"run\"]\nprefix = \"insects\"")
        + &server("bare", &script, "tools = [\"run\", \"walk\"]\nprefix = \"\"")
        + &server("other", &script, "tools = [\"run\"]\nprefix = \"\"");
    let upstream = Upstream::start(vec![text("done")]);
    let gateway = Gateway::start(&upstream, &configuration);
    gateway.ask(&request("Hi"));
    let expected = [
        "TodoWrite",
        "TodoRead",
        "zoo__a_b",
        "zoo__run",
        "zoo__walk",
        "insects__run",
        "run",
        "walk",
    ];
    assert_eq!(upstream.tools()[0], expected);
    assert_eq!(gateway.tools(), expected);
    let line = gateway.log_line("\"server\":\"other\"");
    assert!(
        line.contains("\"tool\":\"run\",\"reason\":\"duplicate\""),
        "{line}"
    );
}

/// The client declares tools by name. One that no server has is left out, and is never the client's.
#[test]
fn a_declared_name_without_a_schema_is_waited_for_or_left_out() {
    let upstream = Upstream::start(vec![
        call("peer__echo", &json!({})),
        call("peer__nope", &json!({})),
        text("done"),
    ]);
    let gateway = Gateway::start(&upstream, &server("peer", &json!({}), ""));
    let mut body = request("Hi");
    body["tools"] = json!([
        { "name": "peer__echo" },
        { "name": "peer__nope" },
        { "name": "Bash", "input_schema": { "type": "object" } },
    ]);
    let message = gateway.ask(&body);
    assert_eq!(message["content"], text("done"));
    assert_eq!(upstream.tools()[0], ["peer__echo", "Bash"]);
    // The model calls a tool that it does not have.
    let result = upstream.last_result();
    assert_eq!(result["is_error"], true, "{result}");
    assert!(
        result["content"].as_str().unwrap().contains("peer__nope"),
        "{result}"
    );
    assert!(gateway.log_line("left out of the request").contains("peer__nope"));
}

/// The client has tools whose names are under the prefix of a server: one that the server does not have, and one with another schema.
#[test]
fn a_tool_of_the_client_under_a_prefix_is_the_clients() {
    let (mine, echo) = ("peer__mine", "peer__echo");
    let upstream = Upstream::start(vec![
        call(mine, &json!({ "a": 1 })),
        call(echo, &json!({ "b": 2 })),
    ]);
    let gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + &server("peer", &json!({}), "")));
    gateway.wait_for_tool(echo);
    let schema = |name: &str| json!({ "type": "object", "properties": { name: { "type": "integer" } } });
    for (name, input) in [(mine, json!({ "a": 1 })), (echo, json!({ "b": 2 }))] {
        let mut body = request(name);
        body["tools"] = json!([
            { "name": mine, "input_schema": schema("a") },
            { "name": echo, "input_schema": schema("b") },
        ]);
        let message = gateway.ask(&body);
        assert_eq!(message["stop_reason"], "tool_use", "{message}");
        let block = &message["content"][0];
        assert_eq!((&block["name"], &block["input"]), (&json!(name), &input));
    }
    for request in upstream.requests() {
        let tools = request["tools"].as_array().unwrap();
        let found: Vec<_> = tools
            .iter()
            .filter(|tool| tool["name"] == mine || tool["name"] == echo)
            .collect();
        assert_eq!(found.len(), 2, "{tools:?}");
        assert_eq!(found[0]["input_schema"], schema("a"));
        assert_eq!(found[1]["input_schema"], schema("b"));
    }
}

/// A model calls a tool that its request does not have, for example because the client may not use it.
#[test]
fn a_tool_that_the_request_does_not_have_does_not_run() {
    let upstream = Upstream::start(vec![call("peer__echo", &json!({ "word": "tea" })), text("done")]);
    let gateway = Gateway::start(&upstream, &server("peer", &json!({}), ""));
    gateway.wait_for_tool("peer__echo");
    let mut body = request("Hi");
    body["tools"] = json!([{ "name": "TodoWrite" }]);
    let message = gateway.ask(&body);
    assert_eq!(message["content"], text("done"));
    assert_eq!(upstream.tools()[0], ["TodoWrite"]);
    let result = upstream.last_result();
    assert_eq!(result["is_error"], true, "{result}");
    assert_eq!(
        result["content"],
        "Tool 'peer__echo' not found: it is not a tool of this request; use another tool"
    );
}

/// A client that declares only its own tools is not delayed by a server that hangs.
#[test]
fn the_gateway_listens_and_passes_turns_beside_a_server_that_hangs() {
    let upstream = Upstream::start(vec![text("done"), text("done")]);
    let hanging = "[mcp.servers.slow]\ncommand = \"sleep\"\nargs = [\"3600\"]\nrequired = true\n";
    let gateway = Gateway::start(&upstream, hanging);
    gateway.ask(&request("Hi"));
    let (status, text) = gateway.send("GET", "/readyz", "");
    assert_eq!(status, 503);
    assert!(
        text.contains("required MCP servers have not listed their tools: slow"),
        "{text}"
    );
    assert_eq!(gateway.send("GET", "/healthz", "").0, 200);
}

/// The shortest of some starts counts, since other programs may have the processor.
#[test]
fn a_server_that_hangs_delays_the_listener_by_less_than_a_tenth_of_a_second() {
    let upstream = Upstream::start(vec![]);
    let hanging = "[mcp.servers.slow]\ncommand = \"sleep\"\nargs = [\"3600\"]\nrequired = true\n";
    let start = |configuration: &str| {
        let began = Instant::now();
        let _gateway = Gateway::start(&upstream, configuration);
        began.elapsed()
    };
    let (mut alone, mut beside) = (Duration::MAX, Duration::MAX);
    for _ in 0..10 {
        alone = alone.min(start(""));
        beside = beside.min(start(hanging));
        if beside < alone + Duration::from_millis(100) {
            return;
        }
    }
    panic!("{beside:?} instead of {alone:?}");
}

#[test]
fn a_new_session_waits_for_a_required_server_until_its_start_fails() {
    let upstream = Upstream::start(vec![text("done")]);
    let failing =
        "[mcp.servers.slow]\ncommand = \"sleep\"\nargs = [\"3600\"]\nrequired = true\nstart_seconds = 1\n";
    let configuration = ALWAYS.to_owned() + failing + &server("peer", &json!({}), "required = true");
    let gateway = Gateway::start(&upstream, &configuration);
    gateway.ask(&request("Hi"));
    assert!(upstream.tools()[0].contains(&"peer__echo".to_owned()));
    let line = gateway.log_line("not ready after 1 s");
    assert!(line.contains("\"server\":\"slow\""), "{line}");
    assert!(gateway.send("GET", "/readyz", "").1.contains(": slow"));
}

/// As many large requests as the gateway has threads for wait for a server, and other large requests are answered meanwhile.
#[test]
fn large_requests_that_wait_for_a_server_delay_no_others() {
    let upstream = Upstream::start(vec![]);
    let hanging =
        "[mcp.servers.slow]\ncommand = \"sleep\"\nargs = [\"3600\"]\nrequired = true\nstart_seconds = 600\n";
    let gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + hanging));
    let large = request(&"x".repeat(300 << 10)).to_string();
    let threads = std::thread::available_parallelism().unwrap().get();
    let waiting: Vec<_> = (0..=threads)
        .map(|_| gateway.begin("POST", "/v1/messages", &large))
        .collect();
    for _ in 0..20 {
        let invalid = large.clone() + ",";
        assert_eq!(gateway.send("POST", "/v1/messages", &invalid).0, 400);
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(waiting);
}

#[test]
fn readyz_answers_when_required_servers_have_listed() {
    let upstream = Upstream::start(vec![text("done")]);
    let gateway = Gateway::start(
        &upstream,
        &(ALWAYS.to_owned() + &server("peer", &json!({}), "required = true")),
    );
    gateway.ask(&request("Hi"));
    assert_eq!(gateway.send("GET", "/readyz", ""), (200, "ok\n".to_owned()));
}

/// Known definitions remain offered while a server starts again, and a call waits for the start.
#[test]
fn a_call_waits_for_a_server_that_starts_again() {
    let upstream = Upstream::start(vec![
        call("peer__pid", &json!({})),
        call("peer__exit", &json!({})),
        call("peer__pid", &json!({})),
        text("done"),
    ]);
    let gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + &server("peer", &json!({}), "")));
    gateway.ask(&request("Hi"));
    let requests = upstream.requests();
    let result = |request: usize| {
        let messages = requests[request]["messages"].as_array().unwrap().clone();
        messages.last().unwrap()["content"][0].clone()
    };
    assert!(
        result(2)["content"]
            .as_str()
            .unwrap()
            .contains("ended during the call"),
        "{}",
        result(2)
    );
    assert_ne!(result(1)["content"], result(3)["content"]);
    assert!(result(3)["is_error"].is_null(), "{}", result(3));
    assert_eq!(upstream.tools()[0], upstream.tools()[3]);
    let (_, metrics) = gateway.send("GET", "/metrics", "");
    for wanted in [
        "tool_gateway_mcp_servers{server=\"peer\",state=\"ready\"} 1\n",
        "tool_gateway_mcp_servers{server=\"peer\",state=\"failed\"} 0\n",
        "tool_gateway_mcp_starts_total{server=\"peer\",result=\"ok\"} 2\n",
        "tool_gateway_mcp_call_seconds_count{server=\"peer\",outcome=\"ok\"} 2\n",
        "tool_gateway_mcp_tools{server=\"peer\"} 11\n",
    ] {
        assert!(metrics.contains(wanted), "{wanted}{metrics}");
    }
}

#[test]
fn servers_end_with_the_gateway() {
    let upstream = Upstream::start(vec![text("done")]);
    let configuration =
        ALWAYS.to_owned() + &server("peer", &json!({}), "") + &server("deaf", &json!({ "deaf": true }), "");
    let mut gateway = Gateway::start(&upstream, &configuration);
    gateway.ask(&request("Hi"));
    let pids = gateway.children();
    assert_eq!(pids.len(), 2);
    assert!(gateway.stop());
    for pid in pids {
        assert!(!is_running(pid), "{pid}");
    }
}

/// A server whose input ends with the gateway ends, too.
#[test]
fn servers_end_with_a_killed_gateway() {
    let upstream = Upstream::start(vec![text("done")]);
    let gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + &server("peer", &json!({}), "")));
    gateway.ask(&request("Hi"));
    let pids = gateway.children();
    assert_eq!(pids.len(), 1);
    gateway.signal("-KILL");
    for pid in pids {
        wait_for_end(pid);
    }
}
