//! Messages over standard input and output, to the letter.

use std::time::Duration;

use tool_runtime::serde_json::{Value, json};

use crate::process::{ServerProcess, call, request};

const META: &str = "io.modelcontextprotocol/serverInfo";

#[tokio::test]
async fn modern_requests_need_no_handshake() {
    let mut server = ServerProcess::start(0);
    let answer = server.ask(request(1, "server/discover", json!({}))).await;
    assert_eq!(
        answer,
        json!({ "jsonrpc": "2.0", "id": 1, "result": {
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": { "listChanged": true } },
            "instructions": "Add first.",
            "ttlMs": 60000,
            "cacheScope": "public",
            "resultType": "complete",
            "_meta": { META: { "name": "served", "version": "1.0" } },
        } })
    );
    let answer = server.ask(request("a", "tools/list", json!({}))).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!(tools[0]["annotations"], json!({ "readOnlyHint": true }));
    let numbers = tools.iter().find(|tool| tool["name"] == "numbers").unwrap();
    assert_eq!(numbers["outputSchema"]["type"], "array");
    let blocks = tools.iter().find(|tool| tool["name"] == "blocks").unwrap();
    assert_eq!(
        blocks["inputSchema"]["properties"]["region"],
        json!({ "type": "string" })
    );
    assert_eq!(answer["result"]["ttlMs"], 60000);
    let answer = server
        .ask(call(2, "add", json!({ "left": "2", "right": 3, "up": true })))
        .await;
    assert_eq!(
        answer["result"],
        json!({
            "content": [{ "type": "text", "text": "5" }],
            "resultType": "complete",
            "_meta": {
                "tool-runtime/warnings": [
                    {
                        "path": "/left",
                        "code": "string_literal_converted_to_integer",
                        "message": "\"2\" was read as 2",
                        "severity": "warning",
                    },
                    answer["result"]["_meta"]["tool-runtime/warnings"][1],
                ],
                META: { "name": "served", "version": "1.0" },
            },
        })
    );
    let answer = server.ask(call(3, "numbers", json!({}))).await;
    assert_eq!(answer["result"]["structuredContent"], json!([1, 2]));
    assert_eq!(answer["result"]["content"][0]["text"], "[1,2]");
    let answer = server.ask(call(4, "add", json!({ "left": 1 }))).await;
    assert_eq!(answer["result"]["isError"], true);
    let answer = server.ask(call(5, "fail", json!({}))).await;
    assert_eq!(
        (
            &answer["result"]["isError"],
            &answer["result"]["content"][0]["text"]
        ),
        (&json!(true), &json!("no water"))
    );
    let answer = server.ask(call(6, "blocks", json!({}))).await;
    assert_eq!(
        answer["result"]["content"],
        json!([{ "type": "text", "text": "text" }, { "type": "image", "data": "AAAA", "mimeType": "image/png" }])
    );
}

#[tokio::test]
async fn legacy_clients_begin_with_initialize() {
    let mut server = ServerProcess::start(0);
    for (asked, wanted) in [
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let initialize = json!({ "id": 0, "method": "initialize", "params": { "protocolVersion": asked } });
        let answer = server.ask(initialize).await;
        assert_eq!(
            answer["result"],
            json!({
                "protocolVersion": wanted,
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "served", "version": "1.0" },
                "instructions": "Add first.",
            })
        );
    }
    server
        .send(json!({ "method": "notifications/initialized" }))
        .await;
    let answer = server.ask(json!({ "id": 1, "method": "ping" })).await;
    assert_eq!(answer["result"], json!({}));
    let answer = server.ask(json!({ "id": 2, "method": "tools/list" })).await;
    assert_eq!(answer["result"].as_object().unwrap().len(), 1);
    let tools = answer["result"]["tools"].as_array().unwrap();
    let numbers = tools.iter().find(|tool| tool["name"] == "numbers").unwrap();
    assert_eq!(numbers.get("outputSchema"), None);
    let params = json!({ "name": "numbers" });
    let answer = server
        .ask(json!({ "id": 3, "method": "tools/call", "params": params }))
        .await;
    assert_eq!(
        answer["result"],
        json!({ "content": [{ "type": "text", "text": "[1,2]" }] })
    );
    let answer = server.ask(json!({ "id": 4, "method": "server/discover" })).await;
    assert_eq!(answer["result"]["supportedVersions"], json!(["2026-07-28"]));

    let params = json!({ "name": "change" });
    server
        .send(json!({ "id": 5, "method": "tools/call", "params": params }))
        .await;
    let mut received = [server.receive().await, server.receive().await];
    received.sort_by_key(|message| message.get("id").is_some());
    assert_eq!(
        received[0],
        json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {} })
    );
    assert_eq!(received[1]["id"], 5);
}

#[tokio::test]
async fn errors_have_the_id_of_the_request() {
    let mut server = ServerProcess::start(0);
    let with_version = |version: &str| {
        let mut request = request("v", "tools/list", json!({}));
        request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = version.into();
        request
    };
    for (request, code) in [
        (request(1, "resources/list", json!({})), -32601),
        (request("x", "ping", json!({})), -32601),
        (json!({ "id": 2, "method": "tools/list" }), -32602),
        (
            json!({ "id": 3, "method": "tools/call", "params": { "name": "add" } }),
            -32602,
        ),
        (call(4, "unknown", json!({})), -32602),
        (request(5, "tools/call", json!({})), -32602),
        (request(6, "tools/list", json!({ "cursor": "x" })), -32602),
        (json!({ "id": 7, "params": {} }), -32600),
        (with_version("2027-01-01"), -32022),
        (with_version("2025-11-25"), -32022),
    ] {
        let answer = server.ask(request.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{request}: {answer}");
    }
    let answer = server.ask(with_version("2027-01-01")).await;
    assert_eq!(
        answer["error"]["data"],
        json!({ "supported": ["2026-07-28"], "requested": "2027-01-01" })
    );
}

#[tokio::test]
async fn garbage_batches_and_long_lines_are_answered() {
    let mut server = ServerProcess::start(0);
    for (line, id, code) in [
        ("garbage".to_owned(), Value::Null, -32700),
        ("{\"id\": 1, \"method\"".to_owned(), json!(1), -32700),
        (
            "[{\"id\": 1, \"method\": \"ping\"}]".to_owned(),
            Value::Null,
            -32600,
        ),
        (
            "{\"id\": null, \"method\": \"ping\"}".to_owned(),
            Value::Null,
            -32600,
        ),
        (
            format!(
                "{{\"id\": 2, \"method\": \"ping\", \"params\": {{\"a\": \"{}\"}}}}",
                "x".repeat(17 << 20)
            ),
            json!(2),
            -32700,
        ),
        ("x".repeat(17 << 20), Value::Null, -32700),
    ] {
        server.write(&format!("\n{line}\n")).await;
        let answer = server.receive().await;
        let shown: String = line.chars().take(100).collect();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{shown}: {answer}"
        );
    }
    server.send(json!({ "id": 3, "result": {} })).await;
    let answer = server.ask(json!({ "id": 4, "method": "ping" })).await;
    assert_eq!(answer["result"], json!({}));
}

#[tokio::test]
async fn lists_have_pages_of_a_hundred_tools() {
    let mut server = ServerProcess::start(250);
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    for _ in 0..3 {
        let answer = server
            .ask(request(1, "tools/list", json!({ "cursor": cursor })))
            .await;
        let tools = answer["result"]["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        cursor = answer["result"]["nextCursor"].clone();
    }
    assert_eq!(cursor, Value::Null);
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!((names.len(), distinct.len()), (263, 263));

    let answer = server.ask(request(2, "tools/list", json!({}))).await;
    let cursor = &answer["result"]["nextCursor"];
    server.ask(call(3, "change", json!({}))).await;
    let answer = server
        .ask(request(4, "tools/list", json!({ "cursor": cursor })))
        .await;
    assert_eq!(answer["error"]["code"], -32602, "the list has changed: {answer}");
}

#[tokio::test]
async fn prints_of_tools_and_their_programs_do_not_reach_the_client() {
    let mut server = ServerProcess::start(0);
    let answer = server.ask(call(1, "print", json!({}))).await;
    assert_eq!(answer["result"]["content"][0]["text"], "0");
    server.wait_for_log("printed").await;
    let answer = server.ask(call(2, "run", json!({}))).await;
    assert_eq!(answer["result"]["content"][0]["text"], "exit status: 0");
    server.wait_for_log("printed").await;
}

#[tokio::test]
async fn calls_with_a_token_report_increasing_progress() {
    let mut server = ServerProcess::start(0);
    let mut request = call(1, "report", json!({ "steps": 1000 }));
    server.send(request.clone()).await;
    assert_eq!(
        server.receive().await["id"],
        1,
        "without a token there is no progress"
    );

    request["params"]["_meta"]["progressToken"] = "token".into();
    server.send(request).await;
    let mut progress = Vec::new();
    let last = loop {
        let message = server.receive().await;
        if message.get("id").is_some() {
            break message;
        }
        assert_eq!(message["method"], "notifications/progress");
        assert_eq!(message["params"]["progressToken"], "token");
        assert_eq!(message["params"]["total"], 1000);
        progress.push(message["params"]["progress"].as_u64().unwrap());
    };
    assert_eq!(last["result"]["content"][0]["text"], "1000");
    assert!(progress.is_sorted_by(|a, b| a < b), "{progress:?}");
    assert_eq!(progress.last(), Some(&1000));
    assert!(progress.len() > 1, "{progress:?}");
}

#[tokio::test]
async fn cancelled_calls_are_not_answered() {
    let mut server = ServerProcess::start(0);
    server.send(call("w", "wait", json!({}))).await;
    server.wait_for_log("waiting").await;
    let cancelled = |id: &str| json!({ "method": "notifications/cancelled", "params": { "requestId": id } });
    server.send(cancelled("unknown")).await;
    server.send(cancelled("w")).await;
    server.wait_for_log("cancelled").await;
    let answer = server.ask(call(2, "add", json!({ "left": 1, "right": 1 }))).await;
    assert_eq!(answer["result"]["content"][0]["text"], "2");
    server.close_input();
    let (status, messages) = server.end().await;
    assert!(status.success());
    assert_eq!(messages, [] as [Value; 0]);
}

#[tokio::test]
async fn eight_calls_run_at_once_and_128_wait() {
    let mut server = ServerProcess::start(0);
    for id in 0..137 {
        server.send(call(id, "wait", json!({}))).await;
    }
    for _ in 0..8 {
        server.wait_for_log("waiting").await;
    }
    // Calls run as tasks, so the rejected call need not be the last one.
    let answer = server.receive().await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "`wait` was not called because 8 calls are running and 128 are waiting; wait for their results"
    );
    for id in 0..137 {
        server
            .send(json!({ "method": "notifications/cancelled", "params": { "requestId": id } }))
            .await;
    }
    let answer = server
        .ask(call(137, "add", json!({ "left": 1, "right": 1 })))
        .await;
    assert_eq!(answer["result"]["content"][0]["text"], "2");
}

#[tokio::test]
async fn subscriptions_receive_changes() {
    let mut server = ServerProcess::start(0);
    let id = "io.modelcontextprotocol/subscriptionId";
    for (request_id, filter) in [
        (7, json!({ "toolsListChanged": true, "promptsListChanged": true })),
        (8, json!({ "promptsListChanged": true })),
        (9, json!({ "toolsListChanged": true })),
    ] {
        server
            .send(request(
                request_id,
                "subscriptions/listen",
                json!({ "notifications": filter }),
            ))
            .await;
        let wanted = if request_id == 8 {
            json!({})
        } else {
            json!({ "toolsListChanged": true })
        };
        assert_eq!(
            server.receive().await,
            json!({
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": { "_meta": { id: request_id }, "notifications": wanted },
            })
        );
    }
    server
        .send(json!({ "method": "notifications/cancelled", "params": { "requestId": 9 } }))
        .await;
    server.send(call(10, "change", json!({}))).await;
    let mut received = [server.receive().await, server.receive().await];
    received.sort_by_key(|message| message.get("id").is_some());
    assert_eq!(
        received[0],
        json!({
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
            "params": { "_meta": { id: 7 } },
        })
    );
    assert_eq!(received[1]["id"], 10);
    // Equal definitions are no change.
    server.ask(call(11, "change", json!({}))).await;

    server.close_input();
    let (status, messages) = server.end().await;
    assert!(status.success());
    let ends: Vec<_> = messages
        .iter()
        .map(|message| (&message["id"], &message["result"]["_meta"][id]))
        .collect();
    assert_eq!(ends, [(&json!(7), &json!(7)), (&json!(8), &json!(8))]);
}

#[tokio::test]
async fn sessions_are_named_by_the_client() {
    let mut server = ServerProcess::start(0);
    let mut texts = Vec::new();
    for session in [Value::Null, "a".into(), "a".into(), "b".into(), Value::Null] {
        let mut request = call(1, "count", json!({}));
        request["params"]["_meta"]["tool-runtime/session"] = session;
        let answer = server.ask(request).await;
        texts.push(
            answer["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(texts, ["1", "1", "2", "1", "2"]);
    for session in [json!(5), json!("x".repeat(257))] {
        let mut request = call(1, "count", json!({}));
        request["params"]["_meta"]["tool-runtime/session"] = session;
        assert_eq!(server.ask(request).await["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn the_end_of_the_input_ends_the_server_after_its_calls() {
    let mut server = ServerProcess::start(0);
    server.send(call(1, "report", json!({ "steps": 3 }))).await;
    server.send(call(2, "wait", json!({}))).await;
    server.close_input();
    let (status, messages) = server.end().await;
    assert!(status.success());
    let ids: Vec<_> = messages.iter().map(|message| &message["id"]).collect();
    assert_eq!(ids, [&json!(1)], "the call that waits was cancelled");
}

#[cfg(unix)]
#[tokio::test]
async fn sigterm_ends_the_server_with_status_0() {
    for tool in ["wait", "block"] {
        let mut server = ServerProcess::start(0);
        server.send(call(1, tool, json!({}))).await;
        server
            .wait_for_log(if tool == "wait" { "waiting" } else { "blocking" })
            .await;
        let pid = server.child.id().unwrap().to_string();
        let kill = std::process::Command::new("kill").args(["-TERM", &pid]).status();
        assert!(kill.unwrap().success());
        let end = tokio::time::timeout(Duration::from_secs(60), server.end());
        let (status, messages) = end.await.expect("the server ends while a tool blocks");
        assert!(status.success());
        assert_eq!(messages, [] as [Value; 0]);
    }
}

#[tokio::test]
async fn a_client_that_stops_reading_does_not_keep_the_server() {
    let mut server = ServerProcess::start(0);
    for id in 0..8 {
        server
            .send(call(id, "text", json!({ "length": 1_000_000 })))
            .await;
    }
    server.close_input();
    let end = tokio::time::timeout(Duration::from_secs(60), server.child.wait());
    assert!(end.await.expect("the server ends").unwrap().success());
}
