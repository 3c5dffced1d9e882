//! Revisions of the protocol over stdio.

use tool_mcp::Protocol;
use tool_runtime::serde_json::{Value, json};

use crate::peer::{discovered, initialized};
use crate::support::{call_text, methods, peer, peer_in_shell, received};

const HANDSHAKE: [&str; 3] = ["initialize", "notifications/initialized", "tools/list"];

/// Returns the methods before the first call.
async fn methods_before_calls(script: Value, protocol: Protocol) -> Vec<String> {
    let client = peer(&script).protocol(protocol).connect().await.unwrap();
    let mut methods = methods(&client).await;
    assert_eq!(methods.pop().unwrap(), "tools/call");
    methods
}

#[tokio::test]
async fn a_server_without_discovery_is_initialized_in_the_same_process() {
    for discover in [
        json!(null),
        json!({ "error": { "code": -32600, "message": "not initialized" } }),
        json!({ "error": { "code": -32020, "message": "" } }),
        json!({ "error": { "code": -32022, "data": { "supported": ["2025-11-25"] } } }),
        json!({ "result": {} }),
        discovered(&["2025-06-18"]),
    ] {
        let methods = methods_before_calls(json!({ "discover": discover }), Protocol::Auto).await;
        let wanted: Vec<_> = ["server/discover"].into_iter().chain(HANDSHAKE).collect();
        assert_eq!(methods, wanted, "{discover}");
    }
}

#[tokio::test]
async fn a_server_that_ends_at_the_probe_is_started_once_more_and_initialized_first() {
    let methods = methods_before_calls(json!({ "discover": "exit" }), Protocol::Auto).await;
    assert_eq!(methods, HANDSHAKE);
}

#[tokio::test]
async fn a_restarted_server_that_ends_at_the_probe_is_initialized_first() {
    let client = peer(&json!({ "discover": "exit" })).connect().await.unwrap();
    call_text(&client, "exit", &Value::Null).await;
    // Waits for the restart.
    let mut methods = methods(&client).await;
    methods.pop();
    assert_eq!(methods, HANDSHAKE);
}

/// The server reads its first message when `initialize` has already been sent, as a server that `uvx` downloads at its first start.
#[tokio::test]
async fn a_slow_server_without_a_handshake_is_started_once_more() {
    let marker = std::env::temp_dir().join(format!("tool-mcp-slow-{}", std::process::id()));
    let slow = format!(
        "if [ ! -e '{0}' ]; then : > '{0}'; sleep 11; fi",
        marker.display()
    );
    let refused = json!({ "error": { "code": -32022, "message": "no handshake" } });
    let script = json!({ "discover": discovered(&["2026-07-28"]), "initialize": refused });
    let client = peer_in_shell(&slow, &script).connect().await.unwrap();
    std::fs::remove_file(marker).unwrap();
    let methods = methods(&client).await;
    assert_eq!(methods, ["server/discover", "tools/list", "tools/call"]);
}

#[tokio::test]
async fn a_fixed_revision_is_not_negotiated() {
    let script = json!({ "discover": discovered(&["2026-07-28"]) });
    assert_eq!(
        methods_before_calls(script.clone(), Protocol::Legacy).await,
        HANDSHAKE
    );
    assert_eq!(
        methods_before_calls(script, Protocol::Modern).await,
        ["server/discover", "tools/list"]
    );
    let error = peer(&json!({}))
        .protocol(Protocol::Modern)
        .connect()
        .await
        .unwrap_err();
    assert_eq!(
        error.fact(),
        "refused the connection: no revision without `initialize` (code -32601)"
    );
}

#[tokio::test]
async fn initialize_asks_for_the_newest_revision_that_has_it_and_declares_no_capabilities() {
    let client = peer(&json!({})).connect().await.unwrap();
    let received = received(&client).await;
    let initialize = received
        .iter()
        .find(|message| message["method"] == "initialize")
        .unwrap();
    assert_eq!(initialize["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(initialize["params"]["capabilities"], json!({}));
}

#[tokio::test]
async fn modern_requests_have_the_version_and_the_capabilities() {
    let client = peer(&json!({ "discover": discovered(&["2026-07-28"]) }))
        .connect()
        .await
        .unwrap();
    for message in received(&client).await {
        let meta = &message["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28",
            "{message}"
        );
        assert_eq!(
            meta["io.modelcontextprotocol/clientCapabilities"],
            json!({}),
            "{message}"
        );
    }
}

#[tokio::test]
async fn old_revisions_are_accepted_and_unknown_ones_are_not() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let script = json!({ "initialize": initialized(version) });
        let client = peer(&script).connect().await.unwrap();
        assert_eq!(call_text(&client, "echo", &json!({})).await, "{}");
    }
    // A server that answers `initialize` must not name a revision without this method.
    for version in ["1999-01-01", "2026-07-28", ""] {
        let script = json!({ "initialize": initialized(version) });
        let error = peer(&script).connect().await.unwrap_err();
        assert_eq!(
            error.fact(),
            format!("unknown revision `{version}` of the protocol")
        );
    }
    let error = peer(&json!({ "discover": discovered(&["2027-01-01"]) }))
        .connect()
        .await
        .unwrap_err();
    assert_eq!(
        error.fact(),
        "unknown revision of the protocol; supported are `2027-01-01`"
    );
    let refused = json!({ "initialize": { "error": { "code": -32602, "message": "no" } } });
    let error = peer(&refused).connect().await.unwrap_err();
    assert_eq!(error.fact(), "refused the connection: no (code -32602)");
}

#[tokio::test]
async fn requests_of_the_server_are_answered() {
    let client = peer(&json!({})).connect().await.unwrap();
    let request = |id: u64, method: &str| {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} });
        format!("{request}\n")
    };
    let pieces = json!([
        request(1, "ping"),
        request(2, "sampling/createMessage"),
        request(3, "elicitation/create"),
        request(4, "roots/list"),
        "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n"
    ]);
    call_text(&client, "write", &json!({ "pieces": pieces })).await;
    let answers: Vec<Value> = received(&client).await;
    let answer = |id: u64| {
        answers
            .iter()
            .find(|message| message["id"] == id && message["method"].is_null())
    };
    assert_eq!(answer(1).unwrap()["result"], json!({}));
    for id in 2..=4 {
        assert_eq!(answer(id).unwrap()["error"]["code"], -32601);
    }
}
