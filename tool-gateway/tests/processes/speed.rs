//! Turns per second of one, two and three gateways on one Redis.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cluster::call;
use crate::conversation::{Conversation, text};
use crate::gateway_process::{GatewayProcess, Settings};
use crate::redis_server::RedisServer;
use crate::upstream::Upstream;

/// Number of concurrent clients, and the time of a measurement.
const CLIENTS: usize = 32;
const SECONDS: usize = 5;
const TIME: Duration = Duration::from_secs(SECONDS as u64);

/// Prints one line for each number of gateways. A turn has two requests to the upstream and one call, whose beginning and result are stored.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; run with `cargo nextest run --release -p tool-gateway --features redis --test processes --run-ignored only --no-capture`"]
async fn turns_per_second_of_one_two_and_three_gateways() {
    let redis = RedisServer::start().expect("redis-server");
    let upstream = Upstream::start().await;
    let runs = std::env::temp_dir().join(format!("tool-gateway-speed-{}", std::process::id()));
    let settings = Settings {
        redis: redis.url(),
        upstream: upstream.url.clone(),
        runs: runs.clone(),
        join_seconds: 30,
    };
    let gateways: Vec<_> = (0..3)
        .map(|_| Arc::new(GatewayProcess::start(&settings)))
        .collect();
    for count in 1..=gateways.len() {
        let done = Arc::<AtomicUsize>::default();
        let until = Instant::now() + TIME;
        let clients = (0..CLIENTS).map(|client| {
            let gateway = Arc::clone(&gateways[client % count]);
            let done = Arc::clone(&done);
            tokio::spawn(async move {
                for turn in 0.. {
                    let key = format!("{count}-{client}-{turn}");
                    let conversation = Conversation::new(&[json!([call("write", &key, 0)]), json!("Done.")]);
                    assert_eq!(text(&conversation.ask(&gateway).await), "Done.");
                    if Instant::now() > until {
                        break;
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        let turns = done.load(Ordering::Relaxed);
        println!("{count} gateways: {} turns/s", turns / SECONDS);
    }
    let _ = std::fs::remove_file(runs);
}
