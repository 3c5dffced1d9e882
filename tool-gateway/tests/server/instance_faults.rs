//! Faults of several gateways over one store, row by row as `docs/faults.md` has them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use crate::fault_rows::{Log, row};
use crate::lab::{Chat, RETRY, call, go, result, says, slow_call, text, wait};
use crate::shared_store::Instances;

/// The first gateway has no connection to the store for 30 seconds, during a call.
#[tokio::test(start_paused = true)]
async fn another_gateway_continues_the_turn() {
    let row = row("another_gateway_continues_the_turn");
    let turns = [says(&[slow_call("write", "a", 45_000)]), says(&[text("Done.")])];
    let instances = Instances::new(&turns);
    let chat = go();
    let later = async {
        instances.one.runs.until_begun(1).await;
        instances.is_cut.store(true, Ordering::SeqCst);
        let done = instances.two.ask_with(&chat.body, &[RETRY]).await;
        wait(10_000).await;
        let log = Log::start();
        instances.is_cut.store(false, Ordering::SeqCst);
        (done, log)
    };
    let (first, (second, log)) = tokio::join!(chat.ask(&instances.one), later);
    row.client_sees(&first);
    assert_eq!(second.text(), "Done.");
    assert_eq!(instances.one.runs.begun(), ["write a"]);
    let row = row.with("SESSION", &first.session().0);
    row.host_learns(&instances.one, &log).await;
}

/// No other gateway has continued the request.
#[tokio::test(start_paused = true)]
async fn lease_is_not_renewed() {
    let row = row("lease_is_not_renewed");
    let turns = [says(&[slow_call("write", "a", 12_000)]), says(&[text("Done.")])];
    let instances = Instances::new(&turns);
    let chat = go();
    let log = Log::start();
    let later = async {
        instances.one.runs.until_begun(1).await;
        instances.is_cut.store(true, Ordering::SeqCst);
    };
    let (first, ()) = tokio::join!(chat.ask(&instances.one), later);
    row.client_sees(&first);
    row.host_learns(&instances.one, &log).await;
    instances.is_cut.store(false, Ordering::SeqCst);
    let done = instances.one.ask_with(&chat.body, &[RETRY]).await;
    assert_eq!(done.text(), "Done.");
    assert_eq!(instances.one.runs.begun(), ["write a"]);
}

#[tokio::test(start_paused = true)]
async fn store_loses_segments() {
    let row = row("store_loses_segments");
    let log = Log::start();
    let instances = Instances::new(&[says(&[call("write", "a")]), says(&[text("Done.")])]);
    instances.losses.store(1, Ordering::SeqCst);
    let answer = go().ask(&instances.one).await;
    row.client_sees(&answer);
    assert_eq!(answer.text(), "Done.");
    let row = row.with("SESSION", &answer.session().0);
    row.host_learns(&instances.one, &log).await;
}

#[tokio::test(start_paused = true)]
async fn progress_is_not_readable() {
    let row = row("progress_is_not_readable");
    let turns = [says(&[call("write", "a")]), says(&[text("Done.")])];
    let instances = Instances::new(&turns);
    assert_eq!(go().ask(&instances.one).await.text(), "Done.");
    instances.is_damaged.store(true, Ordering::SeqCst);
    let log = Log::start();
    let answer = instances.two.ask_with(&go().body, &[RETRY]).await;
    row.client_sees(&answer);
    assert_eq!(answer.text(), "Done.");
    assert_eq!(instances.one.runs.begun(), ["write a", "write a"]);
    row.host_learns(&instances.two, &log).await;
}

#[tokio::test(start_paused = true)]
async fn another_gateway_runs_the_request() {
    let row = row("another_gateway_runs_the_request");
    let script = json!({ "turns": [says(&[slow_call("write", "a", 20_000)]), says(&[text("Done.")])] });
    let join_time = Duration::from_secs(5);
    let instances = Instances::with(&script, |gateway| gateway.with_join_time(join_time));
    let chat = go();
    let later = async {
        wait(100).await;
        let log = Log::start();
        row.client_sees(&instances.two.ask_with(&chat.body, &[RETRY]).await);
        row.host_learns(&instances.two, &log).await;
        instances.two.ask_with(&chat.body, &[RETRY]).await
    };
    let (first, _) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(first.text(), "Done.");
    let retried = instances.two.ask_with(&chat.body, &[RETRY]).await;
    assert_eq!(retried.message, first.message);
    assert_eq!(instances.one.runs.begun(), ["write a"]);
}

#[tokio::test(start_paused = true)]
async fn no_gateway_has_the_turn() {
    let row = row("no_gateway_has_the_turn");
    let mut chat = Chat::new(false);
    let before = Instances::new(&[says(&[call("weather", "b")])]);
    let suspended = chat.say(&before.one, "go").await;
    chat.messages()
        .push(json!({ "role": "user", "content": [result(&suspended.ids()[0], "fine")] }));
    let script = json!({ "turns": [says(&[text("Two.")])], "order": "requests" });
    let instances = Instances::with(&script, |gateway| gateway);
    let log = Log::start();
    let answer = chat.ask(&instances.one).await;
    row.client_sees(&answer);
    assert_eq!(answer.text(), "Two.");
    row.host_learns(&instances.one, &log).await;
}
