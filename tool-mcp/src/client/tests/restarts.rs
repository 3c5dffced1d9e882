//! Calls to a server that is not running, and refreshes of the list.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::adapt::fault::Fault;
use crate::client::actor::{Failure, Server, State};
use crate::client::command::McpCommand;
use crate::client::settings::Endpoint;
use crate::client::tests::fake_server::FakeServer;

fn server() -> Arc<Server> {
    let McpCommand { command, settings } = McpCommand::new("peer".into());
    Server::new(Endpoint::Command(command), settings)
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_five_seconds_for_a_restart() {
    let server = server();
    let failure = Failure {
        since: Instant::now(),
        reason: "ended with exit status: 1".to_owned(),
        stderr: String::new(),
        is_unauthorized: false,
    };
    sleep(Duration::from_secs(7)).await;
    let next = Instant::now() + Duration::from_secs(20);
    server.state.send_replace(State::Failed {
        failure: failure.clone(),
        next,
    });
    let not_running = |since, next| Fault::NotRunning {
        reason: "ended with exit status: 1".to_owned(),
        since: Duration::from_secs(since),
        next,
    };
    let fault = server.connection().await.unwrap_err();
    assert_eq!(fault, not_running(12, Some(Duration::from_secs(15))));

    server.state.send_replace(State::Starting(Some(failure)));
    assert_eq!(server.connection().await.unwrap_err(), not_running(17, None));

    let (_peer, connection) = FakeServer::connected(1 << 10).await;
    let ready = async {
        sleep(Duration::from_secs(4)).await;
        server.state.send_replace(State::Ready(Arc::clone(&connection)));
    };
    let (found, ()) = tokio::join!(server.connection(), ready);
    assert!(Arc::ptr_eq(&found.unwrap(), &connection));
}

/// A storm of changes is one refresh a second later, and another ten seconds after that.
#[tokio::test(start_paused = true)]
async fn refreshes_are_ten_seconds_apart() {
    let server = server();
    let (mut peer, connection) = FakeServer::connected(1 << 10).await;
    let began = Instant::now();
    let mut times = Vec::new();
    let serve = async {
        for round in 0..3 {
            for _ in 0..200 {
                peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }))
                    .await;
            }
            let request = peer.receive().await;
            times.push(began.elapsed().as_secs());
            let tools = json!([{ "name": format!("t{round}"), "inputSchema": {} }]);
            peer.answer(&request, json!({ "tools": tools })).await;
        }
        let silence = tokio::time::timeout(Duration::from_secs(100), peer.receive()).await;
        silence.unwrap_err();
    };
    tokio::select! {
        () = server.refresh(&connection) => {}
        () = serve => {}
    }
    assert_eq!(times, [1, 11, 21]);
    assert_eq!(server.listing.borrow().tools[0].name, "t2");
}

/// A stale list is refreshed on request, at most once a minute.
#[tokio::test(start_paused = true)]
async fn a_stale_list_is_refreshed_on_request() {
    let server = server();
    let (mut peer, connection) = FakeServer::connected(1 << 10).await;
    server.state.send_replace(State::Ready(Arc::clone(&connection)));
    let began = Instant::now();
    let mut times = Vec::new();
    let serve = async {
        for _ in 0..3 {
            let request = peer.receive().await;
            times.push(began.elapsed().as_secs());
            let tools = json!([{ "name": "t", "inputSchema": {} }]);
            peer.answer(&request, json!({ "tools": tools, "ttlMs": 90_000 }))
                .await;
        }
    };
    let ask = async {
        loop {
            server.refresh_if_stale();
            sleep(Duration::from_secs(5)).await;
        }
    };
    tokio::select! {
        () = server.refresh(&connection) => {}
        () = ask => {}
        () = serve => {}
    }
    // The request comes up to five seconds after the list is stale, and the refresh a second later.
    assert_eq!(times.len(), 3);
    for pair in times.windows(2) {
        assert!((90..=97).contains(&(pair[1] - pair[0])), "{times:?}");
    }
}
