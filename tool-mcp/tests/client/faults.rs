//! Faults of MCP servers, by row of `docs/faults.md`. The server is called `cafe`.

use std::time::{Duration, Instant};

use tool_mcp::{McpClient, McpCommand};
use tool_runtime::serde_json::{Value, from_str, json};
use tool_runtime::{CancellationToken, Context, ToolCall, ToolOutcome};

use crate::fault_rows::{Row, row};
use crate::peer::initialized;
use crate::support::{call_text, methods, peer, peer_in_shell, pid, registry, wait_for_end, wait_for_method};

/// Calls `brew`, which is another tool of the scripted server.
async fn brew(row: &Row, tool: &str, arguments: Value) -> ToolOutcome {
    brew_at(row, peer(&json!({ "brew": tool })), arguments).await
}

async fn brew_at(row: &Row, command: McpCommand, arguments: Value) -> ToolOutcome {
    let client = command.name("cafe").connect().await.unwrap();
    let outcome = registry(&client)
        .call(ToolCall::new(row.id(), "brew", arguments))
        .await;
    client.stop().await;
    outcome
}

/// Calls `brew`, which has this result.
async fn brew_result(row: &Row, result: Value) -> ToolOutcome {
    brew(row, "answer", json!({ "result": result })).await
}

/// Calls `brew`, which writes these texts.
async fn brew_text(row: &Row, pieces: Value) -> ToolOutcome {
    brew(row, "write", json!({ "pieces": pieces })).await
}

const ANSWER: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"coffee\"}]}}\n";

#[tokio::test]
async fn ends_during_the_call() {
    let row = row("ends_during_the_call");
    row.check(&brew(&row, "exit", json!({})).await);
}

#[tokio::test]
async fn is_not_running() {
    let row = row("is_not_running");
    let marker = std::env::temp_dir().join(format!("tool-mcp-{}", std::process::id()));
    let once = format!("if [ -e '{0}' ]; then exit 1; fi; : > '{0}'", marker.display());
    let command = peer_in_shell(&once, &json!({ "brew": "exit", "discover": null }));
    let client = command
        .name("cafe")
        .protocol(tool_mcp::Protocol::Legacy)
        .connect()
        .await
        .unwrap();
    let registry = registry(&client);
    registry.execute_tool("toolu_first", "brew", "{}").await;
    let outcome = registry.call(ToolCall::new(row.id(), "brew", "{}")).await;
    std::fs::remove_file(marker).unwrap();
    row.check(&outcome);
}

#[tokio::test]
async fn was_stopped() {
    let row = row("was_stopped");
    let client = peer(&json!({ "brew": "echo" }))
        .name("cafe")
        .connect()
        .await
        .unwrap();
    let registry = registry(&client);
    client.stop().await;
    row.check(&registry.call(ToolCall::new(row.id(), "brew", "{}")).await);
}

#[tokio::test]
async fn does_not_read() {
    let row = row("does_not_read");
    let command = peer(&json!({ "brew": "echo" }))
        .max_calls(1000)
        .call_timeout(Duration::from_secs(2));
    let client = command.name("cafe").connect().await.unwrap();
    let registry = registry(&client);
    let mute = registry.execute_tool("toolu_first", "mute", "{}");
    // The pipe has 64 KiB, the queue 256 messages.
    let arguments = json!({ "cups": "x".repeat(1 << 10) });
    let calls: Vec<_> = (0..400)
        .map(|at| {
            let id = if at < 399 { format!("toolu_{at}") } else { row.id() };
            let call = ToolCall::new(id, "brew", &arguments);
            let registry = registry.clone();
            tokio::spawn(async move { registry.call(call).await })
        })
        .collect();
    let last = async {
        let mut last = None;
        for call in calls {
            last = Some(call.await.unwrap());
        }
        last.unwrap()
    };
    let (_, outcome) = tokio::join!(mute, last);
    row.check(&outcome);
}

#[tokio::test]
async fn gives_no_answer() {
    let row = row("gives_no_answer");
    let command = peer(&json!({ "brew": "silent" })).call_timeout(Duration::from_millis(100));
    row.check(&brew_at(&row, command, json!({})).await);
}

#[tokio::test]
async fn takes_too_long() {
    let row = row("takes_too_long");
    let command = peer(&json!({ "brew": "silent" })).max_call_duration(Duration::from_millis(100));
    row.check(&brew_at(&row, command, json!({})).await);
}

#[tokio::test]
async fn refuses_the_call() {
    let row = row("refuses_the_call");
    row.check(&brew(&row, "no such tool", json!({})).await);
}

#[tokio::test]
async fn answers_with_too_much() {
    let row = row("answers_with_too_much");
    let pieces = json!([
        "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":\"",
        { "text": "x".repeat(1000), "count": 200 },
        "\"}}\n"
    ]);
    let command = peer(&json!({ "brew": "write" })).max_message_bytes(100_000);
    let outcome = brew_at(&row, command, json!({ "pieces": pieces })).await;
    row.check(&outcome);
}

#[tokio::test]
async fn answers_with_invalid_json() {
    let row = row("answers_with_invalid_json");
    row.check(&brew_text(&row, json!(["{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\n"])).await);
}

#[tokio::test]
async fn answers_with_no_result() {
    let row = row("answers_with_no_result");
    row.check(&brew_result(&row, json!({ "content": "coffee" })).await);
}

#[tokio::test]
async fn asks_for_input() {
    let row = row("asks_for_input");
    let requests =
        json!({ "size": { "method": "elicitation/create", "params": { "message": "Which size?" } } });
    row.check(
        &brew_result(
            &row,
            json!({ "resultType": "input_required", "inputRequests": requests }),
        )
        .await,
    );
}

#[tokio::test]
async fn result_is_too_long() {
    let row = row("result_is_too_long");
    let command = peer(&json!({ "brew": "answer" })).max_result_chars(6);
    let result = json!({ "content": [{ "type": "text", "text": "coffee with milk" }] });
    row.check(&brew_at(&row, command, json!({ "result": result })).await);
}

#[tokio::test]
async fn value_does_not_match_its_schema() {
    let row = row("value_does_not_match_its_schema");
    let schema = json!({ "type": "object", "properties": { "cups": { "type": "integer" } } });
    let input_schema = json!({ "type": "object", "additionalProperties": true });
    let tools = json!([{ "name": "brew", "inputSchema": input_schema, "outputSchema": schema }]);
    let command = peer(&json!({ "brew": "answer", "pages": { "": { "tools": tools } } }));
    let result = json!({ "content": [], "structuredContent": { "cups": "many" } });
    let outcome = brew_at(&row, command, json!({ "result": result })).await;
    assert_eq!(
        outcome.result.structured.as_deref(),
        Some(&json!({ "cups": "many" }))
    );
    row.check(&outcome);
}

#[tokio::test]
async fn floods_standard_output() {
    let row = row("floods_standard_output");
    let outcome = brew_text(&row, json!([{ "text": "x".repeat(1 << 10), "count": 1 << 11 }])).await;
    row.check(&outcome);
}

#[tokio::test]
async fn writes_text_between_messages() {
    let row = row("writes_text_between_messages");
    row.check(&brew_text(&row, json!(["grinding\n", "{oops}\n", "17\n", ANSWER])).await);
}

#[tokio::test]
async fn answers_with_other_ids() {
    let row = row("answers_with_other_ids");
    let wrong = ANSWER.replace("coffee", "tea").replace("ID", "999");
    let outcome = brew_text(&row, json!([wrong, ANSWER, ANSWER.replace("coffee", "tea")])).await;
    row.check(&outcome);
}

#[tokio::test]
async fn host_cancels_the_call() {
    let row = row("host_cancels_the_call");
    let client = peer(&json!({ "brew": "silent" }))
        .name("cafe")
        .connect()
        .await
        .unwrap();
    let token = CancellationToken::new();
    let context = Context::new().with_cancellation(token.clone());
    let registry = registry(&client);
    let call = registry.call(ToolCall::new(row.id(), "brew", "{}").with_context(context));
    let cancel = async {
        wait_for_call(&client).await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(call, cancel);
    row.check(&outcome);
    wait_for_method(&client, "notifications/cancelled").await;
}

#[tokio::test]
async fn host_drops_the_call() {
    let row = row("host_drops_the_call");
    let client = peer(&json!({ "brew": "silent" }))
        .name("cafe")
        .connect()
        .await
        .unwrap();
    let registry = registry(&client);
    tokio::select! {
        _ = registry.call(ToolCall::new(row.id(), "brew", "{}")) => panic!("the server is silent"),
        () = wait_for_call(&client) => {}
    }
    wait_for_method(&client, "notifications/cancelled").await;
    row.check_host(crate::telemetry::of(&row.id()).events);
}

/// Waits until the server has received the call, beside the calls that ask for the received messages.
async fn wait_for_call(client: &McpClient) {
    let mut asked = 1;
    while methods(client)
        .await
        .iter()
        .filter(|method| *method == "tools/call")
        .count()
        == asked
    {
        asked += 1;
    }
}

/// Connects to a server with these tools, and checks the column of the host.
async fn check_left_out(row: &Row, tools: Value) {
    let client = peer(&json!({ "pages": { "": { "tools": tools } } }))
        .name("cafe")
        .max_tools(2)
        .connect()
        .await
        .unwrap();
    row.check_host(client.left_out());
    client.stop().await;
}

#[tokio::test]
async fn tool_has_no_schema() {
    let row = row("tool_has_no_schema");
    check_left_out(&row, json!([{ "name": "brew", "inputSchema": null }])).await;
}

#[tokio::test]
async fn tool_has_an_invalid_schema() {
    let row = row("tool_has_an_invalid_schema");
    let schema = json!({ "properties": { "cups": { "$ref": "https://example.org/cups" } } });
    check_left_out(&row, json!([{ "name": "brew", "inputSchema": schema }])).await;
}

#[tokio::test]
async fn two_tools_have_one_name() {
    let row = row("two_tools_have_one_name");
    let tool = json!({ "name": "brew", "inputSchema": {} });
    check_left_out(&row, json!([tool, tool])).await;
}

#[tokio::test]
async fn tool_is_too_large() {
    let row = row("tool_is_too_large");
    let description = "x".repeat(64 << 10);
    check_left_out(
        &row,
        json!([{ "name": "brew", "inputSchema": {}, "description": description }]),
    )
    .await;
}

#[tokio::test]
async fn server_has_too_many_tools() {
    let row = row("server_has_too_many_tools");
    let tools = ["grind", "boil", "brew"].map(|name| json!({ "name": name, "inputSchema": {} }));
    check_left_out(&row, json!(tools)).await;
}

/// Connects to a server with this name, and checks the column of the host, which has the events outside of calls.
async fn check_events(row: &Row, name: &str, script: Value) {
    let client = peer(&script).name(name).connect().await.unwrap();
    client.stop().await;
    row.check_host(crate::telemetry::of(name).events);
}

#[tokio::test]
async fn list_has_no_end() {
    let row = row("list_has_no_end");
    check_events(&row, "endless", json!({ "endless": true })).await;
}

#[tokio::test]
async fn list_repeats_a_cursor() {
    let row = row("list_repeats_a_cursor");
    let tools = json!([{ "name": "brew", "inputSchema": {} }]);
    let pages = json!({ "": { "tools": tools, "nextCursor": "1" }, "1": { "tools": [], "nextCursor": "1" } });
    check_events(&row, "circle", json!({ "pages": pages })).await;
}

#[tokio::test]
async fn list_is_too_large() {
    let row = row("list_is_too_large");
    let tool = json!({ "name": "brew", "inputSchema": {}, "description": "x".repeat(200_000) });
    let page = json!({ "tools": [tool] });
    let command = peer(&json!({})).max_message_bytes(100_000);
    let client = command.name("large").connect().await.unwrap();
    call_text(&client, "set_page", &json!({ "page": page })).await;
    while crate::telemetry::of("large").events.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.stop().await;
    row.check_host(crate::telemetry::of("large").events);
}

#[tokio::test]
async fn definitions_change() {
    let row = row("definitions_change");
    let mut client = peer(&json!({})).connect().await.unwrap();
    let page = json!({ "tools": [{ "name": "boil", "inputSchema": {} }] });
    call_text(&client, "set_page", &json!({ "page": page })).await;
    assert!(client.changed().await);
    row.check_host(client.definitions().into_iter().map(|tool| tool.name));
}

#[tokio::test]
async fn floods_standard_error() {
    let row = row("floods_standard_error");
    let script = json!({ "brew": "echo", "stderr": "grinding\n".repeat(10_000) });
    row.check(&brew_at(&row, peer(&script), json!({ "cups": 1 })).await);
}

#[tokio::test]
async fn ignores_the_end_and_sigterm() {
    let row = row("ignores_the_end_and_sigterm");
    let client = peer_in_shell("trap '' TERM", &json!({ "deaf": true }))
        .connect()
        .await
        .unwrap();
    let pid = pid(&client).await;
    let start = Instant::now();
    client.stop().await;
    wait_for_end(pid).await;
    assert!(start.elapsed() >= Duration::from_secs(4));
    row.check_host(Vec::<String>::new());
}

#[tokio::test]
async fn leaves_processes() {
    let row = row("leaves_processes");
    let client = peer_in_shell("sleep 3600 & export CHILD=$!", &json!({}))
        .connect()
        .await
        .unwrap();
    let variables: Value = from_str(&call_text(&client, "variables", &Value::Null).await).unwrap();
    let child = variables["CHILD"].as_str().unwrap().parse().unwrap();
    client.stop().await;
    wait_for_end(child).await;
    row.check_host(Vec::<String>::new());
}

/// Checks the column of the host for a server that cannot be connected.
async fn check_start(row: &Row, command: McpCommand) {
    row.check_host([command.name("cafe").connect().await.unwrap_err()]);
}

#[tokio::test]
async fn ends_at_the_start() {
    let row = row("ends_at_the_start");
    check_start(&row, peer_in_shell("echo no beans >&2; exit 7", &json!({}))).await;
}

#[tokio::test]
async fn is_not_ready_in_time() {
    let row = row("is_not_ready_in_time");
    let command = peer_in_shell("exec sleep 3600", &json!({}));
    check_start(&row, command.start_timeout(Duration::from_millis(200))).await;
}

#[tokio::test]
async fn has_an_unknown_revision() {
    let row = row("has_an_unknown_revision");
    check_start(&row, peer(&json!({ "initialize": initialized("1999-01-01") }))).await;
}

#[tokio::test]
async fn variable_is_missing() {
    let row = row("variable_is_missing");
    check_start(&row, McpClient::command("sh").env_from("CAFE_KEY")).await;
}
