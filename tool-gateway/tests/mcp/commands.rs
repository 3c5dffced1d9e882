//! The commands `tools` and `call` with a configuration.

use serde_json::{Value, json};

use crate::gateway::{server, wait_for_end};
use crate::program::{Directory, run};

/// Returns a configuration with a server, whose list has an unusable tool, and a server that cannot be started.
fn configuration(directory: &Directory) -> String {
    let schema = json!({ "type": "object", "additionalProperties": true });
    let page = json!({ "tools": [
        { "name": "pid", "inputSchema": schema },
        { "name": "echo", "inputSchema": schema },
        { "name": "broken", "inputSchema": null },
    ] });
    let text = server("peer", &json!({ "pages": { "": page } }), "except = [\"no*\"]")
        + "[mcp.servers.missing]\ncommand = \"/no/such/program\"\n";
    directory.file("gateway.toml", text)
}

#[test]
fn tools_lists_the_tools_of_servers_and_reports_the_others() {
    let directory = Directory::new();
    let file = configuration(&directory);
    let ran = run(&["tools", "--config", &file], "");
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let tools: Vec<Value> = serde_json::from_str(ran.text()).unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["TodoWrite", "TodoRead", "peer__echo", "peer__pid"]);
    for wanted in [
        "server `peer`: broken: ",
        "MCP server `missing`: cannot start `/no/such/program`",
    ] {
        assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    }
}

#[test]
fn call_starts_the_server_of_a_tool_and_stops_it() {
    let directory = Directory::new();
    let file = configuration(&directory);
    let ran = run(&["call", "--config", &file, "peer__pid"], "");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let result: Value = serde_json::from_str(ran.text()).unwrap();
    let content = &result["content"];
    let pid = content.as_str().or(content[0]["text"].as_str()).unwrap();
    wait_for_end(pid.parse().unwrap());
    // Tools of the program need no server, and a tool that its server does not have is an error.
    let ran = run(&["call", "--config", &file, "TodoRead"], "");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let ran = run(&["call", "--config", &file, "peer__nope"], "");
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains(
            "there is no tool `peer__nope`; the tools are TodoWrite, TodoRead, peer__echo, peer__pid"
        ),
        "{}",
        ran.stderr
    );
    let ran = run(&["call", "--config", &file, "missing__any"], "");
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr
            .contains("MCP server `missing`: cannot start `/no/such/program`"),
        "{}",
        ran.stderr
    );
}
