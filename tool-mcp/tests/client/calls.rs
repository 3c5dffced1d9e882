//! Calls: arguments, results, and their failures.

use std::time::Duration;

use tool_runtime::result::Failure;
use tool_runtime::serde_json::{Value, json, to_value};
use tool_runtime::{Context, ToolCall};

use crate::support::{call, call_text, peer, received, registry};

/// Returns the messages of a kind that the server has received.
async fn received_of(client: &tool_mcp::McpClient, method: &str) -> Vec<Value> {
    let received = received(client).await;
    received
        .into_iter()
        .filter(|message| message["method"] == method)
        .collect()
}

#[tokio::test]
async fn arguments_are_coerced_and_unknown_ones_pass() {
    let tools = json!([{ "name": "echo", "inputSchema": {
        "type": "object",
        "properties": { "count": { "type": "integer" }, "unit": { "default": "m" } }
    } }]);
    let client = peer(&json!({ "pages": { "": { "tools": tools } } }))
        .connect()
        .await
        .unwrap();
    let text = call_text(&client, "echo", &json!({ "Count": "3", "extra": [1] })).await;
    assert_eq!(text, r#"{"count":3,"extra":[1]}"#);
    let outcome = call(&client, "echo", &json!({ "count": "three" })).await;
    assert_eq!(outcome.failure, Some(Failure::InvalidArguments));
}

#[tokio::test]
async fn every_call_has_a_progress_token() {
    let client = peer(&json!({})).connect().await.unwrap();
    call_text(&client, "echo", &json!({})).await;
    let calls = received_of(&client, "tools/call").await;
    assert_eq!(calls.len(), 2);
    let token = |at: usize| calls[at]["params"]["_meta"]["progressToken"].clone();
    assert!(!token(0).is_null() && token(0) != token(1), "{calls:?}");
}

/// Results are `tool_runtime::format::mcp`'s, which has the table of all kinds of content.
#[tokio::test]
async fn results_keep_every_block() {
    let client = peer(&json!({})).connect().await.unwrap();
    let result = json!({
        "content": [
            { "type": "text", "text": "a" },
            { "type": "image", "data": "!", "mimeType": "image/png" },
            { "type": "hologram", "x": 1 },
            { "type": "text" }
        ],
        "structuredContent": [1, null],
        "x-unknown": {}
    });
    let outcome = call(&client, "answer", &json!({ "result": result })).await;
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.result.structured.as_deref(), Some(&json!([1, null])));
    let content = to_value(&outcome.result.content).unwrap();
    assert_eq!(content.as_array().unwrap().len(), 4, "{content}");
    assert_eq!(content[0]["text"], "a");

    let outcome = call(
        &client,
        "answer",
        &json!({ "result": { "structuredContent": null } }),
    )
    .await;
    assert_eq!(outcome.result.text(), Some("null"));
    let outcome = call(
        &client,
        "answer",
        &json!({ "result": { "isError": true, "content": [] } }),
    )
    .await;
    assert_eq!(outcome.failure, Some(Failure::Failed));
    let outcome = call(
        &client,
        "answer",
        &json!({ "result": { "resultType": "input_required" } }),
    )
    .await;
    assert_eq!(outcome.failure, Some(Failure::Failed));
}

#[tokio::test]
async fn a_result_that_is_none_is_a_failure_of_the_call() {
    let client = peer(&json!({})).connect().await.unwrap();
    for result in [
        json!(17),
        json!({ "content": "text" }),
        json!({ "resultType": "task", "content": [] }),
    ] {
        let outcome = call(&client, "answer", &json!({ "result": result })).await;
        assert_eq!(outcome.failure, Some(Failure::Failed), "{result}");
        let text = outcome.result.text().unwrap();
        let start = "`answer`: the MCP server `peer` gave an invalid answer (";
        assert!(text.starts_with(start), "{text}");
    }
}

#[tokio::test]
async fn long_texts_are_cut() {
    let client = peer(&json!({})).max_result_chars(3).connect().await.unwrap();
    let result = json!({ "content": [{ "type": "text", "text": "12345" }] });
    let text = call_text(&client, "answer", &json!({ "result": result })).await;
    assert_eq!(text, "123\n[cut: 5 characters, of which these are the first 3]");
}

#[tokio::test]
async fn a_refused_call_names_the_code_and_the_message() {
    let tools = json!([{ "name": "nothing", "inputSchema": {} }]);
    let client = peer(&json!({ "pages": { "": { "tools": tools } } }))
        .connect()
        .await
        .unwrap();
    let outcome = call(&client, "nothing", &json!({})).await;
    assert_eq!(outcome.failure, Some(Failure::Failed));
    let wanted = "`nothing`: the MCP server `peer` refused the call: unknown tool (code -32602); change the call, or continue \
                  without it";
    assert_eq!(outcome.result.text(), Some(wanted));
}

#[tokio::test]
async fn a_call_that_is_cancelled_or_dropped_is_cancelled_at_the_server() {
    let client = peer(&json!({})).connect().await.unwrap();
    let registry = registry(&client);
    let context = Context::new();
    let token = tool_runtime::CancellationToken::new();
    let silent =
        ToolCall::new("toolu_01", "silent", json!({})).with_context(context.with_cancellation(token.clone()));
    let cancel = async {
        wait_for(&client, "tools/call", 1).await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(registry.call(silent), cancel);
    assert_eq!(outcome.failure, Some(Failure::Cancelled));
    wait_for(&client, "notifications/cancelled", 1).await;

    let silent = ToolCall::new("toolu_02", "silent", json!({}));
    tokio::select! {
        _ = registry.call(silent) => panic!("the server is silent"),
        () = wait_for(&client, "tools/call", 2) => {}
    }
    wait_for(&client, "notifications/cancelled", 2).await;
    let silent = |message: &&Value| message["params"]["name"] == "silent";
    let calls = received_of(&client, "tools/call").await;
    let ids: Vec<_> = calls.iter().filter(silent).map(|call| &call["id"]).collect();
    let cancelled = received_of(&client, "notifications/cancelled").await;
    let cancelled: Vec<_> = cancelled
        .iter()
        .map(|notice| &notice["params"]["requestId"])
        .collect();
    assert_eq!(cancelled, ids);
}

/// Waits until the server has received this number of messages, of calls only those of `silent`.
async fn wait_for(client: &tool_mcp::McpClient, method: &str, count: usize) {
    loop {
        let messages = received_of(client, method).await;
        let is_counted = |message: &&Value| method != "tools/call" || message["params"]["name"] == "silent";
        if messages.iter().filter(is_counted).count() >= count {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_call_without_an_answer_times_out_and_is_cancelled_at_the_server() {
    let client = peer(&json!({}))
        .call_timeout(Duration::from_secs(1))
        .connect()
        .await
        .unwrap();
    let outcome = call(&client, "silent", &json!({})).await;
    assert_eq!(outcome.failure, Some(Failure::TimedOut));
    let wanted = "`silent`: the MCP server `peer` gave no answer for 1 s; it is not known whether it took effect; find out before \
                  you repeat it";
    assert_eq!(outcome.result.text(), Some(wanted));
    wait_for(&client, "notifications/cancelled", 1).await;
}

#[tokio::test]
async fn concurrent_calls_have_a_maximum() {
    let client = peer(&json!({}))
        .max_calls(1)
        .call_timeout(Duration::from_secs(1))
        .connect()
        .await
        .unwrap();
    let arguments = json!({});
    let silent = call(&client, "silent", &arguments);
    let echo = call_text(&client, "echo", &arguments);
    let (_, text) = tokio::join!(silent, echo);
    assert_eq!(text, "{}");
    let received = received(&client).await;
    let at = |name: &str| {
        let position = |message: &Value| message["method"] == name || message["params"]["name"] == name;
        received.iter().position(position).unwrap()
    };
    // The second call is not sent before the first has ended. Its cancellation may be queued a moment later.
    assert!(at("silent") < at("echo"));
}

/// Names and keys that the APIs refuse are renamed for the model, and sent as the server knows them.
#[tokio::test]
async fn renamed_keys_and_names_are_mapped_back() {
    let schema = json!({ "type": "object", "properties": { "filter[id]": { "type": "integer" } }, "required": ["filter[id]"] });
    let tools = ["brew", "a.b", "a/b"].map(|name| json!({ "name": name, "inputSchema": schema }));
    let script = json!({ "brew": "echo", "pages": { "": { "tools": tools } } });
    let client = peer(&script).connect().await.unwrap();
    assert_eq!(client.left_out(), []);
    let registry = client.registry();
    let shown = registry.tool_definitions();
    let names: Vec<_> = shown.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names[0], "brew");
    assert!(
        names[1] != names[2] && names[1..].iter().all(|name| name.starts_with("a_b_")),
        "{names:?}"
    );
    let key = shown[0].input_schema["required"][0].as_str().unwrap();
    assert_ne!(key, "filter[id]");
    let call = ToolCall::new("toolu_01", "brew", json!({ key: "3" }));
    assert_eq!(
        registry.call(call).await.result.text(),
        Some(r#"{"filter[id]":3}"#)
    );
    // A model may have read the original key in a description.
    let call = ToolCall::new("toolu_02", "brew", json!({ "filter[id]": "3" }));
    let outcome = registry.call(call).await;
    assert_eq!(outcome.result.text(), Some(r#"{"filter[id]":3}"#));
    assert_eq!(outcome.warnings.len(), 2, "{:?}", outcome.warnings);
}
