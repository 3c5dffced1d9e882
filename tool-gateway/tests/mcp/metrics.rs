//! Metrics of servers, one test for each line of their table.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gateway::{Gateway, server};
use crate::upstream::{Upstream, call, text};

fn ask(gateway: &Gateway, text: &str) {
    gateway.ask(&json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": text }] }));
}

/// Waits until the metrics have these lines, and returns all of them. The test runner's limit ends a test that waits forever.
fn wait_for_lines(gateway: &Gateway, wanted: &[&str]) -> String {
    loop {
        let (_, metrics) = gateway.send("GET", "/metrics", "");
        if wanted.iter().all(|line| metrics.contains(line)) {
            return metrics;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A server that writes one message of each kind beside its answers.
#[test]
fn messages_that_are_no_answers_are_counted_by_kind() {
    let any = json!({ "type": "object", "additionalProperties": true });
    let output = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let page = json!({ "tools": [
        { "name": "write", "inputSchema": any },
        { "name": "answer", "inputSchema": any, "outputSchema": output },
    ] });
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n";
    let pieces = json!([
        { "text": "progress: 10 %\n", "count": 3 },
        "{\"jsonrpc\":\"2.0\",\"id\":987654,\"result\":{}}\n",
        "{\"jsonrpc\":\"2.0\"}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n",
        { "text": answer, "count": 2 },
    ]);
    let wrong = json!({ "result": { "content": [], "structuredContent": { "n": "many" } } });
    let upstream = Upstream::start(vec![
        call("peer__write", &json!({ "pieces": pieces })),
        call("peer__answer", &wrong),
        text("done"),
    ]);
    let configuration =
        "tools.offer = \"always\"\n".to_owned() + &server("peer", &json!({ "pages": { "": page } }), "");
    let gateway = Gateway::start(&upstream, &configuration);
    ask(&gateway, "Hi");
    // The test program that is the server writes one line at its start.
    wait_for_lines(
        &gateway,
        &[
            "tool_gateway_mcp_messages_total{server=\"peer\",kind=\"ignored\"} 4\n",
            "tool_gateway_mcp_messages_total{server=\"peer\",kind=\"unknown_id\"} 1\n",
            "tool_gateway_mcp_messages_total{server=\"peer\",kind=\"late\"} 1\n",
            "tool_gateway_mcp_messages_total{server=\"peer\",kind=\"invalid\"} 1\n",
            "tool_gateway_mcp_messages_total{server=\"peer\",kind=\"list_changed\"} 1\n",
            "tool_gateway_mcp_messages_total{server=\"peer\",kind=\"invalid_output\"} 1\n",
        ],
    );
}

/// All metrics of servers, with the values that a ready server and a server that cannot start have.
#[test]
fn every_metric_has_labels_of_the_configuration_only() {
    let set_page = |name: &str| {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object", "additionalProperties": true } });
        json!({ "tools": [tool("set_page"), tool(name), { "name": "broken" }, tool("no")] })
    };
    let upstream = Upstream::start(vec![
        call("peer__set_page", &json!({ "page": set_page("echo") })),
        call("peer__pid", &json!({})),
        text("done"),
    ]);
    let script = json!({ "pages": { "": set_page("pid") } });
    let configuration = "tools.offer = \"always\"\n".to_owned()
        + &server("peer", &script, "except = [\"no\"]")
        + "[mcp.servers.missing]\ncommand = \"/no/such/program\"\n";
    let gateway = Gateway::start(&upstream, &configuration);
    ask(&gateway, "Hi");
    let metrics = wait_for_lines(
        &gateway,
        &[
            "tool_gateway_mcp_servers{server=\"peer\",state=\"ready\"} 1\n",
            "tool_gateway_mcp_servers{server=\"missing\",state=\"failed\"} 1\n",
            "tool_gateway_mcp_starts_total{server=\"peer\",result=\"ok\"} 1\n",
            "tool_gateway_mcp_starts_total{server=\"missing\",result=\"failed\"}",
            "tool_gateway_mcp_call_seconds_count{server=\"peer\",outcome=\"ok\"} 2\n",
            "tool_gateway_mcp_tools{server=\"peer\"} 2\n",
            "tool_gateway_mcp_tools{server=\"missing\"} 0\n",
            "tool_gateway_mcp_tools_left_out{server=\"peer\",reason=\"malformed\"} 1\n",
            "tool_gateway_mcp_tools_left_out{server=\"peer\",reason=\"filtered\"} 1\n",
            "tool_gateway_mcp_definitions_changed_total{server=\"peer\"} 1\n",
            "tool_gateway_mcp_messages_total{server=\"peer\",kind=\"list_changed\"} 1\n",
        ],
    );
    // No text of a server, such as the name of a tool, is a label.
    let lines = metrics
        .lines()
        .filter(|line| line.starts_with("tool_gateway_mcp_"));
    let labels: BTreeSet<String> = lines
        .filter_map(|line| line.split_once('{')?.1.split_once('}'))
        .flat_map(|(labels, _)| labels.split(',').map(str::to_owned).collect::<Vec<_>>())
        .filter(|label| !label.starts_with("le="))
        .collect();
    let states = ["starting", "ready", "failed", "unauthorized", "stopped"];
    let mut expected: BTreeSet<String> = states.map(|state| format!("state=\"{state}\"")).into();
    expected.extend(
        [
            "server=\"peer\"",
            "server=\"missing\"",
            "result=\"ok\"",
            "result=\"failed\"",
            "outcome=\"ok\"",
            "reason=\"malformed\"",
            "reason=\"filtered\"",
            "kind=\"list_changed\"",
            "kind=\"ignored\"",
        ]
        .map(str::to_owned),
    );
    assert_eq!(labels, expected);
}

/// Returns the `_meta` of the last call that the server received.
fn meta(upstream: &Upstream) -> Value {
    let result = upstream.last_result();
    let received: Vec<Value> = serde_json::from_str(result["content"].as_str().unwrap()).unwrap();
    received.last().unwrap()["params"]["_meta"].clone()
}

#[test]
fn a_server_receives_no_trace_without_a_collector() {
    let upstream = Upstream::start(vec![call("peer__received", &json!({})), text("done")]);
    let configuration = "tools.offer = \"always\"\n".to_owned() + &server("peer", &json!({}), "");
    let gateway = Gateway::start(&upstream, &configuration);
    ask(&gateway, "Hi");
    let meta = meta(&upstream);
    let names: Vec<_> = meta.as_object().unwrap().keys().collect();
    assert_eq!(names, ["progressToken"]);
}

#[cfg(feature = "otlp")]
#[test]
fn a_call_of_a_server_is_a_part_of_its_clients_trace() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let upstream = Upstream::start(vec![call("peer__received", &json!({})), text("done")]);
    let configuration = "tools.offer = \"always\"\n".to_owned() + &server("peer", &json!({}), "");
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")];
    let gateway = Gateway::start_with_variables(&upstream, &configuration, &variables);
    let body = json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "Hi" }] });
    let client = "00f067aa0ba902b7";
    let headers = format!("traceparent: 00-{TRACE}-{client}-01\r\ntracestate: vendor=1\r\n");
    let (status, answer) = gateway.send_with("POST", "/v1/messages", &headers, &body.to_string());
    assert_eq!(status, 200, "{answer}");
    let meta = meta(&upstream);
    let parent = meta["traceparent"].as_str().unwrap();
    let parts: Vec<_> = parent.split('-').collect();
    assert_eq!([parts[0], parts[1], parts[3]], ["00", TRACE, "01"]);
    assert_ne!(parts[2], client, "the span of the call");
    assert_eq!(meta["tracestate"], "vendor=1");
    assert!(meta["progressToken"].is_number(), "{meta}");
}
