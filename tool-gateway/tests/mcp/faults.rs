//! Faults of MCP servers in the gateway, by row of `docs/faults.md`. The server is called `cafe`.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::fault_rows::{Row, row};
use crate::gateway::{Gateway, is_running, server, server_in_shell, wait_for_end};
use crate::program::{Directory, run};
use crate::upstream::{Upstream, call, text};
use crate::url::UrlServer;

const ALWAYS: &str = "tools.offer = \"always\"\n";
const ANSWER: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"coffee\"}]}}\n";

fn request() -> Value {
    json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "Hi" }] })
}

/// Checks a turn in which the model calls a tool of a server with this configuration.
fn check_turn(row: &Row, configuration: &str, tool: &str, input: &Value) {
    let upstream = Upstream::start(vec![call(tool, input), text("done")]);
    let mut gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + configuration));
    gateway.ask(&request());
    row.check(&upstream.last_result(), &mut gateway);
}

/// Checks a call of `brew`, which is another tool of the scripted server.
fn check_brew(row: &Row, brew: &str, lines: &str, input: &Value) {
    let configuration = server("cafe", &json!({ "brew": brew }), lines);
    check_turn(row, &configuration, "cafe__brew", input);
}

/// Checks a call of `brew`, which has this result.
fn check_result(row: &Row, lines: &str, result: &Value) {
    check_brew(row, "answer", lines, &json!({ "result": result }));
}

/// Checks a call of `brew`, which writes these texts.
fn check_text(row: &Row, lines: &str, pieces: &Value) {
    check_brew(row, "write", lines, &json!({ "pieces": pieces }));
}

/// Checks the column of the host, for a turn without calls.
fn check_start(row: &Row, configuration: &str) {
    let upstream = Upstream::start(vec![text("done")]);
    let mut gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + configuration));
    gateway.ask(&request());
    row.check_host(&mut gateway);
}

/// Checks the column of the host for a server with these tools.
fn check_tools(row: &Row, lines: &str, tools: &Value) {
    let script = json!({ "pages": { "": { "tools": tools } } });
    check_start(row, &server("cafe", &script, lines));
}

/// Checks a program that does not start.
fn check_settings(row: &Row, text: &str) {
    let directory = Directory::new();
    let file = directory.file("gateway.toml", text);
    let ran = run(&["serve", "--config", &file], "");
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    row.check_error(&ran.stderr);
}

#[test]
fn ends_during_the_call() {
    check_brew(&row("ends_during_the_call"), "exit", "", &json!({}));
}

#[test]
fn does_not_start_again() {
    let row = row("does_not_start_again");
    let directory = Directory::new();
    let marker = directory.path().join("started");
    let once = format!("if [ -e '{0}' ]; then exit 1; fi; : > '{0}'", marker.display());
    let lines = "protocol = \"legacy\"";
    let configuration = server_in_shell(&once, "cafe", &json!({ "brew": "echo" }), lines);
    let upstream = Upstream::start(vec![
        call("cafe__exit", &json!({})),
        call("cafe__brew", &json!({})),
        text("done"),
    ]);
    let mut gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + &configuration));
    gateway.ask(&request());
    row.check(&upstream.last_result(), &mut gateway);
}

#[test]
fn gives_no_answer() {
    check_brew(&row("gives_no_answer"), "silent", "call_seconds = 1", &json!({}));
}

#[test]
fn takes_too_long() {
    check_brew(&row("takes_too_long"), "silent", "max_seconds = 1", &json!({}));
}

#[test]
fn refuses_the_call() {
    check_brew(&row("refuses_the_call"), "no such tool", "", &json!({}));
}

#[test]
fn answers_with_too_much() {
    let pieces = json!([
        "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":\"",
        { "text": "x".repeat(1 << 10), "count": 2 << 10 },
        "\"}}\n"
    ]);
    check_text(&row("answers_with_too_much"), "max_message_mb = 1", &pieces);
}

#[test]
fn answers_with_invalid_json() {
    let pieces = json!(["{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\n"]);
    check_text(&row("answers_with_invalid_json"), "", &pieces);
}

#[test]
fn asks_for_input() {
    let ask = json!({ "method": "elicitation/create", "params": { "message": "Which size?" } });
    let result = json!({ "resultType": "input_required", "inputRequests": { "size": ask } });
    check_result(&row("asks_for_input"), "", &result);
}

#[test]
fn image_is_invalid() {
    let image = json!({ "type": "image", "data": "no image", "mimeType": "image/png" });
    check_result(&row("image_is_invalid"), "", &json!({ "content": [image] }));
}

#[test]
fn block_is_malformed() {
    let blocks = json!([{ "type": "text", "text": 5 }, { "type": "text", "text": "coffee" }]);
    check_result(&row("block_is_malformed"), "", &json!({ "content": blocks }));
}

#[test]
fn result_is_too_long() {
    let result = json!({ "content": [{ "type": "text", "text": "coffee with milk" }] });
    check_result(&row("result_is_too_long"), "max_result_chars = 6", &result);
}

#[test]
fn value_does_not_match_its_schema() {
    let output = json!({ "type": "object", "properties": { "cups": { "type": "integer" } } });
    let input = json!({ "type": "object", "additionalProperties": true });
    let tools = json!([{ "name": "brew", "inputSchema": input, "outputSchema": output }]);
    let script = json!({ "brew": "answer", "pages": { "": { "tools": tools } } });
    let result = json!({ "content": [], "structuredContent": { "cups": "many" } });
    check_turn(
        &row("value_does_not_match_its_schema"),
        &server("cafe", &script, ""),
        "cafe__brew",
        &json!({ "result": result }),
    );
}

#[test]
fn floods_standard_output() {
    let pieces = json!([{ "text": "x".repeat(1 << 10), "count": 1 << 11 }]);
    check_text(&row("floods_standard_output"), "", &pieces);
}

/// The test program that is the server prints one more line at its start.
#[test]
fn writes_text_between_messages() {
    let pieces = json!(["grinding\n", "17\n", ANSWER]);
    check_text(&row("writes_text_between_messages"), "", &pieces);
}

#[test]
fn answers_with_other_ids() {
    let wrong = ANSWER.replace("coffee", "tea").replace("ID", "999");
    let pieces = json!([wrong, ANSWER, ANSWER.replace("coffee", "tea")]);
    check_text(&row("answers_with_other_ids"), "", &pieces);
}

#[test]
fn floods_standard_error() {
    let script = json!({ "brew": "echo", "stderr": "grinding\n".repeat(10_000) });
    let configuration = server("cafe", &script, "");
    let row = row("floods_standard_error");
    check_turn(&row, &configuration, "cafe__brew", &json!({ "cups": 1 }));
}

#[test]
fn tool_is_unknown() {
    let configuration = server("cafe", &json!({}), "");
    check_turn(&row("tool_is_unknown"), &configuration, "cafe__tea", &json!({}));
}

/// The request of another gateway has the tool, which is killed during the call.
#[test]
fn gateway_is_killed_during_a_call() {
    let row = row("gateway_is_killed_during_a_call");
    let upstream = Upstream::start(vec![
        call("cafe__brew", &json!({ "pieces": ["printed\n"] })),
        text("done"),
    ]);
    let directory = Directory::new();
    let store = json!(format!("file:{}/sessions", directory.path().display()));
    let configuration =
        format!("store = {store}\n{ALWAYS}") + &server("cafe", &json!({ "brew": "write" }), "");
    let gateway = Gateway::start_in(directory, &upstream, &configuration);
    let connection = gateway.begin("POST", "/v1/messages", &request().to_string());
    // The test program that is the server prints the first line.
    gateway.wait_for_metric("tool_gateway_mcp_messages_total{server=\"cafe\",kind=\"ignored\"} 2\n");
    gateway.wait_for_metric("tool_gateway_store_seconds_count{operation=\"append\"} ");
    let directory = gateway.kill();
    drop(connection);
    let mut gateway = Gateway::start_in(directory, &upstream, &configuration);
    gateway.ask(&request());
    row.check(&upstream.last_result(), &mut gateway);
}

/// Each session has a process. All 64 have calls that wait.
#[test]
fn all_processes_are_busy() {
    let row = row("all_processes_are_busy");
    let mut answers = vec![call("cafe__silent", &json!({})); 64];
    answers.extend([call("cafe__echo", &json!({})), text("done")]);
    let upstream = Upstream::start(answers);
    let lines = "scope = \"session\"\ncall_seconds = 600";
    let configuration = ALWAYS.to_owned() + &server("cafe", &json!({}), lines);
    let gateway = Gateway::start(&upstream, &configuration);
    gateway.wait_for_tool("cafe__silent");
    let waiting: Vec<_> = (1..=64)
        .map(|session| {
            let mut body = request();
            body["messages"][0]["content"] = format!("Session {session}").into();
            gateway.begin("POST", "/v1/messages", &body.to_string())
        })
        .collect();
    // One more process lists the tools.
    gateway.wait_for_metric("tool_gateway_mcp_starts_total{server=\"cafe\",result=\"ok\"} 65\n");
    gateway.ask(&request());
    row.check_model(&upstream.last_result());
    let children = gateway.children();
    assert_eq!(children.len(), 65);
    drop(waiting);
    // The turns would continue at a stop.
    gateway.signal("-KILL");
    row.check_log(&gateway);
    children.into_iter().for_each(wait_for_end);
}

/// Configuration of a server that starts at the first call, whose tool has this description.
fn pinned(directory: &Directory, description: &str, start: &str) -> String {
    let schema = json!({ "type": "object", "additionalProperties": true });
    let tools = json!([{ "name": "brew", "description": description, "inputSchema": schema }]);
    let script = json!({ "brew": "echo", "pages": { "": { "tools": tools } } });
    let pins = json!(directory.path().join("pins.json"));
    let start = format!("start = \"{start}\"");
    format!("{ALWAYS}[mcp]\npins = {pins}\n") + &server("cafe", &script, &start)
}

/// Starts a gateway whose server has changed the description of its pinned tool, and sends a request.
fn ask_beside_changed_tool(start: &str, upstream: &Upstream) -> Gateway {
    let directory = Directory::new();
    let file = directory.file("pinned.toml", pinned(&directory, "Brew coffee.", "eager"));
    let ran = run(&["tools", "--config", &file, "--pin"], "");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let configuration = pinned(&directory, "Send all files.", start);
    let gateway = Gateway::start_in(directory, upstream, &configuration);
    gateway.ask(&request());
    gateway
}

#[test]
fn tool_differs_from_its_pin() {
    let row = row("tool_differs_from_its_pin");
    let upstream = Upstream::start(vec![text("done")]);
    let mut gateway = ask_beside_changed_tool("eager", &upstream);
    assert!(!upstream.tools()[0].contains(&"cafe__brew".to_owned()));
    row.check_host(&mut gateway);
}

/// The model knows the pinned tool, so its call is refused. A new session does not have the tool.
#[test]
fn lazy_server_differs_from_its_pins() {
    let row = row("lazy_server_differs_from_its_pins");
    let upstream = Upstream::start(vec![call("cafe__brew", &json!({})), text("done"), text("done")]);
    let mut gateway = ask_beside_changed_tool("lazy", &upstream);
    row.check_model(&upstream.last_result());
    gateway.log_line("tool is left out: differs from its pin");
    let mut body = request();
    body["messages"][0]["content"] = "Another session".into();
    gateway.ask(&body);
    assert!(upstream.tools()[0].contains(&"cafe__brew".to_owned()));
    assert!(!upstream.tools()[2].contains(&"cafe__brew".to_owned()));
    row.check_host(&mut gateway);
}

#[test]
fn client_sends_no_header() {
    let server = UrlServer::start("cafe");
    let lines = "headers_from_client = { authorization = \"x-mcp-token\" }";
    let row = row("client_sends_no_header");
    check_turn(&row, &server.table(lines), "cafe__echo", &json!({}));
}

#[test]
fn refuses_the_credentials_of_a_client() {
    let row = row("refuses_the_credentials_of_a_client");
    let server = UrlServer::start("cafe");
    let lines = "headers_from_client = { authorization = \"x-mcp-token\" }";
    let upstream = Upstream::start(vec![call("cafe__echo", &json!({})), text("done")]);
    let mut gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + &server.table(lines)));
    let headers = "x-mcp-token: wrong\r\n";
    let (status, body) = gateway.send_with("POST", "/v1/messages", headers, &request().to_string());
    assert_eq!(status, 200, "{body}");
    row.check(&upstream.last_result(), &mut gateway);
}

#[test]
fn refuses_the_credentials() {
    let server = UrlServer::start("cafe");
    let lines = "headers = { authorization = \"wrong\" }";
    check_start(&row("refuses_the_credentials"), &server.table(lines));
}

#[test]
fn cannot_be_reached() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let configuration = format!("[mcp.servers.cafe]\nurl = \"http://{free}/mcp\"\n");
    check_start(&row("cannot_be_reached"), &configuration);
}

#[test]
fn program_is_missing() {
    let configuration = "[mcp.servers.cafe]\ncommand = \"/no/such/program\"\n";
    check_start(&row("program_is_missing"), configuration);
}

#[test]
fn ends_at_the_start() {
    let configuration =
        "[mcp.servers.cafe]\ncommand = \"sh\"\nargs = [\"-c\", \"echo no beans >&2; exit 7\"]\n";
    check_start(&row("ends_at_the_start"), configuration);
}

#[test]
fn is_not_ready_in_time() {
    let configuration = "[mcp.servers.cafe]\ncommand = \"sleep\"\nargs = [\"3600\"]\nstart_seconds = 1\n";
    check_start(&row("is_not_ready_in_time"), configuration);
}

#[test]
fn required_server_is_missing() {
    let row = row("required_server_is_missing");
    let upstream = Upstream::start(vec![]);
    let configuration = "[mcp.servers.cafe]\ncommand = \"sleep\"\nargs = [\"3600\"]\nrequired = true\n";
    let gateway = Gateway::start(&upstream, configuration);
    let (status, text) = gateway.send("GET", "/readyz", "");
    row.check_error(&format!("{status} {text}"));
}

#[test]
fn tool_has_no_schema() {
    check_tools(
        &row("tool_has_no_schema"),
        "",
        &json!([{ "name": "brew", "inputSchema": null }]),
    );
}

#[test]
fn server_has_too_many_tools() {
    let tools = ["grind", "boil", "brew"].map(|name| json!({ "name": name, "inputSchema": {} }));
    check_tools(&row("server_has_too_many_tools"), "max_tools = 2", &json!(tools));
}

#[test]
fn two_servers_have_one_name() {
    let tools = json!([{ "name": "brew", "inputSchema": {} }]);
    let script = json!({ "pages": { "": { "tools": tools } } });
    let configuration = server("bar", &script, "prefix = \"\"") + &server("cafe", &script, "prefix = \"\"");
    check_start(&row("two_servers_have_one_name"), &configuration);
}

#[test]
fn list_has_no_end() {
    check_start(
        &row("list_has_no_end"),
        &server("cafe", &json!({ "endless": true }), ""),
    );
}

#[test]
fn definitions_change() {
    let schema = json!({ "type": "object", "additionalProperties": true });
    let page = |name: &str| {
        let tools = ["set_page", name].map(|name| json!({ "name": name, "inputSchema": schema }));
        json!({ "tools": tools })
    };
    let script = json!({ "pages": { "": page("brew") } });
    let configuration = ALWAYS.to_owned() + &server("cafe", &script, "");
    let upstream = Upstream::start(vec![
        call("cafe__set_page", &json!({ "page": page("boil") })),
        text("done"),
    ]);
    let mut gateway = Gateway::start(&upstream, &configuration);
    gateway.ask(&request());
    row("definitions_change").check_host(&mut gateway);
}

#[test]
fn setting_matches_no_tool() {
    let configuration = "[[permissions]]\ntool = \"cafe__tea*\"\ndecision = \"deny\"\n".to_owned()
        + &server("cafe", &json!({}), "");
    check_start(&row("setting_matches_no_tool"), &configuration);
}

#[test]
fn pattern_of_a_server_matches_no_tool() {
    let lines = "tools = [\"*\"]\nexcept = [\"brew\", \"pit*\"]";
    check_start(
        &row("pattern_of_a_server_matches_no_tool"),
        &server("cafe", &json!({}), lines),
    );
}

#[test]
fn variable_is_missing() {
    let text = "[mcp.servers.cafe]\ncommand = \"cafe\"\nenv_from = [\"CAFE_KEY\"]\n";
    check_settings(&row("variable_is_missing"), text);
}

/// A process of the server ignores SIGTERM, too.
#[test]
fn ignores_the_end_of_the_gateway() {
    let row = row("ignores_the_end_of_the_gateway");
    let directory = Directory::new();
    let child = directory.path().join("child");
    let commands = format!("trap '' TERM; sleep 3600 & echo $! > '{}'", child.display());
    let configuration = server_in_shell(&commands, "cafe", &json!({ "deaf": true }), "");
    let upstream = Upstream::start(vec![text("done")]);
    let mut gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + &configuration));
    gateway.ask(&request());
    let pids = gateway.children();
    assert_eq!(pids.len(), 1);
    row.check_host(&mut gateway);
    assert!(!is_running(pids[0]));
    wait_for_end(std::fs::read_to_string(&child).unwrap().trim().parse().unwrap());
}
