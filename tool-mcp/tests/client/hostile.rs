//! Servers that die, flood, or write what they must not.

use std::time::Duration;

use tool_runtime::result::Failure;
use tool_runtime::serde_json::{Value, json};

use crate::support::{call, call_text, peer, peer_in_shell, pid, received, wait_for_end};

const ANSWER: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"right\"}]}}\n";

/// Calls `write`, and returns the text of the result.
async fn write(client: &tool_mcp::McpClient, pieces: Value) -> String {
    call_text(client, "write", &json!({ "pieces": pieces })).await
}

#[tokio::test]
async fn text_between_messages_is_ignored() {
    let client = peer(&json!({ "banner": "Server 1.0\n[INFO] ready\n" }))
        .connect()
        .await
        .unwrap();
    let pieces = json!([
        "thinking\n",
        "17\n",
        "{oops}\n",
        "\u{feff}\n",
        "[1, 2]\n",
        "{}\n",
        "null\n",
        "{\"jsonrpc\":\"2.0\"}\n",
        ANSWER
    ]);
    assert_eq!(write(&client, pieces).await, "right");
}

#[tokio::test]
async fn unknown_late_and_duplicate_answers_are_dropped() {
    let client = peer(&json!({})).connect().await.unwrap();
    let wrong = |id: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[]}}}}\n");
    let pieces = json!([
        wrong("4000000"),
        wrong("-1"),
        wrong("0"),
        wrong("1"),
        wrong("null"),
        wrong("\"x\""),
        wrong("1.5"),
        wrong("{}"),
        ANSWER,
        ANSWER,
        wrong("ID")
    ]);
    for _ in 0..2 {
        assert_eq!(write(&client, pieces.clone()).await, "right");
    }
    assert_eq!(call_text(&client, "echo", &json!({})).await, "{}");
}

#[tokio::test]
async fn batches_and_numbers_in_strings_are_read() {
    let client = peer(&json!({})).connect().await.unwrap();
    let batch = format!(
        "[{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}},{}]\n",
        ANSWER.trim_end()
    );
    assert_eq!(write(&client, json!([batch])).await, "right");
    assert_eq!(
        write(&client, json!([ANSWER.replace("ID", "\"ID\"")])).await,
        "right"
    );
}

#[tokio::test]
async fn floods_of_notifications_and_requests_harm_no_call() {
    let client = peer(&json!({})).connect().await.unwrap();
    let pieces = json!([
        { "text": "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n", "count": 20_000 },
        { "text": "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\n", "count": 5000 },
        { "text": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n", "count": 1000 },
        ANSWER
    ]);
    assert_eq!(write(&client, pieces).await, "right");
}

#[tokio::test]
async fn a_flood_of_text_restarts_the_server() {
    let client = peer(&json!({})).connect().await.unwrap();
    let pid = pid(&client).await;
    let text = write(
        &client,
        json!([{ "text": "x".repeat(1 << 10), "count": 1 << 11 }]),
    )
    .await;
    let wanted = "`write`: the MCP server `peer` ended during the call (wrote 1 MiB to standard output without a message); it is not \
                  known whether it took effect; find out before you repeat it";
    assert_eq!(text, wanted);
    wait_for_end(pid).await;
    assert_eq!(call_text(&client, "echo", &json!({})).await, "{}");
}

#[tokio::test]
async fn a_flood_of_stderr_blocks_nothing() {
    let stderr = "a line that is logged\n".repeat(10_000) + &"x".repeat(100_000);
    let script = json!({ "stderr": stderr });
    // The environment has a limit for each variable.
    let script = if script.to_string().len() > 100_000 {
        json!({ "stderr": "a line\n".repeat(10_000) })
    } else {
        script
    };
    let client = peer(&script).connect().await.unwrap();
    assert_eq!(call_text(&client, "echo", &json!({})).await, "{}");
}

#[tokio::test]
async fn an_answer_above_the_limit_fails_its_call_alone() {
    let client = peer(&json!({}))
        .max_message_bytes(100_000)
        .connect()
        .await
        .unwrap();
    let pid = pid(&client).await;
    let big = |start: &str, end: &str| json!([start, { "text": "x".repeat(1000), "count": 200 }, end]);
    for pieces in [
        big(
            "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":\"",
            "\"}}\n",
        ),
        big(
            "{\"result\":{\"content\":\"",
            "\"},\"jsonrpc\":\"2.0\",\"id\":ID}\n",
        ),
    ] {
        let outcome = call(&client, "write", &json!({ "pieces": pieces })).await;
        assert_eq!(outcome.failure, Some(Failure::Failed));
        let text = outcome.result.text().unwrap();
        assert!(
            text.starts_with("`write`: the MCP server `peer` answered with 200"),
            "{text}"
        );
        assert!(
            text.ends_with(" bytes, above the limit of 100000 bytes; ask for less"),
            "{text}"
        );
    }
    assert_eq!(call_text(&client, "pid", &json!({})).await, pid.to_string());

    // Without an id, the call that waits is unknown.
    let text = write(&client, big("{\"a\":\"", "\"}\n")).await;
    assert!(
        text.contains("ended during the call (wrote a message above the limit, whose id is unknown)"),
        "{text}"
    );
    wait_for_end(pid).await;
}

/// The default limit is 16 MiB.
#[tokio::test]
async fn answers_and_lists_of_twenty_megabytes_are_dropped() {
    let client = peer(&json!({})).connect().await.unwrap();
    let start = "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":\"";
    let pieces = json!([start, { "text": "x".repeat(100_000), "count": 200 }, "\"}}\n"]);
    let text = write(&client, pieces).await;
    assert!(
        text.contains("answered with 200000")
            && text.ends_with(" bytes, above the limit of 16777216 bytes; ask for less"),
        "{text}"
    );
    assert_eq!(call_text(&client, "echo", &json!({})).await, "{}");
    let error = peer(&json!({ "list_bytes": 20_000_000 }))
        .connect()
        .await
        .unwrap_err();
    let error = error.to_string();
    let wanted = "MCP server `peer`: `tools/list` failed: message above the limit: 200000";
    assert!(error.starts_with(wanted), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_json_fails_its_call_alone() {
    let client = peer(&json!({})).connect().await.unwrap();
    let text = write(&client, json!(["{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\n"])).await;
    assert!(
        text.starts_with("`write`: the MCP server `peer` gave an invalid answer (invalid JSON)"),
        "{text}"
    );
    let deep = format!(
        "{{\"id\":ID,\"result\":{}{}}}\n",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let text = write(&client, json!([deep])).await;
    assert!(
        text.starts_with("`write`: the MCP server `peer` gave an invalid answer (invalid JSON)"),
        "{text}"
    );
}

#[tokio::test]
async fn a_server_that_ends_during_a_call_is_restarted() {
    let client = peer(&json!({})).connect().await.unwrap();
    let outcome = call(&client, "exit", &json!({})).await;
    assert_eq!(outcome.failure, Some(Failure::Failed));
    let wanted = "`exit`: the MCP server `peer` ended during the call (ended with exit status: 4); it is not known whether it took \
                  effect; find out before you repeat it";
    assert_eq!(outcome.result.text(), Some(wanted));
    // This call waits for the restart, about a second later. The other call is not repeated.
    let received = received(&client).await;
    let calls: Vec<_> = received
        .iter()
        .filter(|message| message["method"] == "tools/call")
        .collect();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["params"]["name"], "received");
}

/// The pipe stays open, since another process has it.
#[tokio::test]
async fn the_end_of_the_process_counts_and_not_that_of_its_pipes() {
    let client = peer_in_shell("setsid sleep 2 &", &json!({}))
        .connect()
        .await
        .unwrap();
    let outcome = call(&client, "exit", &json!({})).await;
    assert!(
        outcome
            .result
            .text()
            .unwrap()
            .contains("ended with exit status: 4")
    );
}

#[tokio::test]
async fn a_server_that_ends_at_the_start_is_an_error() {
    let error = peer_in_shell("exit 7", &json!({})).connect().await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server `peer`: ended with exit status: 7");
}

#[tokio::test]
async fn a_server_that_is_silent_at_the_start_is_an_error() {
    let command = peer_in_shell("exec sleep 3600", &json!({})).start_timeout(Duration::from_millis(200));
    let error = command.connect().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "MCP server `peer`: not ready after 0.2 s: no answer to the first request"
    );
}

#[tokio::test]
async fn a_server_that_is_silent_at_the_start_explains_itself_on_standard_error() {
    let script = "echo waiting for a login >&2; exec sleep 3600";
    let command = peer_in_shell(script, &json!({})).start_timeout(Duration::from_millis(500));
    let error = command.connect().await.unwrap_err();
    assert_eq!(error.stderr().trim(), "waiting for a login");
}
