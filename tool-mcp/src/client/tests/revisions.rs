//! Answers to `server/discover` that take time, or are repeated.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::client::connection::Connection;
use crate::client::settings::Protocol;
use crate::client::tests::fake_server::FakeServer;

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_for_ten_seconds_is_initialized() {
    let (mut server, wire, transport) = FakeServer::new(1 << 10);
    let start = Instant::now();
    let open = Connection::open(wire, transport, Protocol::Auto);
    let serve = async {
        let probe = server.receive().await;
        assert_eq!(probe["method"], "server/discover");
        let initialize = server.receive().await;
        assert_eq!(initialize["method"], "initialize");
        assert_eq!(start.elapsed().as_secs(), 10);
        // The late answer is dropped.
        server
            .answer(&probe, json!({ "supportedVersions": ["2026-07-28"] }))
            .await;
        let result = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {} });
        server.answer(&initialize, result).await;
    };
    let (connection, ()) = tokio::join!(open, serve);
    assert_eq!(connection.unwrap().version(), "2025-06-18");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_support_the_version_that_it_lists_is_asked_once_more() {
    let (mut server, wire, transport) = FakeServer::new(1 << 10);
    let open = Connection::open(wire, transport, Protocol::Auto);
    let serve = async {
        for _ in 0..2 {
            let probe = server.receive().await;
            assert_eq!(probe["method"], "server/discover");
            let error = json!({ "code": -32022, "message": "", "data": { "supported": ["2026-07-28"] } });
            server
                .send(json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error }))
                .await;
        }
        tokio::time::timeout(Duration::from_secs(60), server.receive())
            .await
            .unwrap_err();
    };
    let (connection, ()) = tokio::join!(open, serve);
    assert_eq!(
        connection.unwrap_err(),
        "unknown revision of the protocol; supported are `2026-07-28`"
    );
}
