//! A rolling restart of three gateways under load from the official SDK.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::cluster::until;
use crate::load_balancer::LoadBalancer;
use crate::program::{Folder, Program};
use crate::redis_server::RedisServer;
use crate::upstream::Upstream;

/// Result of the load.
#[derive(Debug, Deserialize)]
struct Load {
    /// Keys of the complete turns.
    turns: Vec<String>,
    errors: Vec<String>,
}

/// Time for some answers, with the start of the SDK.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// Waits for the next answers.
async fn answers(balancer: &LoadBalancer) {
    let count = || balancer.statuses().get(&200).copied().unwrap_or_default();
    let before = count();
    let answered = until(|| count() >= before + 32);
    tokio::time::timeout(MAX_WAIT, answered).await.expect("answers");
}

/// No request fails but with a status that the SDK retries, and each call runs once.
#[tokio::test(flavor = "multi_thread")]
async fn rolling_restart_loses_nothing_and_repeats_nothing() {
    let Some(python) = std::env::var_os("SDK_PYTHON") else {
        let is_required = std::env::var_os("REDIS_TESTS").is_some_and(|tests| tests == "required");
        assert!(!is_required, "missing SDK_PYTHON");
        eprintln!("IGNORED: set SDK_PYTHON to a Python with the package `anthropic`");
        return;
    };
    let Some(redis) = RedisServer::start() else {
        return;
    };
    let upstream = Upstream::start().await;
    let folder = Folder::new("rolling");
    let (runs, file) = (folder.0.join("runs"), folder.0.join("gateway.toml"));
    let source = |name: &str| {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/processes")
            .join(name)
    };
    let configuration = format!(
        "store = \"{}\"\ntools.offer = \"always\"\n[upstream]\nurl = \"{}\"\n[mcp.servers.peer]\ncommand = {}\nargs = [{}, {}]\n",
        redis.url(),
        upstream.url,
        json!(python.to_str().unwrap()),
        json!(source("peer.py")),
        json!(runs),
    );
    std::fs::write(&file, configuration).unwrap();
    let mut gateways: Vec<_> = (0..3).map(|_| Program::start(&file, 0)).collect();
    for gateway in &gateways {
        gateway.ready().await;
    }
    let balancer = LoadBalancer::start(
        gateways
            .iter()
            .map(|gateway| gateway.address().to_owned())
            .collect(),
    )
    .await;
    let mut load = Command::new(&python)
        .arg(source("load.py"))
        .arg(&balancer.url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    for gateway in &mut gateways {
        answers(&balancer).await;
        let port = gateway.port();
        gateway.stop().await;
        *gateway = Program::start(&file, port);
        gateway.ready().await;
    }
    answers(&balancer).await;
    drop(load.stdin.take());
    let mut output = String::new();
    let mut stdout = load.stdout.take().unwrap();
    let output = tokio::task::spawn_blocking(move || {
        stdout.read_to_string(&mut output).unwrap();
        output
    });
    let output = output.await.unwrap();
    load.wait().unwrap();
    let load: Load = serde_json::from_str(output.trim()).unwrap_or_else(|error| panic!("{error}: {output}"));
    let statuses = balancer.statuses();
    eprintln!("{} turns; responses by status: {statuses:?}", load.turns.len());
    assert_eq!(load.errors, [""; 0]);
    assert!(load.turns.len() >= 8, "{}", load.turns.len());
    // The system closes a connection that a gateway has not accepted before its end. The SDK repeats this request, too.
    let refused: Vec<_> = statuses
        .keys()
        .filter(|status| !matches!(status, 0 | 200 | 409 | 503))
        .collect();
    assert!(refused.is_empty(), "{statuses:?}");
    let mut counts = BTreeMap::<_, usize>::new();
    for key in std::fs::read_to_string(&runs).unwrap().lines() {
        *counts.entry(key.to_owned()).or_default() += 1;
    }
    for key in load.turns.iter().flat_map(|key| [key.clone(), format!("{key}b")]) {
        assert_eq!(counts.remove(&key), Some(1), "{key}");
    }
    assert!(counts.is_empty(), "{counts:?}");
}
