//! Hints of tools, which the operator sets, or which a server claims.

use serde_json::{Value, json};

use crate::gateway::{Gateway, server};
use crate::program::{Directory, run};
use crate::upstream::{Upstream, call, text};

/// Returns the page of a server whose tool `brew` claims to be read-only.
fn page() -> Value {
    let schema = json!({ "type": "object", "additionalProperties": true });
    json!({ "tools": [{ "name": "brew", "inputSchema": schema, "annotations": { "readOnlyHint": true } }] })
}

/// Kills the gateway while a call runs, and sends the request again to the next gateway. Returns the result that the model then reads.
fn result_after_a_crash(lines: &str) -> Value {
    // The first server prints a line in place of an answer, and the second one answers.
    let print = json!({ "pieces": ["printed\n"] });
    let upstream = Upstream::start(vec![call("peer__brew", &print), text("done")]);
    let directory = Directory::new();
    let store = json!(format!("file:{}/sessions", directory.path().display()));
    let configuration = |brew: &str| {
        let script = json!({ "pages": { "": page() }, "brew": brew });
        format!("store = {store}\ntools.offer = \"always\"\n") + &server("peer", &script, lines)
    };
    let body = json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "Hi" }] });
    let gateway = Gateway::start_in(directory, &upstream, &configuration("write"));
    let connection = gateway.begin("POST", "/v1/messages", &body.to_string());
    // The test program that is the server prints the first line.
    let printed = "tool_gateway_mcp_messages_total{server=\"peer\",kind=\"ignored\"} 2\n";
    gateway.wait_for_metric(printed);
    gateway.wait_for_metric("tool_gateway_store_seconds_count{operation=\"append\"} ");
    let directory = gateway.kill();
    drop(connection);
    let gateway = Gateway::start_in(directory, &upstream, &configuration("echo"));
    assert_eq!(gateway.ask(&body)["content"], text("done"));
    assert_eq!(upstream.requests().len(), 2);
    upstream.last_result()
}

/// Another call is not repeated: `faults.rs`.
#[test]
fn a_trusted_read_only_call_is_repeated_after_a_crash() {
    let repeated = json!("{\"pieces\":[\"printed\\n\"]}");
    for lines in ["read_only = [\"br*\"]", "trust_hints = true"] {
        let result = result_after_a_crash(lines);
        assert_eq!(
            (&result["content"], &result["is_error"]),
            (&repeated, &Value::Null),
            "{lines}"
        );
    }
}

/// A deferred call runs with the client's results, and another call runs before the client has its calls.
#[test]
fn a_deferred_call_waits_for_the_results_of_the_client() {
    for (lines, is_deferred) in [("deferred = [\"br*\"]", true), ("", false)] {
        let both = json!([
            { "type": "tool_use", "id": "toolu_1", "name": "peer__brew", "input": { "cups": 2 } },
            { "type": "tool_use", "id": "toolu_2", "name": "ask_user", "input": {} },
        ]);
        let upstream = Upstream::start(vec![both, text("done")]);
        let script = json!({ "pages": { "": page() }, "brew": "echo" });
        let configuration = "tools.offer = \"always\"\n".to_owned() + &server("peer", &script, lines);
        let gateway = Gateway::start(&upstream, &configuration);
        let user = json!({ "role": "user", "content": "Hi" });
        let tool = json!({ "name": "ask_user", "input_schema": { "type": "object" } });
        let mut body = json!({ "model": "m", "max_tokens": 9, "messages": [user], "tools": [tool] });
        let answer = gateway.ask(&body);
        let content = answer["content"].as_array().unwrap();
        assert_eq!(content.len(), 1, "{answer}");
        assert_eq!(content[0]["name"], "ask_user");
        let metrics = gateway.send("GET", "/metrics", "").1;
        let has_run = metrics.contains("tool_gateway_mcp_call_seconds_count{server=\"peer\"");
        assert_eq!(has_run, !is_deferred, "{lines}");
        let result = json!({ "type": "tool_result", "tool_use_id": content[0]["id"], "content": "Yes" });
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({ "role": "assistant", "content": answer["content"] }));
        messages.push(json!({ "role": "user", "content": [result] }));
        assert_eq!(gateway.ask(&body)["content"], text("done"));
        let results = upstream.requests()[1]["messages"][2]["content"].clone();
        assert_eq!(results[0]["content"], "{\"cups\":2}", "{results}");
        assert_eq!(results[1]["content"], "Yes");
    }
}

/// The claims of a server have no effect, but clients of MCP see them.
#[test]
fn claims_of_a_server_are_in_the_form_of_mcp_alone() {
    let directory = Directory::new();
    let script = json!({ "pages": { "": page() } });
    let file = directory.file("gateway.toml", server("peer", &script, ""));
    let tool = |format: &str| -> Value {
        let ran = run(&["tools", "--config", &file, "--format", format], "");
        let tools: Vec<Value> = serde_json::from_str(ran.text()).unwrap();
        tools.last().unwrap().clone()
    };
    let mcp = tool("mcp");
    assert_eq!(mcp["name"], "peer__brew");
    assert_eq!(mcp["annotations"], json!({ "readOnlyHint": true }));
    let anthropic = tool("anthropic");
    assert!(!anthropic.to_string().contains("readOnly"), "{anthropic}");
}
