//! Settings that name tools of MCP servers.

use serde_json::json;

use crate::gateway::{Gateway, server};
use crate::program::{Directory, run};
use crate::upstream::{Upstream, call, text};

#[test]
fn a_check_starts_no_server() {
    let directory = Directory::new();
    let trace = directory.path().join("started");
    let text = format!(
        "[mcp.servers.touch]\ncommand = \"touch\"\nargs = [{}]\n",
        json!(trace)
    );
    let file = directory.file("gateway.toml", text);
    let ran = run(&["serve", "--config", &file, "--check-config"], "");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(!trace.exists());
}

/// Names under a prefix pass the check, and are compared with the tools when the servers have listed them.
#[test]
fn settings_may_name_tools_that_are_listed_later() {
    let configuration =
        "[tools]\noffer = \"always\"\ninternal = [\"peer__echo\"]\ndeferred = [\"peer__late\"]\n\
         [tools.alias]\nEcho = \"peer__echo\"\n\
         [[permissions]]\ntool = \"mcp__peer__p*\"\ndecision = \"deny\"\nmessage = \"closed\"\n\
         [[permissions]]\ntool = \"peer__none*\"\ndecision = \"deny\"\n"
            .to_owned()
            + &server("peer", &json!({}), "");
    let upstream = Upstream::start(vec![
        call("peer__pid", &json!({})),
        call("peer__echo", &json!({})),
        text("done"),
    ]);
    let gateway = Gateway::start(&upstream, &configuration);
    let body = json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "Hi" }] });
    gateway.ask(&body);
    let denied = upstream.requests()[1]["messages"][2]["content"][0].clone();
    assert!(denied["content"].as_str().unwrap().contains("closed"), "{denied}");
    assert_eq!(upstream.last_result()["content"], "{}");
    for (setting, pattern) in [
        ("tools.deferred", "peer__late"),
        ("permissions.tool", "peer__none*"),
    ] {
        let line = gateway.log_line(&format!("\"pattern\":\"{pattern}\""));
        assert!(line.contains(&format!("\"setting\":\"{setting}\"")), "{line}");
    }
}

#[test]
fn names_and_patterns_that_no_server_can_have_are_mistakes() {
    let directory = Directory::new();
    let text =
        "[tools]\ninternal = [\"peer_echo\"]\n[[permissions]]\ntool = \"pear__*\"\ndecision = \"deny\"\n"
            .to_owned()
            + &server("peer", &json!({}), "");
    let file = directory.file("gateway.toml", text);
    let ran = run(&["serve", "--config", &file, "--check-config"], "");
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    for wanted in [
        "gateway.toml:2: tools.internal: there is no tool `peer_echo`",
        "gateway.toml:4: permissions.tool: no tool of the gateway is called `pear__*`",
    ] {
        assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    }
}
