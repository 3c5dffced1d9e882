//! [`Cluster`]: gateways over one Redis and one upstream.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::gateway_process::{GatewayProcess, Settings};
use crate::redis_server::RedisServer;
use crate::upstream::Upstream;

/// Two gateway processes.
pub(crate) struct Cluster {
    pub(crate) one: GatewayProcess,
    pub(crate) two: GatewayProcess,
    pub(crate) upstream: Upstream,
    runs: PathBuf,
    redis: Option<RedisServer>,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Cluster {
    pub(crate) async fn start() -> Option<Self> {
        let redis = RedisServer::start()?;
        let upstream = Upstream::start().await;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let runs =
            std::env::temp_dir().join(format!("tool-gateway-processes-{}-{number}", std::process::id()));
        let settings = Settings {
            redis: redis.url(),
            upstream: upstream.url.clone(),
            runs: runs.clone(),
            join_seconds: 30,
        };
        Some(Self {
            one: GatewayProcess::start(&settings),
            two: GatewayProcess::start(&settings),
            upstream,
            runs,
            redis: Some(redis),
        })
    }

    /// Kills the server of Redis, and starts an empty one in its place.
    pub(crate) fn restart_redis(&mut self) {
        let port = self.redis.take().unwrap().port();
        self.redis = RedisServer::start_on(port, &[]);
    }

    /// Returns the number of requests of which Redis has the lease.
    pub(crate) fn leases(&self) -> usize {
        let keys = self.redis.as_ref().unwrap().run(&["KEYS", "tg1:*:A"]);
        keys.texts().len()
    }

    fn lines(&self, prefix: &str) -> Vec<String> {
        let lines = std::fs::read_to_string(&self.runs).unwrap_or_default();
        lines
            .lines()
            .filter_map(|line| line.strip_prefix(prefix))
            .map(str::to_owned)
            .collect()
    }

    /// Returns the calls that began in any process, in order.
    pub(crate) fn begun(&self) -> Vec<String> {
        self.lines("begin ")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.runs);
    }
}

/// Waits until a condition holds. The test runner's limit ends a test that waits forever.
pub(crate) async fn until(is_there: impl Fn() -> bool) {
    while !is_there() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Builds a call of the model that takes some time.
pub(crate) fn call(name: &str, key: &str, ms: u64) -> Value {
    json!({ "type": "tool_use", "id": format!("up_{key}"), "name": name, "input": { "key": key, "ms": ms } })
}
