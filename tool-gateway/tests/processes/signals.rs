//! Gateways that are killed, stopped or hung in each phase of a turn. No call with effects runs twice, and each has a result, or is reported
//! as interrupted.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::cluster::{Cluster, call, until};
use crate::conversation::{Conversation, text};

/// Minimum time between SIGSTOP and SIGCONT.
const HANG: Duration = Duration::from_secs(20);

/// Phase of a turn in which the owner gets a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The first request to the upstream is open.
    Asking,
    /// A call runs.
    Calling,
    /// The request with the result of the call is open.
    AskingAgain,
    /// A deferred call of a suspended turn runs.
    Deferred,
}

/// Returns the results of the calls in the last request to the upstream.
fn results(requests: &[Value]) -> String {
    let last = requests.last().unwrap()["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    last["content"].to_string()
}

/// Sends a signal to the owner of a turn, and retries the request on another gateway.
async fn is_continued(phase: Phase, signal: &str) {
    let Some(mut cluster) = Cluster::start().await else {
        return;
    };
    let ms = if matches!(phase, Phase::Calling | Phase::Deferred) {
        4_000
    } else {
        0
    };
    let first = match phase {
        Phase::Deferred => json!([call("later", "a", ms), call("weather", "b", 0)]),
        _ => json!([call("write", "a", ms)]),
    };
    let mut conversation = Conversation::new(&[first, json!("Done.")]);
    if phase == Phase::Deferred {
        let suspended = conversation.ask(&cluster.one).await;
        conversation.answer(&suspended);
    }
    let before = cluster.upstream.requests().len();
    match phase {
        Phase::Asking => cluster.upstream.admit(before),
        Phase::AskingAgain => cluster.upstream.admit(before + 1),
        Phase::Calling | Phase::Deferred => {}
    }
    let owner = tokio::spawn({
        let (address, body) = (cluster.one.address.clone(), conversation.body.to_string());
        async move { crate::http::send(&address, "POST", "/v1/messages", &[], body.as_bytes()).await }
    });
    match phase {
        Phase::Asking => until(|| cluster.upstream.requests().len() > before).await,
        Phase::AskingAgain => until(|| cluster.upstream.requests().len() > before + 1).await,
        Phase::Calling | Phase::Deferred => until(|| !cluster.begun().is_empty()).await,
    }
    cluster.one.signal(signal);
    let signalled = Instant::now();
    cluster.upstream.admit(usize::MAX);
    let retried = conversation.retry(&cluster.two).await;
    assert_eq!(text(&retried), "Done.", "{phase:?} {signal}");
    if signal == "-STOP" {
        // The owner hangs for longer than its lease. It is fenced then, and runs no further call.
        tokio::time::sleep_until(signalled + HANG).await;
        cluster.one.signal("-CONT");
        let answer = tokio::time::timeout(Duration::from_secs(60), owner)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        let status = answer.status;
        assert!(matches!(status, 200 | 503 | 529), "{phase:?}: {}", answer.json());
    } else if signal == "-TERM" {
        cluster.one.ended().await;
        let answer = owner.await.unwrap().unwrap();
        assert_eq!(answer.json(), retried.json());
    }
    let begun = cluster.begun();
    assert!(begun.len() <= 1, "{phase:?} {signal}: {begun:?}");
    let results = results(&cluster.upstream.requests());
    let has_result = results.contains("write of a") || results.contains("later of a");
    let is_interrupted = results.contains("interrupted");
    assert!(has_result != is_interrupted, "{phase:?} {signal}: {results}");
    // The result of a call is stored beside the next request to the upstream.
    if phase == Phase::Asking {
        assert!(has_result, "{phase:?} {signal}: {results}");
    }
    // A later retry gets the answer.
    assert_eq!(
        conversation.retry(&cluster.two).await.json(),
        retried.json(),
        "{phase:?} {signal}"
    );
    assert_eq!(cluster.begun().len(), begun.len());
}

/// Runs a turn in each phase at the same time, since most of a test is the time of a lease.
async fn is_continued_in(phases: &[Phase], signal: &'static str) {
    let mut tests = JoinSet::new();
    for phase in phases {
        tests.spawn(is_continued(*phase, signal));
    }
    while let Some(test) = tests.join_next().await {
        test.unwrap();
    }
}

const PHASES: [Phase; 4] = [Phase::Asking, Phase::Calling, Phase::AskingAgain, Phase::Deferred];

#[tokio::test(flavor = "multi_thread")]
async fn turn_continues_after_its_owner_was_killed() {
    is_continued_in(&PHASES, "-KILL").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_continues_while_its_owner_hangs() {
    is_continued_in(&PHASES, "-STOP").await;
}

/// The owner renews its lease on the new server, stores its progress again, and ends the turn.
#[tokio::test(flavor = "multi_thread")]
async fn turn_continues_after_redis_has_restarted_empty() {
    let Some(mut cluster) = Cluster::start().await else {
        return;
    };
    let mut conversation = Conversation::new(&[json!([call("write", "a", 8_000)]), json!("Done.")]);
    let owner = tokio::spawn({
        let (address, body) = (cluster.one.address.clone(), conversation.body.to_string());
        async move { crate::http::send(&address, "POST", "/v1/messages", &[], body.as_bytes()).await }
    });
    until(|| !cluster.begun().is_empty()).await;
    cluster.restart_redis();
    until(|| cluster.leases() > 0).await;
    let retried = conversation.retry(&cluster.two).await;
    let first = owner.await.unwrap().unwrap();
    assert_eq!((first.status, text(&first)), (200, "Done.".to_owned()));
    assert_eq!(
        (first.json(), first.session().0),
        (retried.json(), retried.session().0)
    );
    assert_eq!(cluster.begun(), ["write a"]);
    // The other gateway finds the turn.
    conversation.answer(&first);
    conversation.plan(&[json!("Next.")]);
    let next = conversation.ask(&cluster.two).await;
    assert_eq!(
        (text(&next), next.session().0),
        ("Next.".to_owned(), first.session().0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_ends_before_its_owner_stops() {
    is_continued_in(&[Phase::Calling], "-TERM").await;
}
