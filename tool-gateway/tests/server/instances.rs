//! Two gateways over one store.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use http_body::Body as _;
use serde_json::{Value, json};
use tokio::time::Instant;
use tool_builtins::files;
use tool_builtins::workspace::Workspace;
use tool_gateway::{Gateway, Offer, Offload};
use tool_runtime::ToolRegistry;
use tower::ServiceExt as _;

use crate::fault_rows::until_counted;
use crate::lab::{
    Chat, Lab, RETRY, Runs, assistant, call, go, post, result, says, slow_call, text, user, wait,
};
use crate::protocol::{Scripted, is_chat};
use crate::reply::Reply;
use crate::shared_store::{Instances, SharedStore};
use crate::test_script::TestScript;

async fn retry(lab: &Lab, chat: &Chat) -> Reply {
    lab.ask_with(&chat.body, &[RETRY]).await
}

/// Asserts that clients retry the request.
fn assert_conflict(refused: &Reply) {
    assert_eq!(
        (refused.status.as_u16(), refused.error().0),
        (409, "conflict_error")
    );
    assert_eq!(refused.headers["retry-after"], "2");
}

#[tokio::test(start_paused = true)]
async fn turn_that_was_suspended_on_one_gateway_is_resumed_on_another() {
    let turns = [
        says(&[text("One."), call("lookup", "a"), call("weather", "b")]),
        says(&[text("Two.")]),
        says(&[text("Three.")]),
    ];
    let instances = Instances::new(&turns);
    let mut chat = Chat::new(false);
    let suspended = chat.say(&instances.one, "go").await;
    let resumed = chat.answer(&instances.two, &suspended).await;
    assert_eq!(
        (resumed.text(), resumed.session().1.as_str()),
        ("Two.".to_owned(), "minted")
    );
    assert_eq!(resumed.session().0, suspended.session().0);
    let last = chat.say(&instances.one, "next").await;
    assert_eq!(
        (last.text(), last.session().0),
        ("Three.".to_owned(), suspended.session().0)
    );
    assert_eq!(instances.one.runs.begun(), ["lookup a"]);
    instances.one.assert_well_formed();
    instances.one.assert_one_prefix();
}

/// One request to the upstream, one run, and two equal answers.
#[tokio::test(start_paused = true)]
async fn retry_on_another_gateway_gets_the_answer_of_the_running_turn() {
    let instances = Instances::with_slow_write(7_000);
    let chat = go();
    let later = async {
        wait(100).await;
        retry(&instances.two, &chat).await
    };
    let (first, second) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(first.text(), "Done.");
    assert_eq!(
        (&first.message, first.session().0),
        (&second.message, second.session().0)
    );
    assert_eq!(instances.one.runs.begun(), ["write a"]);
    assert_eq!(instances.one.seen().len(), 2);
    // After the answer, too.
    assert_eq!(retry(&instances.two, &chat).await.message, first.message);
    assert_eq!(instances.one.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn equal_requests_without_a_sign_of_a_retry_are_two_turns() {
    let instances = Instances::with_slow_write(7_000);
    let chat = go();
    let (first, second) = tokio::join!(chat.ask(&instances.one), chat.ask(&instances.two));
    assert_eq!(
        (first.text(), second.text()),
        ("Done.".to_owned(), "Done.".to_owned())
    );
    assert_ne!(first.session().0, second.session().0);
    assert_eq!(instances.one.runs.begun(), ["write a", "write a"]);
}

#[tokio::test(start_paused = true)]
async fn deferred_call_runs_once_for_requests_on_two_gateways() {
    let turns = [
        says(&[slow_call("later", "a", 1_000), call("weather", "b")]),
        says(&[text("Done.")]),
    ];
    let instances = Instances::new(&turns);
    let mut chat = Chat::new(false);
    let suspended = chat.say(&instances.one, "go").await;
    chat.messages()
        .push(json!({ "role": "user", "content": [result(&suspended.ids()[0], "fine")] }));
    let (first, second) = tokio::join!(chat.ask(&instances.one), chat.ask(&instances.two));
    assert_eq!(
        (first.text(), second.text()),
        ("Done.".to_owned(), "Done.".to_owned())
    );
    assert_eq!(instances.one.runs.begun(), ["later a"]);
}

fn suspending() -> [Value; 2] {
    [
        says(&[slow_call("later", "a", 20_000), call("weather", "b")]),
        says(&[text("Done.")]),
    ]
}

/// Suspends a turn on the first gateway, and adds the results of the client.
async fn suspend(instances: &Instances) -> Chat {
    let mut chat = Chat::new(false);
    let suspended = chat.say(&instances.one, "go").await;
    chat.messages()
        .push(json!({ "role": "user", "content": [result(&suspended.ids()[0], "fine")] }));
    chat
}

#[tokio::test(start_paused = true)]
async fn changed_suspended_turn_is_a_conflict_that_clients_retry() {
    let instances = Instances::new(&suspending());
    let chat = suspend(&instances).await;
    instances.is_changed.store(true, Ordering::SeqCst);
    let refused = chat.ask(&instances.two).await;
    assert_conflict(&refused);
    instances.is_changed.store(false, Ordering::SeqCst);
    assert_eq!(retry(&instances.two, &chat).await.text(), "Done.");
    assert_eq!(instances.one.runs.begun(), ["later a"]);
}

/// A request without a client does not wait for deferred calls on another gateway, and has no lease.
#[tokio::test(start_paused = true)]
async fn abandoned_request_does_not_wait_for_deferred_calls() {
    let instances = Instances::new(&suspending());
    let chat = suspend(&instances).await;
    let later = async {
        instances.one.runs.until_begun(1).await;
        let left = tokio::time::timeout(Duration::from_secs(1), chat.ask(&instances.two)).await;
        assert!(left.is_err());
        let began = Instant::now();
        instances.two_turns.close();
        instances.two_turns.ended().await;
        began.elapsed()
    };
    let (first, waited) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(first.text(), "Done.");
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    assert_eq!(instances.one.runs.begun(), ["later a"]);
}

/// The calls of a suspended turn run on another gateway for longer than a request waits.
#[tokio::test(start_paused = true)]
async fn results_for_a_turn_whose_deferred_calls_run_on_another_gateway_are_a_conflict() {
    let script = json!({ "turns": suspending() });
    let instances = Instances::with(&script, |gateway| gateway.with_join_time(Duration::from_secs(5)));
    let chat = suspend(&instances).await;
    let later = async {
        wait(100).await;
        let began = Instant::now();
        let refused = chat.ask(&instances.two).await;
        assert_conflict(&refused);
        let message = "another gateway runs calls of this turn; retry the request";
        assert_eq!(refused.error().1, message);
        assert!(began.elapsed() >= Duration::from_secs(5));
    };
    let (first, ()) = tokio::join!(chat.ask(&instances.one), later);
    let repeated = chat.ask(&instances.two).await;
    assert_eq!(
        (first.text(), repeated.text()),
        ("Done.".to_owned(), "Done.".to_owned())
    );
    assert_eq!(instances.one.runs.begun(), ["later a"]);
}

/// The owner is hung, or cut off from the store. No call that must not be repeated runs twice.
#[tokio::test(start_paused = true)]
async fn retry_continues_after_the_lease_of_a_gateway_that_was_cut_off() {
    let instances = Instances::new(&[
        says(&[slow_call("write", "a", 25_000)]),
        says(&[slow_call("write", "b", 1)]),
        says(&[text("Done.")]),
    ]);
    let chat = go();
    let later = async {
        instances.one.runs.until_begun(1).await;
        instances.is_cut.store(true, Ordering::SeqCst);
        retry(&instances.two, &chat).await
    };
    let (first, second) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(second.text(), "Done.", "{}", second.message);
    assert!([503, 529].contains(&first.status.as_u16()), "{}", first.message);
    assert_eq!(instances.one.runs.begun(), ["write a", "write b"]);
    let seen = instances.two.seen();
    assert!(seen[1].to_string().contains("interrupted"), "{}", seen[1]);
}

/// Sends a request to the first gateway, which loses the store during the first call.
async fn fail_during_a_call(instances: &Instances, chat: &Chat) {
    let later = async {
        instances.one.runs.until_begun(1).await;
        instances.is_cut.store(true, Ordering::SeqCst);
    };
    let (failed, ()) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(failed.status, 503, "{}", failed.message);
}

/// The write of the result has failed, and the log of the store has only the beginning of the call.
#[tokio::test(start_paused = true)]
async fn retry_on_the_same_gateway_has_the_results_that_the_store_lacks() {
    let instances = Instances::new(&[says(&[slow_call("write", "a", 1_000)]), says(&[text("Done.")])]);
    let chat = go();
    fail_during_a_call(&instances, &chat).await;
    instances.is_cut.store(false, Ordering::SeqCst);
    let second = retry(&instances.one, &chat).await;
    assert_eq!(second.text(), "Done.", "{}", second.message);
    assert_eq!(instances.one.runs.begun(), ["write a"]);
    let seen = instances.one.last_seen().to_string();
    assert!(!seen.contains("interrupted"), "{seen}");
}

/// Another gateway has continued in the meantime, and has later steps.
#[tokio::test(start_paused = true)]
async fn retry_on_the_first_gateway_continues_from_the_steps_of_another() {
    let instances = Instances::new(&[
        says(&[slow_call("write", "a", 1_000)]),
        says(&[slow_call("write", "b", 1_000)]),
        says(&[text("Done.")]),
    ]);
    let chat = go();
    fail_during_a_call(&instances, &chat).await;
    // The second gateway is stopped during the next call.
    let later = async {
        while instances.one.runs.begun().len() < 2 {
            wait(10).await;
        }
        instances.two_turns.release().await;
    };
    let (second, ()) = tokio::join!(retry(&instances.two, &chat), later);
    assert_ne!(second.status, 200, "{}", second.message);
    instances.is_cut.store(false, Ordering::SeqCst);
    let third = retry(&instances.one, &chat).await;
    assert_eq!(third.text(), "Done.", "{}", third.message);
    assert_eq!(instances.one.runs.begun(), ["write a", "write b"]);
    let seen = instances.one.last_seen().to_string();
    assert!(seen.contains("up_b"), "{seen}");
}

/// The turn has failed on this gateway. Another gateway has continued it, and a client has its answer. An equal request without a sign of a
/// retry is another turn, without the results that this gateway has in memory.
#[tokio::test(start_paused = true)]
async fn failed_turn_that_was_answered_elsewhere_is_only_for_retries() {
    for is_retry in [false, true] {
        let instances = Instances::new(&[says(&[slow_call("write", "a", 1_000)]), says(&[text("Done.")])]);
        let chat = go();
        fail_during_a_call(&instances, &chat).await;
        let answered = retry(&instances.two, &chat).await;
        assert_eq!(answered.text(), "Done.", "{}", answered.message);
        wait(500).await;
        instances.is_cut.store(false, Ordering::SeqCst);
        let third = if is_retry {
            retry(&instances.one, &chat).await
        } else {
            chat.ask(&instances.one).await
        };
        assert_eq!(third.text(), "Done.", "{}", third.message);
        assert_eq!(third.session().0 == answered.session().0, is_retry);
        let runs = if is_retry { 1 } else { 2 };
        assert_eq!(instances.one.runs.begun().len(), runs, "{is_retry}");
    }
}

/// Sends a request to the second gateway, and an equal one to the first gateway, which loses the store during its call. `end` begins then.
async fn fail_second_sample(instances: &Instances, chat: &Chat, end: impl Future<Output = ()>) {
    let first = async {
        wait(10).await;
        chat.ask(&instances.one).await
    };
    let later = async {
        instances.one.runs.until_begun(2).await;
        instances.is_cut.store(true, Ordering::SeqCst);
        end.await;
    };
    let (_, failed, ()) = tokio::join!(chat.ask(&instances.two), first, later);
    assert_eq!(failed.status, 503, "{}", failed.message);
    assert_eq!(instances.one.runs.begun(), ["write a", "write a"]);
    instances.is_cut.store(false, Ordering::SeqCst);
}

/// The store gives a retry the first number again, and the gateway has the results of the second sample in memory.
#[tokio::test(start_paused = true)]
async fn retry_has_the_results_of_its_sample_after_the_store_has_lost_everything() {
    let instances = Instances::with_slow_write(1_000);
    let chat = go();
    fail_second_sample(&instances, &chat, async {}).await;
    instances.lose_all();
    let second = retry(&instances.one, &chat).await;
    assert_eq!(second.text(), "Done.", "{}", second.message);
    assert_eq!(instances.one.runs.begun(), ["write a", "write a"]);
    let seen = instances.one.last_seen().to_string();
    assert!(seen.contains("write of a"), "{seen}");
}

/// A gateway has the results of one sample in memory, and continues another one of a stopped gateway.
#[tokio::test(start_paused = true)]
async fn retries_continue_one_sample_each() {
    let instances = Instances::with_slow_write(1_000);
    let chat = go();
    fail_second_sample(&instances, &chat, instances.two_turns.release()).await;
    for expected in ["interrupted", "write of a"] {
        let retried = retry(&instances.one, &chat).await;
        assert_eq!(retried.text(), "Done.", "{}", retried.message);
        let seen = instances.one.last_seen().to_string();
        assert!(seen.contains(expected), "{expected}: {seen}");
    }
    assert_eq!(instances.one.runs.begun(), ["write a", "write a"]);
}

/// The retry is repeated by SDKs.
#[tokio::test(start_paused = true)]
async fn retry_that_waits_too_long_for_another_gateway_is_a_conflict() {
    let instances = Instances::with_slow_write(50_000);
    let chat = go();
    let later = async {
        wait(100).await;
        let refused = retry(&instances.two, &chat).await;
        assert_conflict(&refused);
        retry(&instances.two, &chat).await
    };
    let (first, second) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(
        (first.text(), first.message),
        ("Done.".to_owned(), second.message)
    );
    assert_eq!(instances.one.runs.begun(), ["write a"]);
}

/// Returns the sorted names of a gateway's tools.
async fn tool_names(gateway: Gateway) -> Vec<String> {
    let request = Request::get("/v1/tools").body(Body::empty()).unwrap();
    let response = gateway.router().oneshot(request).await.unwrap();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let tools: Value = serde_json::from_slice(&body).unwrap();
    let tools = tools["data"].as_array().unwrap();
    let mut names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    names
}

/// A session may move to a gateway with another folder.
#[tokio::test]
async fn shared_store_needs_a_shared_workspace() {
    for (is_shared, expected) in [(false, &[][..]), (true, &["LS", "Read"])] {
        let workspace = Workspace::open(std::env::temp_dir()).unwrap();
        let registry = ToolRegistry::new().with_state(workspace);
        let registry = registry.with_tools(files::reading_tools()).unwrap();
        let script =
            TestScript::from_json(&json!({ "turns": [says(&[text("Done.")])] }).to_string()).unwrap();
        let mut gateway = Gateway::new(registry, Scripted::new(&script)).with_store(SharedStore::default());
        if is_shared {
            gateway = gateway.with_shared_workspace();
        }
        let names = tool_names(gateway).await;
        assert_eq!(names, expected, "{is_shared}");
    }
}

/// Both gateways have the records that they saved or loaded, until another gateway changes them.
#[tokio::test(start_paused = true)]
async fn records_are_loaded_once_by_each_gateway() {
    let turns: Vec<_> = ["One.", "Two.", "Three.", "Four."]
        .map(|words| says(&[text(words)]))
        .into();
    let instances = Instances::new(&turns);
    let mut chat = Chat::new(false);
    let mut loaded = Vec::new();
    for lab in [&instances.one, &instances.one, &instances.two, &instances.two] {
        chat.say(lab, "go").await;
        loaded.push(instances.loaded.swap(0, Ordering::SeqCst));
    }
    assert_eq!(loaded, [0, 0, 2, 0]);
}

/// Reads the stream of an answer until its first block ends, and returns the conversation with the results of this block's call.
async fn early_results(chat: &Chat, stream: &mut Body) -> Chat {
    let mut seen = String::new();
    while !seen.contains("content_block_stop") {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *stream).poll_frame(context)).await;
        seen.push_str(std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap());
    }
    let (_, id) = seen.split_once(r#""id":"toolu_"#).unwrap();
    let id = format!("toolu_{}", id.split('"').next().unwrap());
    let mut chat = chat.clone();
    let echo = json!({ "type": "tool_use", "id": id, "name": "weather", "input": { "key": "a" } });
    chat.messages().push(assistant(json!([echo])));
    chat.messages()
        .push(json!({ "role": "user", "content": [result(&id, "fine")] }));
    chat
}

/// The turn of an id of the gateways may run on another gateway.
#[tokio::test(start_paused = true)]
async fn results_for_a_turn_that_runs_on_another_gateway_are_a_conflict() {
    if is_chat() {
        return; // A call arrives when it is complete there.
    }
    let instances = Instances::new(&[
        says(&[call("weather", "a"), slow_call("write", "b", 7_000)]),
        says(&[text("Done.")]),
    ]);
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    let mut stream = instances
        .one
        .send(post("/v1/messages", &chat.body, &[]))
        .await
        .into_body();
    let early = early_results(&chat, &mut stream).await;
    let began = Instant::now();
    let refused = early.ask(&instances.two).await;
    assert_conflict(&refused);
    let waited = began.elapsed();
    assert!(
        waited >= Duration::from_secs(2) && waited < Duration::from_secs(3),
        "{waited:?}"
    );
    // The turn is stored while the next request waits.
    wait(3_500).await;
    let done = early.ask(&instances.two).await;
    assert_eq!(
        (done.text(), done.session().1),
        ("Done.".to_owned(), "minted".to_owned())
    );
    assert_eq!(instances.one.runs.begun(), ["write b"]);
    crate::reply::bytes(stream).await;
}

#[tokio::test(start_paused = true)]
async fn turn_that_no_gateway_has_is_lost() {
    let mut chat = Chat::new(false);
    let suspended = chat
        .say(&Instances::new(&[says(&[call("weather", "b")])]).one, "go")
        .await;
    chat.messages()
        .push(json!({ "role": "user", "content": [result(&suspended.ids()[0], "fine")] }));
    let instances = Instances::with(
        &json!({ "turns": [says(&[text("Two.")])], "order": "requests" }),
        |gateway| gateway,
    );
    let began = Instant::now();
    let answer = chat.ask(&instances.two).await;
    assert_eq!(
        (answer.text(), answer.session().1),
        ("Two.".to_owned(), "lost".to_owned())
    );
    assert!(began.elapsed() >= Duration::from_secs(2));
    until_counted(&instances.two, "sessions_total{found=\"lost\"} 1").await;
}

#[tokio::test(start_paused = true)]
async fn requests_with_one_idempotency_key_are_one_turn() {
    let instances = Instances::with_slow_write(7_000);
    let with_key = async |lab: &Lab, key: &str, after: u64| {
        wait(after).await;
        lab.ask_with(&go().body, &[("idempotency-key", key)]).await
    };
    let (first, second, other) = tokio::join!(
        with_key(&instances.one, "a", 0),
        with_key(&instances.two, "a", 100),
        with_key(&instances.two, "b", 200)
    );
    assert_eq!(first.text(), "Done.");
    assert_eq!(
        (&first.message, first.session().0),
        (&second.message, second.session().0)
    );
    assert_ne!(first.session().0, other.session().0);
    assert_eq!(instances.one.runs.begun(), ["write a", "write a"]);
    // After the answer, too.
    let later = with_key(&instances.two, "a", 1_000).await;
    assert_eq!(later.message, first.message);
    assert_eq!(instances.one.runs.begun().len(), 2);
}

/// A client has received the answer, so that an equal request is a branch.
#[tokio::test(start_paused = true)]
async fn answer_that_a_client_has_is_only_for_retries() {
    let turns = [says(&[call("write", "a")]), says(&[text("Done.")])];
    let instances = Instances::new(&turns);
    let first = go().ask(&instances.one).await;
    wait(500).await;
    let branch = go().ask(&instances.two).await;
    assert_eq!(branch.text(), "Done.");
    assert_ne!(first.session().0, branch.session().0);
    assert_eq!(instances.one.runs.begun().len(), 2);
    let again = retry(&instances.one, &go()).await;
    assert_eq!(again.text(), "Done.");
    assert_eq!(instances.one.runs.begun().len(), 2);
}

/// The client leaves before the end of its answer. Its retry receives the answer, on the gateway of the turn or on another one.
#[tokio::test(start_paused = true)]
async fn answer_that_a_retry_has_received_is_only_for_retries() {
    for is_elsewhere in [false, true] {
        let instances = Instances::new(&[says(&[call("write", "a")]), says(&[text("Done.")])]);
        let mut chat = Chat::new(true);
        chat.messages().push(user("go"));
        let unread = instances.one.send(post("/v1/messages", &chat.body, &[])).await;
        wait(10_000).await;
        drop(unread);
        wait(10_000).await;
        let other = if is_elsewhere {
            &instances.two
        } else {
            &instances.one
        };
        let retried = retry(other, &chat).await;
        assert_eq!(retried.text(), "Done.");
        assert_eq!(instances.one.runs.begun(), ["write a"]);
        wait(500).await;
        let branch = chat.ask(&instances.three).await;
        assert_ne!(branch.session().0, retried.session().0, "{is_elsewhere}");
        assert_eq!(instances.one.runs.begun().len(), 2, "{is_elsewhere}");
        let again = retry(&instances.two, &chat).await;
        assert_eq!(again.text(), "Done.");
        assert_eq!(instances.one.runs.begun().len(), 2, "{is_elsewhere}");
    }
}

/// The lease is renewed without the client, and an equal request joins the turn.
#[tokio::test(start_paused = true)]
async fn call_that_must_not_be_cut_keeps_its_lease_without_a_client() {
    let instances = Instances::with_slow_write(25_000);
    let chat = go();
    let left = tokio::time::timeout(Duration::from_millis(100), chat.ask(&instances.one)).await;
    assert!(left.is_err());
    // The first gateway states at once that its client has left.
    wait(10).await;
    let second = chat.ask(&instances.two).await;
    assert_eq!(second.text(), "Done.");
    assert_eq!(instances.one.runs.begun(), ["write a"]);
    assert_eq!(instances.one.runs.ended(), ["write a"]);
    let seen = instances.two.seen();
    assert!(seen[1].to_string().contains("write of a"), "{}", seen[1]);
}

/// A gateway that is stopped releases the leases of turns that it cuts.
#[tokio::test(start_paused = true)]
async fn turn_of_a_stopped_gateway_continues_at_once() {
    let instances = Instances::with_slow_write(60_000);
    let chat = go();
    let later = async {
        instances.one.runs.until_begun(1).await;
        instances.turns.close();
        instances.turns.release().await;
        let began = Instant::now();
        let done = retry(&instances.two, &chat).await;
        (done, began.elapsed())
    };
    let (cut, (done, waited)) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(done.text(), "Done.");
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    assert_eq!(cut.status, 529);
    assert_eq!(instances.one.runs.begun(), ["write a"]);
    let seen = instances.two.seen();
    assert!(seen[1].to_string().contains("interrupted"), "{}", seen[1]);
}

/// A turn ends with its lease, so that the program ends after the leases are released.
#[tokio::test(start_paused = true)]
async fn leases_are_released_with_their_turns() {
    let instances = Instances::with_slow_write(7_000);
    assert_eq!(go().ask(&instances.one).await.text(), "Done.");
    let began = Instant::now();
    instances.turns.release().await;
    assert!(began.elapsed() < Duration::from_secs(1));
}

/// A retry on another gateway finds the log that was sent again.
#[tokio::test(start_paused = true)]
async fn log_is_sent_again_after_the_store_has_lost_segments() {
    for losses in 1..=3 {
        let instances = Instances::new(&[
            says(&[call("write", "a")]),
            says(&[call("write", "b")]),
            says(&[text("Done.")]),
        ]);
        instances.losses.store(losses, Ordering::SeqCst);
        let chat = go();
        let first = chat.ask(&instances.one).await;
        assert_eq!(first.text(), "Done.", "{losses}: {}", first.message);
        let again = retry(&instances.two, &chat).await;
        assert_eq!(again.message, first.message, "{losses}");
        assert_eq!(instances.one.runs.begun(), ["write a", "write b"], "{losses}");
    }
}

/// The store restarts empty. The turn continues on its gateway, which sends its log again.
#[tokio::test(start_paused = true)]
async fn turn_continues_after_the_store_has_lost_everything() {
    for ms in [1_000, 12_000] {
        let instances = Instances::new(&[
            says(&[call("write", "a")]),
            says(&[slow_call("write", "b", ms)]),
            says(&[text("Done.")]),
        ]);
        let chat = go();
        let later = async {
            instances.one.runs.until_begun(2).await;
            instances.lose_all();
            wait(6_000).await;
            retry(&instances.two, &chat).await
        };
        let (first, again) = tokio::join!(chat.ask(&instances.one), later);
        assert_eq!(first.text(), "Done.", "{ms}: {}", first.message);
        assert_eq!(again.message, first.message, "{ms}");
        assert_eq!(instances.one.runs.begun(), ["write a", "write b"], "{ms}");
    }
}

/// The log of a stopped gateway is not readable for the second gateway, where a retry begins again. The lease of the log is released, so that
/// a gateway that can read the log continues from there at once.
#[tokio::test(start_paused = true)]
async fn turn_whose_log_is_not_readable_begins_again() {
    let instances = Instances::with_slow_write(60_000);
    let chat = go();
    let continued = async {
        instances.two.runs.until_begun(2).await;
        instances.is_damaged.store(false, Ordering::SeqCst);
        let began = Instant::now();
        (retry(&instances.three, &chat).await, began.elapsed())
    };
    let later = async {
        instances.one.runs.until_begun(1).await;
        instances.turns.close();
        instances.turns.release().await;
        instances.is_damaged.store(true, Ordering::SeqCst);
        tokio::join!(retry(&instances.two, &chat), continued)
    };
    let (_, (again, (continued, waited))) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(again.text(), "Done.", "{}", again.message);
    assert_eq!(continued.text(), "Done.", "{}", continued.message);
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    assert_eq!(instances.one.runs.begun(), ["write a", "write a"]);
}

/// The gateway is cut off from the store for longer than the store keeps an answer, and runs no further call.
#[tokio::test(start_paused = true)]
async fn lease_is_not_renewed_after_a_long_time() {
    let instances = Instances::new(&[
        says(&[slow_call("write", "a", 590_000)]),
        says(&[call("write", "b")]),
        says(&[text("Done.")]),
    ]);
    let chat = go();
    let later = async {
        instances.one.runs.until_begun(1).await;
        instances.is_cut.store(true, Ordering::SeqCst);
        instances.lose_all();
        wait(400_000).await;
        instances.is_cut.store(false, Ordering::SeqCst);
    };
    let (first, ()) = tokio::join!(chat.ask(&instances.one), later);
    assert_ne!(first.status, 200, "{}", first.message);
    assert_eq!(instances.one.runs.begun(), ["write a"]);
}

/// A model cannot read a file of another machine.
#[tokio::test(start_paused = true)]
async fn shared_store_needs_a_shared_offload_directory() {
    for is_shared in [false, true] {
        let folder = std::env::temp_dir().join(format!(
            "tool-gateway-shared-offload-{}-{is_shared}",
            std::process::id()
        ));
        let offload = || Offload::new(&folder).with_threshold(5);
        let configure = |gateway: Gateway| {
            let offload = if is_shared { offload().shared() } else { offload() };
            gateway.with_offload(offload).unwrap()
        };
        let script = json!({ "turns": [says(&[call("write", "a")]), says(&[text("Done.")])] });
        let instances = Instances::with(&script, configure);
        assert_eq!(go().ask(&instances.one).await.text(), "Done.");
        let seen = instances.one.last_seen().to_string();
        assert_eq!(seen.contains("/ses_"), is_shared, "{seen}");
        assert_eq!(seen.contains("ReadOffloaded"), is_shared, "{seen}");
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[tokio::test(start_paused = true)]
async fn offloaded_result_is_read_on_another_gateway() {
    let folder = std::env::temp_dir().join(format!("tool-gateway-moved-offload-{}", std::process::id()));
    let read =
        json!({ "type": "tool_use", "id": "up_r", "name": "ReadOffloaded", "input": { "id": "up_a" } });
    let script = json!({ "turns": [
        says(&[call("write", "a")]),
        says(&[text("One.")]),
        says(&[read]),
        says(&[text("Two.")]),
    ] });
    let instances = Instances::with(&script, |gateway| {
        let offload = Offload::new(&folder).with_threshold(5).shared();
        gateway.with_offload(offload).unwrap()
    });
    let mut chat = Chat::new(false);
    assert_eq!(chat.say(&instances.one, "go").await.text(), "One.");
    assert!(!instances.one.last_seen().to_string().contains("write of a"));
    assert_eq!(chat.say(&instances.two, "read it").await.text(), "Two.");
    let seen = instances.two.last_seen();
    let last = seen["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("write of a"), "{last}");
    let _ = std::fs::remove_dir_all(folder);
}

/// The session knows the files that the model has read.
#[tokio::test(start_paused = true)]
async fn file_that_was_read_on_one_gateway_is_edited_on_another() {
    let folder = std::env::temp_dir().join(format!("tool-gateway-moved-workspace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), "one\n").unwrap();
    let use_of = |id: &str, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let turns = [
        says(&[use_of("up_r", "Read", json!({ "file_path": "a.txt" }))]),
        says(&[text("Read.")]),
        says(&[use_of(
            "up_e",
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" }),
        )]),
        says(&[text("Edited.")]),
    ];
    let script = TestScript::from_json(&json!({ "turns": turns }).to_string()).unwrap();
    let store = SharedStore::default();
    let lab = || {
        let registry = ToolRegistry::new().with_state(Workspace::open(&folder).unwrap());
        let gateway = Gateway::new(
            registry.with_tools(files::tools()).unwrap(),
            Scripted::new(&script),
        );
        let gateway = gateway.with_offer(Offer::Always).with_store(store.clone());
        Lab {
            app: gateway.with_shared_workspace().router(),
            script: script.clone(),
            runs: Runs::default(),
        }
    };
    let (one, two) = (lab(), lab());
    let mut chat = Chat::new(false);
    assert_eq!(chat.say(&one, "read").await.text(), "Read.");
    assert_eq!(chat.say(&two, "edit").await.text(), "Edited.");
    let edited = std::fs::read_to_string(folder.join("a.txt")).unwrap();
    assert_eq!(edited, "two\n", "{}", two.last_seen());
    let _ = std::fs::remove_dir_all(folder);
}

/// A slow store is not a reason to wait for each look-up in turn.
#[tokio::test(start_paused = true)]
async fn all_lookups_of_a_request_have_five_seconds() {
    let instances = Instances::new(&[
        says(&[call("weather", "a")]),
        says(&[call("weather", "b")]),
        says(&[text("Done.")]),
    ]);
    let (mut known, mut lost) = (Chat::new(false), Chat::new(false));
    let suspended = known.say(&instances.one, "known").await;
    let answer = async |chat: &mut Chat, last: &Reply| {
        let began = Instant::now();
        let reply = chat.answer(&instances.two, last).await;
        assert_eq!(reply.status, 503, "{}", reply.message);
        assert_eq!(reply.headers["retry-after"], "2");
        began.elapsed()
    };
    let five_seconds = Duration::from_millis(4_900)..Duration::from_millis(5_100);
    // The second gateway looks for the turn, and then loads its record.
    instances.delay.store(3_000, Ordering::SeqCst);
    let took = answer(&mut known, &suspended).await;
    assert!(five_seconds.contains(&took), "{took:?}");
    instances.delay.store(0, Ordering::SeqCst);
    let suspended = lost.say(&instances.one, "lost").await;
    instances.lose_all();
    // The look-up is repeated, in case another gateway has not stored the turn yet.
    instances.delay.store(1_500, Ordering::SeqCst);
    let took = answer(&mut lost, &suspended).await;
    assert!(five_seconds.contains(&took), "{took:?}");
    assert_eq!(instances.one.seen().len(), 2);
}
