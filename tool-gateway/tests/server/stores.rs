//! Stores with temporary failures: no call runs twice, and no conversation is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_runtime::{Context, ToolDefinition};

use crate::failing_store::FailingStore;
use crate::lab::{Chat, Lab, Runs, assistant, call, registry, result, says, schema, slow_call, text, user};
use crate::reply::Reply;
use crate::test_script::TestScript;

/// Builds a gateway whose store fails a given number of saves.
fn lab(turns: &Value) -> (Lab, Arc<AtomicUsize>) {
    let (store, failures) = (FailingStore::in_memory(), Arc::new(AtomicUsize::new(0)));
    let left = Arc::clone(&failures);
    store.fail(move |operations| {
        let fail = |left: usize| left.checked_sub(1);
        operations.ends_with(&["save"])
            && left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fail)
                .is_ok()
    });
    let script = json!({ "order": "requests", "turns": turns });
    (Lab::with(script, |gateway| gateway.with_store(store)), failures)
}

#[tokio::test]
async fn a_deferred_call_whose_result_was_not_stored_does_not_run_again() {
    let busy = json!({ "error": { "status": 529, "body": { "type": "error", "error": { "type": "overloaded_error", "message": "busy" } } } });
    let (lab, failures) = lab(&json!([
        says(&[call("later", "a"), call("weather", "b")]),
        busy,
        says(&[text("One.")]),
        says(&[text("Two.")]),
    ]));
    let mut chat = Chat::new(false);
    let reply = chat.say(&lab, "go").await;
    failures.store(1, Ordering::SeqCst);
    chat.messages()
        .push(user(json!([result(&reply.ids()[0], "rain")])));
    assert_eq!(chat.ask(&lab).await.status.as_u16(), 529);
    chat.headers.push(("x-stainless-retry-count", "1".to_owned()));
    assert_eq!(chat.ask(&lab).await.text(), "One.");
    assert_eq!(lab.runs.begun(), ["later a"]);
    assert!(lab.last_seen().to_string().contains("later of a"));
    lab.assert_well_formed();
}

#[tokio::test]
async fn unstored_turns_resume_with_the_results_of_their_calls() {
    for count in 1..=2 {
        let (lab, failures) = lab(&json!([
            says(&[call("later", "a"), call("weather", "b")]),
            says(&[text("One.")]),
            says(&[text("Two.")]),
        ]));
        let mut chat = Chat::new(true);
        let reply = chat.say(&lab, "go").await;
        failures.store(count, Ordering::SeqCst);
        assert_eq!(chat.answer(&lab, &reply).await.text(), "One.");
        assert_eq!(chat.say(&lab, "and?").await.text(), "Two.");
        assert_eq!(lab.runs.begun(), ["later a"], "{count}");
        lab.assert_well_formed();
    }
}

#[tokio::test]
async fn state_of_deferred_calls_that_is_not_stored_is_that_of_the_next_branch() {
    let todos = json!([{ "content": "first", "status": "pending", "activeForm": "first" }]);
    let write = json!({ "type": "tool_use", "id": "up_w", "name": "TodoWrite", "input": { "todos": todos } });
    let read = |id: &str| json!({ "type": "tool_use", "id": id, "name": "TodoRead", "input": {} });
    let turns = json!([
        says(&[write, call("weather", "a")]),
        says(&[read("up_1")]),
        says(&[text("One.")]),
        says(&[read("up_2")]),
        says(&[text("Two.")]),
    ]);
    let store = FailingStore::in_memory();
    let script = json!({ "order": "requests", "turns": turns });
    let lab = Lab::with(script, |gateway| {
        gateway
            .with_store(store.clone())
            .with_deferred(["TodoWrite"])
            .unwrap()
    });
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    // The results of the deferred call, and the turn.
    let before = store.operations();
    store.fail(move |operations| {
        let saves = operations[before..]
            .iter()
            .filter(|operation| **operation == "save");
        operations.last() == Some(&"save") && saves.count() <= 2
    });
    for answer in ["one", "two"] {
        let mut branch = chat.clone();
        branch.say(&lab, json!([result(&reply.ids()[0], answer)])).await;
        let sent = lab.last_seen();
        let list = sent["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(list.contains("first"), "{answer}: {list}");
    }
}

/// Repeats a request like the SDKs, until it is answered.
async fn insist(lab: &Lab, chat: &mut Chat) -> Reply {
    let mut reply = chat.ask(lab).await;
    for _ in 0..4 {
        if !reply.is_error() {
            break;
        }
        assert_eq!(reply.error().0, "api_error");
        assert!(
            reply.error().1.contains("retry the request later"),
            "{}",
            reply.message
        );
        reply = lab
            .ask_with(&chat.body, &[("x-stainless-retry-count", "1")])
            .await;
    }
    chat.messages().push(assistant(reply.message["content"].clone()));
    reply
}

#[tokio::test(start_paused = true)]
async fn whichever_operation_fails_no_call_runs_twice_and_no_result_is_lost() {
    for is_stream in [false, true] {
        // This many consecutive operations fail, from a varying one on.
        for count in 1..=3 {
            for first in 0.. {
                let store = FailingStore::durable();
                store.fail(move |operations| (first + 1..=first + count).contains(&operations.len()));
                let turns = json!([
                    says(&[text("One."), call("write", "a"), call("later", "b")]),
                    says(&[
                        text("Two."),
                        call("write", "c"),
                        call("later", "d"),
                        call("weather", "e"),
                        call("write", "f")
                    ]),
                    says(&[text("Three."), call("write", "g")]),
                    says(&[text("Four.")]),
                    says(&[text("Five.")]),
                ]);
                let lab = Lab::with(json!({ "turns": turns }), |gateway| {
                    gateway.with_store(store.clone())
                });
                let mut chat = Chat::new(is_stream);
                chat.messages().push(user("go"));
                let reply = insist(&lab, &mut chat).await;
                assert_eq!(reply.text(), "One.\nTwo.", "{first}");
                chat.messages()
                    .push(user(json!([result(&reply.ids()[0], "rain")])));
                assert_eq!(insist(&lab, &mut chat).await.text(), "Three.\nFour.", "{first}");
                chat.messages().push(user("next"));
                assert_eq!(insist(&lab, &mut chat).await.text(), "Five.", "{first}");

                let mut begun = lab.runs.begun();
                begun.sort();
                assert_eq!(
                    begun,
                    ["later b", "later d", "write a", "write c", "write f", "write g"],
                    "{first}"
                );
                let last = lab.last_seen()["messages"].to_string();
                for call in begun {
                    assert!(last.contains(&call.replace(' ', " of ")), "{first}: {last}");
                }
                lab.assert_well_formed();
                lab.assert_one_prefix();
                if store.operations() <= first {
                    break;
                }
            }
        }
    }
}

/// Otherwise a round with many long results would write all of them with each result.
#[tokio::test(start_paused = true)]
async fn results_that_come_while_others_are_stored_are_stored_at_once() {
    let written = bytes_of_a_long_round(false, |_| 1).await;
    assert!(written < 4 * CALLS * LENGTH, "{written} bytes");
}

/// A read-only call may run again, so its result is not worth a write of the whole turn.
#[tokio::test(start_paused = true)]
async fn results_of_read_only_calls_are_stored_with_the_round() {
    let written = bytes_of_a_long_round(true, |call| 100 * call).await;
    assert!(written < 2 * CALLS * LENGTH, "{written} bytes");
    let each = bytes_of_a_long_round(false, |call| 100 * call).await;
    assert!(
        each < 4 * CALLS * LENGTH,
        "{each} bytes: each write has what is new"
    );
}

const LENGTH: usize = 10_000;
const CALLS: usize = 60;

/// Returns the number of bytes that are stored in a turn with one round of calls of several milliseconds each.
async fn bytes_of_a_long_round(only_reads: bool, ms: impl Fn(u64) -> u64) -> usize {
    let store = FailingStore::durable().with_latency(Duration::from_millis(10));
    let runs = Runs::default();
    let mut registry = registry(&runs);
    let mut definition = ToolDefinition::new("long", "Answers at length.", schema());
    definition.hints.read_only = Some(only_reads);
    let long = async |arguments: Value, _: Context| {
        tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap())).await;
        "x".repeat(LENGTH)
    };
    registry.register_dynamic(definition, long).unwrap();
    let calls = (0..)
        .take(CALLS)
        .map(|key| slow_call("long", &key.to_string(), ms(key)));
    let calls: Vec<_> = calls.collect();
    let script = json!({ "turns": [says(&calls), says(&[text("Done.")])] });
    let script = TestScript::from_json(&script.to_string()).unwrap();
    let gateway = Gateway::new(registry, script.clone()).with_store(store.clone());
    let app = gateway.router();
    let lab = Lab { app, script, runs };
    let mut chat = Chat::new(false);
    chat.body["tools"] = json!([{ "name": "long" }]);
    chat.messages().push(user("go"));
    assert_eq!(chat.ask(&lab).await.text(), "Done.");
    let written = store.written();
    assert!(written > CALLS * LENGTH, "each result is stored");
    written
}
