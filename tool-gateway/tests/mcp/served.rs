//! The gateway's tools for clients of MCP: at `/mcp`, and over standard input and output.

use serde_json::{Value, json};

use crate::gateway::{Gateway, server};
use crate::program::{Directory, run};
use crate::upstream::Upstream;

const META: &str = "io.modelcontextprotocol";

/// Returns a request of revision 2026-07-28.
fn request(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        format!("{META}/protocolVersion"): "2026-07-28",
        format!("{META}/clientCapabilities"): {},
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Sends a message to `/mcp` with these headers in addition, and returns the status and the answer.
fn post(gateway: &Gateway, message: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut all = vec![("accept", "application/json, text/event-stream")];
    let name = message["params"]["name"].as_str().unwrap_or_default();
    if message["params"]["_meta"].is_object() {
        all.push(("mcp-protocol-version", "2026-07-28"));
        all.push(("mcp-method", message["method"].as_str().unwrap()));
        all.push(("mcp-name", name));
    }
    all.extend(headers);
    let head: String = all
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let (status, body) = gateway.send_with("POST", "/mcp", &head, &message.to_string());
    let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
    (status, body)
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn tools_of_the_program_and_of_servers_are_served() {
    let audio = json!({ "content": [{ "type": "audio", "data": "UklGRgAAAAA=", "mimeType": "audio/wav" }] });
    let configuration =
        "[mcp]\nserve = true\nserve_tools = [\"Todo*\", \"peer__*\"]\ninstructions = \"Plan first.\"\n"
            .to_owned()
            + "[[permissions]]\ntool = \"peer__pid\"\ndecision = \"ask\"\n"
            + &server("peer", &json!({}), "tools = [\"echo\", \"answer\", \"pid\"]");
    let upstream = Upstream::start(vec![]);
    let gateway = Gateway::start(&upstream, &configuration);
    gateway.wait_for_tool("peer__echo");
    let (status, answer) = post(&gateway, &request("server/discover", json!({})), &[]);
    assert_eq!(
        (status, &answer["result"]["instructions"]),
        (200, &json!("Plan first."))
    );
    assert_eq!(
        answer["result"]["_meta"][format!("{META}/serverInfo")]["name"],
        "tool-gateway"
    );
    let list = loop {
        let (_, list) = post(&gateway, &request("tools/list", json!({})), &[]);
        if names(&list).len() > 2 {
            break list;
        }
        // The generation is published before the endpoint has replaced its tools.
        std::thread::yield_now();
    };
    assert_eq!(
        names(&list),
        ["TodoWrite", "TodoRead", "peer__answer", "peer__echo", "peer__pid"]
    );
    assert_eq!(list["result"]["cacheScope"], "public");
    let call = |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        post(&gateway, &request("tools/call", params), &[]).1
    };
    assert_eq!(
        text(&call("peer__echo", json!({ "word": "tea" }))),
        "{\"word\":\"tea\"}"
    );
    let answer = call("peer__answer", json!({ "result": audio }));
    assert_eq!(answer["result"]["content"], audio["content"]);
    let answer = call("peer__pid", json!({}));
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(
        text(&answer),
        "the call was denied because it needs an approval, which this server cannot ask for"
    );
    let todos = json!({ "todos": [{ "content": "Test", "status": "pending", "activeForm": "Testing" }] });
    let answer = call("TodoWrite", todos);
    assert_eq!(answer["result"].get("isError"), None, "{answer}");
    assert!(text(&call("TodoRead", json!({}))).contains("Test"));

    let old = json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": { "protocolVersion": "2025-11-25" } });
    assert_eq!(
        post(&gateway, &old, &[]).1["result"]["protocolVersion"],
        "2025-11-25"
    );
    for (header, status) in [
        (("origin", "https://evil.example"), 403),
        (("host", "evil.example"), 403),
    ] {
        assert_eq!(
            post(&gateway, &request("tools/list", json!({})), &[header]).0,
            status,
            "{header:?}"
        );
    }
    // Compressed bodies are read, also if these are no messages.
    let body = include_bytes!("../server/compressed/body.json.gz");
    let (status, answer) = gateway.send_with("POST", "/mcp", "content-encoding: gzip\r\n", body);
    assert_eq!(status, 400);
    assert!(answer.contains("missing `method`, a string"), "{answer}");
    assert_eq!(gateway.send("GET", "/mcp", "").0, 405);
    let (_, metrics) = gateway.send("GET", "/metrics", "");
    assert!(metrics.contains("route=\"/mcp\""), "{metrics}");
}

#[test]
fn clients_have_their_tools_sessions_and_origins() {
    // SHA-256 of `key-of-ada` and `key-of-bob`.
    let configuration = "allowed_origins = [\"app://*\"]\n[mcp]\nserve = true\n";
    let upstream = Upstream::start(vec![]);
    let gateway = Gateway::start_with_keys(&upstream, configuration, "ada=key-of-ada,bob=key-of-bob");
    let list = request("tools/list", json!({}));
    assert_eq!(post(&gateway, &list, &[]).0, 401);
    let ada = ("authorization", "Bearer key-of-ada");
    let bob = ("authorization", "Bearer key-of-bob");
    let (status, answer) = post(&gateway, &list, &[ada]);
    assert_eq!(
        (status, &answer["result"]["cacheScope"]),
        (200, &json!("private"))
    );
    for (origin, status) in [
        ("https://evil.example", 403),
        ("app://obsidian.md", 200),
        ("http://localhost:1", 200),
    ] {
        assert_eq!(
            post(&gateway, &list, &[ada, ("origin", origin)]).0,
            status,
            "{origin}"
        );
    }
    let todos = json!({ "todos": [{ "content": "Test", "status": "pending", "activeForm": "Testing" }] });
    let write = request("tools/call", json!({ "name": "TodoWrite", "arguments": todos }));
    assert_eq!(post(&gateway, &write, &[ada]).0, 200);
    let read = request("tools/call", json!({ "name": "TodoRead" }));
    assert!(text(&post(&gateway, &read, &[ada]).1).contains("Test"));
    assert!(!text(&post(&gateway, &read, &[bob]).1).contains("Test"));
}

#[test]
fn nothing_is_served_by_default() {
    let upstream = Upstream::start(vec![]);
    let gateway = Gateway::start(&upstream, "");
    assert_eq!(post(&gateway, &request("tools/list", json!({})), &[]).0, 404);
}

#[test]
fn unknown_patterns_of_served_tools_are_mistakes() {
    let directory = Directory::new();
    let file = directory.file("gateway.toml", "[mcp]\nserve_tools = [\"Todo*\", \"Tdo*\"]\n");
    let ran = run(&["serve", "--config", &file, "--check-config"], "");
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("gateway.toml:2: mcp.serve_tools: no tool of the gateway is called `Tdo*`"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_client_that_starts_the_program_has_the_tools_of_serve() {
    let directory = Directory::new();
    let text =
        "[tools]\nnames = [\"TodoRead\"]\n".to_owned() + &server("peer", &json!({}), "tools = [\"echo\"]");
    let file = directory.file("gateway.toml", text);
    let messages = [
        request("tools/list", json!({})),
        request(
            "tools/call",
            json!({ "name": "peer__echo", "arguments": { "word": "tea" } }),
        ),
    ];
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let ran = run(&["mcp", "--config", &file], &input);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let stdout = String::from_utf8(ran.stdout).unwrap();
    let answers: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(names(&answers[0]), ["TodoRead", "peer__echo"]);
    assert_eq!(self::text(&answers[1]), "{\"word\":\"tea\"}");
}

#[test]
fn the_program_ends_its_subscriptions_when_it_is_stopped() {
    let upstream = Upstream::start(vec![]);
    let mut gateway = Gateway::start(&upstream, "mcp.serve = true\n");
    let listen = request(
        "subscriptions/listen",
        json!({ "notifications": { "toolsListChanged": true } }),
    );
    let address = gateway.address().to_owned();
    let stream = std::thread::spawn(move || {
        Gateway::send_to(
            &address,
            "POST",
            "/mcp",
            "accept: text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\n",
            &listen.to_string(),
        )
    });
    loop {
        let (_, metrics) = gateway.send("GET", "/metrics", "");
        if metrics.contains("route=\"/mcp\"") {
            break;
        }
    }
    assert!(gateway.stop());
    let (status, body) = stream.join().unwrap();
    assert_eq!(status, 200);
    assert!(
        body.contains("subscriptions/acknowledged") && body.contains("\"resultType\":\"complete\""),
        "{body}"
    );
}

#[test]
fn a_gateway_that_does_not_serve_its_tools_names_the_setting() {
    let upstream = Upstream::start(vec![]);
    let mut gateway = Gateway::start(&upstream, &server("peer", &json!({}), ""));
    gateway.wait_for_tool("peer__echo");
    let (status, answer) = post(&gateway, &request("server/discover", json!({})), &[]);
    assert_eq!(status, 404, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    let wanted = "`/mcp` is not served; start the gateway with `--mcp`, or set `serve = true` in `[mcp]`";
    assert_eq!(message, wanted);
    gateway.stop();
    let log = gateway.whole_log();
    assert!(
        log.iter().all(|line| !line.contains("rmcp")),
        "lines of the SDK: {log:#?}"
    );
}
