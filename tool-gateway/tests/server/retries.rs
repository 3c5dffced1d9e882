//! Equal requests: retries, branches, and disconnected clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{Request, Response};
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::{Upstream, UpstreamFuture};
use tool_runtime::permission::{Decision, Permission};

use crate::failing_store::FailingStore;
use crate::lab::{
    Chat, Lab, RETRY, Runs, assistant, call, has_two_gateways, post, registry, result, says, scaled,
    slow_call, text, user, wait,
};
use crate::protocol::{Scripted, is_chat};
use crate::reply::Reply;
use crate::test_script::TestScript;

/// Reads a stream until it contains some text, and then disconnects.
async fn read_until(lab: &Lab, body: &Value, text: &str) {
    drop(open_until(lab, body, text).await);
}

/// Reads a stream until it contains some text. Returns the rest of the stream.
async fn open_until(lab: &Lab, body: &Value, text: &str) -> Body {
    let mut stream = lab.send(post("/v1/messages", body, &[])).await.into_body();
    let mut seen = String::new();
    while !seen.contains(text) {
        let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut stream).poll_frame(context)).await;
        seen.push_str(std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap());
    }
    stream
}

#[tokio::test(start_paused = true)]
async fn a_retry_joins_a_running_turn_from_its_beginning() {
    let lab = Lab::new(json!([
        says(&[text("One."), slow_call("write", "a", 120)]),
        says(&[text("Two.")])
    ]));
    let mut streamed = Chat::new(true);
    streamed.messages().push(user("go"));
    let mut whole = Chat::new(false);
    whole.messages().push(user("go"));
    let late = async {
        wait(50).await;
        lab.ask_with(&whole.body, &[RETRY]).await
    };
    let later = async {
        wait(70).await;
        lab.ask_with(&streamed.body, &[RETRY]).await
    };
    let (first, second, third) = tokio::join!(streamed.ask(&lab), late, later);
    assert_eq!(
        (first.text(), second.text()),
        ("One.\nTwo.".to_owned(), "One.\nTwo.".to_owned())
    );
    assert_eq!((&first.message, &first.body), (&third.message, &third.body));
    assert_eq!(first.message, second.message);
    assert_eq!(first.session().0, second.session().0, "the session of the turn");
    assert_eq!(lab.runs.begun(), ["write a"]);
    assert_eq!(lab.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_process_waits_for_calls_that_must_not_be_cut() {
    let turns =
        json!({ "turns": [says(&[text("One."), slow_call("write", "a", 150)]), says(&[text("Two.")])] });
    let mut in_progress = None;
    let lab = Lab::with(turns, |gateway| {
        in_progress = Some(gateway.turns());
        gateway
    });
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    read_until(&lab, &chat.body, "One.").await;
    lab.runs.until_begun(1).await;
    let in_progress = in_progress.unwrap();
    in_progress.close();
    assert_eq!(chat.ask(&lab).await.status.as_u16(), 503, "no more are admitted");
    in_progress.ended().await;
    assert_eq!(lab.runs.ended(), ["write a"]);
}

#[tokio::test]
async fn a_retry_gets_the_recorded_answer_and_an_equal_request_a_new_one() {
    if has_two_gateways() {
        return; // The other gateway learns a little later that the client has the answer.
    }
    for is_stream in [false, true] {
        let lab = Lab::new(json!([says(&[call("write", "a")]), says(&[text("One.")])]));
        let mut chat = Chat::new(is_stream);
        chat.messages().push(user("go"));
        let first = chat.ask(&lab).await;
        let retry = lab.ask_with(&chat.body, &[RETRY]).await;
        assert_eq!((&first.body, first.session().0), (&retry.body, retry.session().0));
        assert_eq!(lab.runs.begun().len(), 1);
        // Two users send equal messages in two sessions.
        let other = chat.ask(&lab).await;
        assert_ne!(first.session().0, other.session().0);
        assert_eq!(lab.runs.begun().len(), 2);
        // The first attempt of a client has the header with 0.
        lab.ask_with(&chat.body, &[("x-stainless-retry-count", "0")])
            .await;
        assert_eq!(lab.runs.begun().len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn different_requests_are_not_retries() {
    let lab = Lab::new(json!([
        says(&[slow_call("write", "a", 50)]),
        says(&[text("One.")])
    ]));
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    let with = |field: &str, value: Value| {
        let mut body = chat.body.clone();
        body[field] = value;
        body
    };
    let mut system = chat.body.clone();
    system["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "role": "system", "content": "s" }));
    let bodies = [
        chat.body.clone(),
        with("max_tokens", json!(101)),
        with("system", json!("s")),
        with("tools", json!([{ "name": "write" }])),
        system,
    ];
    let asks = bodies.iter().map(|body| lab.ask(body));
    let replies = futures_util::future::join_all(asks).await;
    assert!(replies.iter().all(|reply| reply.text() == "One."));
    let session = |id: &'static str| [("x-claude-code-session-id", id)];
    let (one, two) = (session("one"), session("two"));
    let (one, two) = tokio::join!(lab.ask_with(&chat.body, &one), lab.ask_with(&chat.body, &two));
    assert_ne!(one.session().0, two.session().0);
    assert_eq!(lab.runs.begun().len(), 7);
}

#[tokio::test]
async fn retry_continues_after_the_last_round_of_a_failed_upstream() {
    for is_stream in [false, true] {
        for marked in [false, true] {
            // The gateway does not wait for more than 30 s.
            let overloaded = json!({ "error": { "status": 529, "headers": { "retry-after": "31" } } });
            let lab = Lab::in_order(json!([
                says(&[text("One."), call("write", "a")]),
                says(&[text("Two."), call("write", "b")]),
                overloaded,
                says(&[text("Three."), call("write", "c")]),
                says(&[text("Four.")]),
            ]));
            let mut chat = Chat::new(is_stream);
            chat.messages().push(user("go"));
            let failed = chat.ask(&lab).await;
            assert_eq!(failed.error().0, "overloaded_error");
            assert_eq!(failed.status.as_u16(), if is_stream { 200 } else { 529 });
            if !is_stream {
                assert_eq!(failed.headers["retry-after"], "31");
            }
            let headers: &[(&str, &str)] = if marked { &[RETRY] } else { &[] };
            let reply = lab.ask_with(&chat.body, headers).await;
            assert_eq!(reply.text(), "One.\nTwo.\nThree.\nFour.");
            assert_eq!(reply.session().0, failed.session().0);
            assert_eq!(lab.runs.begun(), ["write a", "write b", "write c"]);
            lab.assert_well_formed();
            // From there on, the session is known.
            chat.messages().push(assistant(reply.message["content"].clone()));
            chat.messages().push(user("next"));
            assert_eq!(chat.ask(&lab).await.session().1, "chain");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn disconnect_of_the_last_client_stops_only_read_only_calls() {
    let lab = Lab::in_order(json!([
        says(&[text("Zero."), call("write", "z")]),
        says(&[
            text("One."),
            slow_call("lookup", "a", 400),
            slow_call("write", "b", 100)
        ]),
        says(&[text("Two.")]),
    ]));
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    read_until(&lab, &chat.body, "One.").await;
    wait(20).await;
    // The client has disconnected, and returns at once while `write` still runs.
    let reply = chat.ask(&lab).await;
    assert_eq!(reply.text(), "Zero.\nOne.\nTwo.");
    assert_eq!(
        lab.runs.begun().iter().filter(|run| *run == "write b").count(),
        1,
        "{:?}",
        lab.runs.begun()
    );
    assert_eq!(
        lab.runs.ended().iter().filter(|run| *run == "lookup a").count(),
        1,
        "{:?}",
        lab.runs.ended()
    );
    lab.assert_well_formed();
    assert!(lab.last_seen().to_string().contains("write of b"));
}

#[tokio::test(start_paused = true)]
async fn returning_client_gets_the_stored_results() {
    let lab = Lab::in_order(json!([
        says(&[text("Zero."), call("write", "z")]),
        says(&[
            text("One."),
            slow_call("lookup", "a", 300),
            slow_call("write", "b", 50)
        ]),
        says(&[text("Two.")]),
    ]));
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    read_until(&lab, &chat.body, "One.").await;
    wait(400).await;
    assert_eq!(
        lab.runs.ended(),
        ["write z", "write b"],
        "reading calls are stopped"
    );
    let reply = chat.ask(&lab).await;
    assert_eq!(reply.text(), "Zero.\nOne.\nTwo.");
    assert_eq!(lab.runs.ended(), ["write z", "write b", "lookup a"]);
    lab.assert_well_formed();
}

#[tokio::test(start_paused = true)]
async fn one_of_two_clients_may_go_away() {
    let lab = Lab::new(json!([
        says(&[text("One."), slow_call("lookup", "a", 100)]),
        says(&[text("Two.")])
    ]));
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    let gone = read_until(&lab, &chat.body, "One.");
    let retry = async {
        wait(10).await;
        lab.ask_with(&chat.body, &[RETRY]).await
    };
    let ((), reply) = tokio::join!(gone, retry);
    assert_eq!(reply.text(), "One.\nTwo.");
    let mut begun = lab.runs.begun();
    if has_two_gateways() {
        begun.dedup(); // A client of another gateway does not keep a call that may be repeated.
    }
    assert_eq!(begun, ["lookup a"]);
}

#[tokio::test(start_paused = true)]
async fn unread_answers_are_repeated() {
    // The client disconnects in a mixed turn; the call runs to its end, and the turn is suspended.
    let lab = Lab::new(json!([
        says(&[text("One."), slow_call("write", "a", 60), call("weather", "b")]),
        says(&[text("Two.")])
    ]));
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    read_until(&lab, &chat.body, "One.").await;
    wait(150).await;
    let reply = chat.ask(&lab).await;
    assert_eq!(reply.shape(), ["text", "weather"]);
    assert_eq!(lab.runs.begun(), ["write a"]);
    assert_eq!(lab.seen().len(), 1);
    chat.messages().push(assistant(reply.message["content"].clone()));
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Two.");
    lab.assert_well_formed();
}

#[tokio::test]
async fn todos_come_from_the_parent_turn() {
    let write = |id: &str, task: &str| {
        let todos = json!([{ "content": task, "status": "pending", "activeForm": task }]);
        json!({ "type": "tool_use", "id": id, "name": "TodoWrite", "input": { "todos": todos } })
    };
    let read = |id: &str| json!({ "type": "tool_use", "id": id, "name": "TodoRead", "input": {} });
    let lab = Lab::in_order(json!([
        says(&[write("up_1", "first"), read("up_2")]),
        says(&[text("One.")]),
        says(&[write("up_3", "second")]),
        says(&[text("Two.")]),
        says(&[read("up_4")]),
        says(&[text("Three.")]),
        says(&[read("up_5")]),
        says(&[text("Four.")]),
    ]));
    let mut chat = Chat::new(false);
    chat.say(&lab, "go").await;
    assert!(
        lab.last_seen()["messages"][2]["content"][1]
            .to_string()
            .contains("first"),
        "in the order of the calls"
    );
    let mut branch = chat.clone();
    chat.say(&lab, "second").await;
    branch.say(&lab, "what is to do?").await;
    let seen = |lab: &Lab| {
        lab.last_seen()["messages"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .to_string()
    };
    assert!(
        seen(&lab).contains("first") && !seen(&lab).contains("second"),
        "{}",
        seen(&lab)
    );
    // Another session has no such turn.
    let mut other = Chat::new(false);
    other.say(&lab, "somebody else").await;
    assert!(
        !seen(&lab).contains("first") && !seen(&lab).contains("second"),
        "{}",
        seen(&lab)
    );
}

/// R-GW-13
#[tokio::test(start_paused = true)]
async fn branches_from_a_stored_turn_run_side_by_side() {
    let lab = Lab::new(json!([
        says(&[text("One.")]),
        says(&[slow_call("write", "a", 100)]),
        says(&[text("Two.")]),
    ]));
    let mut chat = Chat::new(true);
    chat.say(&lab, "go").await;
    let (mut left, mut right) = (chat.clone(), chat);
    let began = tokio::time::Instant::now();
    let (left, right) = tokio::join!(left.say(&lab, "left"), right.say(&lab, "right"));
    assert!(
        began.elapsed() < Duration::from_millis(scaled(200)),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        (left.text(), right.text()),
        ("Two.".to_owned(), "Two.".to_owned())
    );
    assert_eq!(left.session(), right.session());
}

#[tokio::test]
async fn a_deferred_call_changes_the_todos_of_every_branch_after_it() {
    let todos = json!([{ "content": "first", "status": "pending", "activeForm": "first" }]);
    let write = json!({ "type": "tool_use", "id": "up_w", "name": "TodoWrite", "input": { "todos": todos } });
    let read = json!({ "type": "tool_use", "id": "up_r", "name": "TodoRead", "input": {} });
    let script =
        json!({ "turns": [says(&[write, call("weather", "a")]), says(&[read]), says(&[text("Done.")])] });
    let lab = Lab::with_each(script, |gateway| gateway.with_deferred(["TodoWrite"]).unwrap());
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    for answer in ["one", "two"] {
        let mut branch = chat.clone();
        let done = branch.say(&lab, json!([result(&reply.ids()[0], answer)])).await;
        assert_eq!(done.text(), "Done.");
        let sent = lab.last_seen();
        let list = sent["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(list.contains("first"), "{answer}: {list}");
    }
}

#[tokio::test(start_paused = true)]
async fn results_for_a_turn_that_has_not_ended_are_a_conflict() {
    if is_chat() || has_two_gateways() {
        return; // A call arrives when it is complete there, or the request waits for the other gateway.
    }
    let lab = Lab::new(json!([
        says(&[call("own", "a"), slow_call("write", "b", 200)]),
        says(&[text("Done.")]),
    ]));
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    let body = chat.body.clone();
    let mut stream = lab.send(post("/v1/messages", &body, &[])).await.into_body();
    let mut seen = String::new();
    while !seen.contains("content_block_stop") {
        let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut stream).poll_frame(context)).await;
        seen.push_str(std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap());
    }
    let (_, id) = seen.split_once(r#""id":"toolu_"#).unwrap();
    let id = format!("toolu_{}", id.split('"').next().unwrap());
    let echo = json!({ "type": "tool_use", "id": id, "name": "own", "input": { "key": "a" } });
    chat.messages().push(assistant(json!([echo])));
    chat.messages()
        .push(json!({ "role": "user", "content": [result(&id, "fine")] }));
    let early = lab.ask(&chat.body).await;
    assert_eq!(
        (early.status.as_u16(), early.error().0),
        (409, "conflict_error"),
        "{}",
        early.message
    );
    crate::reply::bytes(stream).await;
    let late = lab.ask(&chat.body).await;
    assert_eq!(late.text(), "Done.", "{}", late.message);
    assert_eq!(lab.runs.begun(), ["write b"]);
}

#[tokio::test]
async fn requests_of_other_accounts_queries_and_places_of_system_messages_are_no_retries() {
    let turns: Vec<_> = (0..4).map(|n| says(&[text(&format!("{n}"))])).collect();
    let script = json!({ "order": "requests", "turns": turns });
    let lab = Lab::with_each(script, |gateway| gateway.with_client_key("team", "k"));
    let ask = async |path: &str, account: &str, messages: Value| {
        let mut chat = Chat::new(false);
        chat.body["messages"] = messages;
        let headers = [("x-api-key", "k"), ("authorization", account), RETRY];
        Reply::read(lab.send(post(path, &chat.body, &headers)).await)
            .await
            .text()
    };
    let system = json!({ "role": "system", "content": "s" });
    let (one, two) = (user("a"), user("c"));
    let messages = json!([one, system, assistant("b"), two]);
    assert_eq!(ask("/v1/messages", "Bearer A", messages.clone()).await, "0");
    assert_eq!(
        ask("/v1/messages", "Bearer A", messages.clone()).await,
        "0",
        "a retry"
    );
    assert_eq!(ask("/v1/messages", "Bearer B", messages.clone()).await, "1");
    assert_eq!(ask("/v1/messages?beta=true", "Bearer A", messages).await, "2");
    let messages = json!([one, assistant("b"), system, two]);
    assert_eq!(ask("/v1/messages", "Bearer A", messages).await, "3");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_decision_ends_with_its_client() {
    let runs = Runs::default();
    let permission = Permission::new(async |_| std::future::pending::<Decision>().await);
    let registry = registry(&runs).layer(permission);
    let script = json!({ "turns": [says(&[call("write", "a")])] }).to_string();
    let gateway = Gateway::new(registry, TestScript::from_json(&script).unwrap());
    let turns = gateway.turns();
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    let answer = tower::ServiceExt::oneshot(gateway.router(), post("/v1/messages", &chat.body, &[]));
    let minute = Duration::from_secs(60);
    assert!(tokio::time::timeout(minute, answer).await.is_err());
    tokio::time::timeout(minute, turns.ended()).await.unwrap();
    assert!(runs.begun().is_empty());
}

/// A call begins when it is permitted. The model does not read that a waiting call may have taken effect.
#[tokio::test(start_paused = true)]
async fn a_call_whose_client_left_before_the_decision_is_decided_about_by_a_retry() {
    for is_deferred in [false, true] {
        for is_durable in [false, true] {
            let (runs, asked) = (Runs::default(), Arc::new(AtomicUsize::new(0)));
            let permission = Permission::new(move |_| {
                let is_first = asked.fetch_add(1, Ordering::Relaxed) == 0;
                async move {
                    if is_first {
                        std::future::pending::<()>().await;
                    }
                    Decision::Allow
                }
            });
            let registry = registry(&runs).layer(permission);
            let calls = if is_deferred {
                says(&[call("later", "a"), call("weather", "b")])
            } else {
                says(&[call("write", "a")])
            };
            let script = json!({ "turns": [calls, says(&[text("Done.")])] });
            let script = TestScript::from_json(&script.to_string()).unwrap();
            let mut gateway = Gateway::new(registry, Scripted::new(&script))
                .with_deferred(["later"])
                .unwrap();
            if is_durable {
                gateway = gateway.with_store(FailingStore::durable());
            }
            let turns = gateway.turns();
            let lab = Lab {
                app: gateway.router(),
                script,
                runs,
            };
            let mut chat = Chat::new(false);
            chat.messages().push(user("go"));
            if is_deferred {
                let suspended = lab.ask(&chat.body).await;
                chat.messages()
                    .push(assistant(suspended.message["content"].clone()));
                chat.messages()
                    .push(json!({ "role": "user", "content": [result(&suspended.ids()[0], "fine")] }));
            }
            let minute = Duration::from_secs(60);
            let first = tokio::time::timeout(minute, lab.ask(&chat.body)).await;
            assert!(first.is_err(), "nobody decides");
            turns.ended().await;
            assert!(lab.runs.begun().is_empty());
            let retry = lab.ask_with(&chat.body, &[RETRY]).await;
            assert_eq!(retry.text(), "Done.", "{}", retry.message);
            assert_eq!(
                lab.runs.begun().len(),
                1,
                "deferred: {is_deferred}, durable: {is_durable}"
            );
            let seen = lab.last_seen().to_string();
            assert!(!seen.contains("interrupted"), "{seen}");
            lab.assert_well_formed();
        }
    }
}

/// Calls `write` in the first round of a conversation that begins with `go`, and is busy in the second; answers all others.
struct Busy;

impl Upstream for Busy {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let says = |content: Value, reason: &str| json!({ "id": "m", "role": "assistant", "content": content, "stop_reason": reason, "usage": {} });
        let (status, answer) = match (messages[0]["content"] == "go", messages.len()) {
            (false, _) => (200, says(json!([text("Done.")]), "end_turn")),
            (true, 1) => (200, says(json!([call("write", "a")]), "tool_use")),
            (true, _) => (
                529,
                json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } }),
            ),
        };
        let response = Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .body(Body::from(answer.to_string()))
            .unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "busy".to_owned()
    }
}

#[tokio::test]
async fn delivered_answers_are_removed_before_answers_for_retries() {
    let runs = Runs::default();
    let app = Gateway::new(registry(&runs), Busy).router();
    let ask = async |text: &str| {
        let mut chat = Chat::new(false);
        chat.messages().push(user(text));
        let request = post("/v1/messages", &chat.body, &[RETRY]);
        let response = tower::ServiceExt::oneshot(app.clone(), request).await.unwrap();
        Reply::read(response).await.status.as_u16()
    };
    assert_eq!(ask("go").await, 529);
    for other in 0..1_001 {
        assert_eq!(ask(&format!("other {other}")).await, 200);
    }
    assert_eq!(ask("go").await, 529);
    assert_eq!(runs.begun(), ["write a"]);
}

/// The progress in a store is outdated if the turn of an equal request has begun and ended.
#[tokio::test(start_paused = true)]
async fn a_turn_that_began_while_the_store_was_read_for_an_equal_request_is_not_run_again() {
    let store = FailingStore::durable();
    let turns = json!({ "turns": [says(&[call("write", "a")]), says(&[text("Done.")])] });
    let lab = Lab::with(turns, |gateway| gateway.with_store(store.clone()));
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    let permits = store.hold("progress");
    let equal = || lab.ask_with(&chat.body, &[RETRY]);
    let others = async {
        // More than are kept, so that an ended turn is removed.
        for other in 0..1_001 {
            let mut chat = Chat::new(false);
            chat.body["tools"] = json!([{ "name": "lookup" }]);
            chat.messages()
                .extend([user("a"), assistant("b"), user(format!("{other}"))]);
            assert_eq!(chat.ask(&lab).await.status, 200);
        }
        permits.add_permits(1);
    };
    let (first, second, ()) = tokio::join!(equal(), equal(), others);
    assert_eq!(
        (first.text(), second.text()),
        ("Done.".to_owned(), "Done.".to_owned())
    );
    assert_eq!(lab.runs.begun(), ["write a"]);
}

/// The message can represent the model's arguments only as an object.
#[tokio::test]
async fn a_retry_without_a_stream_has_repaired_arguments() {
    if is_chat() {
        return; // The script has no other form of malformed arguments there.
    }
    let mut malformed = call("weather", "a");
    malformed["partial_json"] = "{'city': 'Paris'}".into();
    malformed.as_object_mut().unwrap().remove("input");
    let lab = Lab::in_order(json!([
        says(&[malformed, call("write", "b")]),
        says(&[text("Done.")])
    ]));
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    let streamed = chat.ask(&lab).await;
    chat.body["stream"] = false.into();
    let whole = lab.ask_with(&chat.body, &[RETRY]).await;
    assert_eq!(whole.session(), streamed.session());
    assert_eq!(whole.content()[0]["input"], json!({ "city": "Paris" }));
    chat.messages().push(assistant(whole.content()));
    assert_eq!(chat.answer(&lab, &whole).await.text(), "Done.");
    lab.assert_one_prefix();
}

/// Asks for the text of each answer.
fn texts(replies: &[Reply]) -> Vec<String> {
    replies.iter().map(Reply::text).collect()
}

#[tokio::test]
async fn requests_with_another_second_beta_are_different() {
    let lab = Lab::new(json!([says(&[call("write", "a")]), says(&[text("Done.")])]));
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    let (one, two, other) = (
        ("anthropic-beta", "one"),
        ("anthropic-beta", "two"),
        ("anthropic-beta", "other"),
    );
    for (headers, runs) in [
        (&[one, two][..], 1),
        (&[one, two, RETRY], 1),
        (&[one, other, RETRY], 2),
        (&[one, RETRY], 3),
        (&[one, other, RETRY], 3),
    ] {
        assert_eq!(lab.ask_with(&chat.body, headers).await.text(), "Done.");
        assert_eq!(lab.runs.begun().len(), runs, "{headers:?}");
    }
}

/// Several samples of one prompt, as in evaluations and "best of n".
#[tokio::test(start_paused = true)]
async fn equal_requests_at_once_are_separate_samples() {
    let calls = (0..4).map(|_| says(&[slow_call("write", "a", 50)]));
    let answers = (0..4).map(|answer| says(&[text(&format!("{answer}"))]));
    let lab = Lab::in_order(calls.chain(answers).collect());
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    let samples = futures_util::future::join_all((0..4).map(|_| lab.ask(&chat.body))).await;
    let mut answers = texts(&samples);
    answers.sort();
    assert_eq!(answers, ["0", "1", "2", "3"]);
    assert_eq!(lab.runs.ended().len(), 4);
    let sessions: std::collections::BTreeSet<_> = samples.iter().map(|sample| sample.session().0).collect();
    assert_eq!(sessions.len(), 4);
    lab.assert_well_formed();
}

#[tokio::test(start_paused = true)]
async fn requests_with_one_idempotency_key_are_one_request() {
    let calls = (0..3).map(|_| says(&[slow_call("write", "a", 50)]));
    let answers = (0..3).map(|answer| says(&[text(&format!("{answer}"))]));
    let lab = Lab::in_order(calls.chain(answers).collect());
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    let ask = async |key: &str| {
        let headers = [("idempotency-key", key)];
        lab.ask_with(&chat.body, &headers).await.text()
    };
    let (first, second, other, empty) = tokio::join!(ask("a"), ask("a"), ask("b"), ask(""));
    assert_eq!(first, second);
    assert!(other != first && empty != first && empty != other);
    assert_eq!(lab.runs.begun().len(), 3);
    // The recorded answers are available only with the key.
    assert_eq!((ask("a").await, ask("b").await), (first, other));
    assert_eq!(lab.runs.begun().len(), 3);
    // A retry of a request with another key is not a retry of these.
    let retry = [("idempotency-key", "a"), RETRY];
    assert_eq!(lab.ask_with(&chat.body, &retry).await.text(), second);
}

/// Claude Code repeats a broken stream without one, and with the retry count 0.
#[tokio::test(start_paused = true)]
async fn clients_that_left_get_their_samples_the_oldest_first() {
    if has_two_gateways() {
        return; // Either request may continue the turn there.
    }
    let write = |key: &str| says(&[text(key), slow_call("write", key, 100)]);
    // An abandoned turn may request an answer before it ends.
    let answers = (0..6).map(|answer| says(&[text(&format!("{answer}"))]));
    let lab = Lab::in_order([write("a"), write("b")].into_iter().chain(answers).collect());
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    read_until(&lab, &chat.body, "a").await;
    // The call still runs.
    let mut whole = chat.clone();
    whole.body["stream"] = false.into();
    let headers = [("x-stainless-retry-count", "0")];
    // The first retry continues the turn, and the second is another sample.
    let (first, other) = tokio::join!(
        lab.ask_with(&whole.body, &headers),
        lab.ask_with(&chat.body, &headers)
    );
    assert!(first.text().starts_with("a\n"), "{}", first.text());
    assert!(other.text().starts_with("b\n"), "{}", other.text());
    assert_eq!(lab.runs.ended(), ["write a", "write b"]);
    // Two answers were delivered: a retry gets the latest, and an equal request is another sample.
    let retry = lab.ask_with(&chat.body, &[RETRY]).await;
    assert_eq!(lab.runs.ended().len(), 2);
    assert!([first.session().0, other.session().0].contains(&retry.session().0));
    let sample = chat.ask(&lab).await;
    assert!(![first.session().0, other.session().0].contains(&sample.session().0));
    lab.assert_well_formed();
}

/// Two clients leave two samples: each retry takes one, and nothing runs again.
#[tokio::test(start_paused = true)]
async fn retries_of_two_abandoned_samples_take_one_each() {
    for headers in [&[][..], &[RETRY]] {
        let lab = Lab::new(json!([
            says(&[text("One."), slow_call("write", "a", 100)]),
            says(&[text("Two.")]),
        ]));
        let mut chat = Chat::new(true);
        chat.messages().push(user("go"));
        let open = || open_until(&lab, &chat.body, "One.");
        let streams = tokio::join!(open(), open());
        assert_eq!(lab.seen().len(), 2);
        drop(streams);
        // The calls of both turns still run.
        lab.runs.until_begun(2).await;
        let (first, second) = tokio::join!(
            lab.ask_with(&chat.body, headers),
            lab.ask_with(&chat.body, headers)
        );
        assert_ne!(first.session().0, second.session().0);
        assert_eq!(texts(&[first, second]), ["One.\nTwo.", "One.\nTwo."]);
        assert_eq!(lab.runs.begun(), ["write a", "write a"], "once for each sample");
        lab.assert_well_formed();
    }
}

/// R-GW-18
#[tokio::test(start_paused = true)]
async fn deferred_calls_run_once_for_all_requests_that_resume_their_turn() {
    let later = slow_call("later", "a", 50);
    let turns = [
        says(&[later, call("weather", "b")]),
        says(&[text("1")]),
        says(&[text("2")]),
        says(&[text("3")]),
    ];
    let lab = Lab::in_order(json!(turns));
    let mut chat = Chat::new(true);
    let suspended = chat.say(&lab, "go").await;
    chat.messages()
        .push(user(json!([result(&suspended.ids()[0], "fine")])));
    let mut other = chat.body.clone();
    other["messages"][2]["content"][0]["content"] = "otherwise".into();
    let (first, second, third) = tokio::join!(lab.ask(&chat.body), lab.ask(&chat.body), lab.ask(&other));
    let mut answers = texts(&[first, second, third]);
    answers.sort();
    assert_eq!(answers, ["1", "2", "3"]);
    assert_eq!(lab.runs.begun(), ["later a"]);
    for body in &lab.seen()[1..] {
        assert!(body.to_string().contains("later of a"), "{body}");
    }
    lab.assert_well_formed();
}

/// Each sample has separate progress in the store.
#[tokio::test]
async fn samples_that_a_crash_has_cut_continue_in_the_next_process_and_repeat_nothing() {
    if is_chat() {
        return; // A content has another form there.
    }
    let store = FailingStore::durable();
    let overloaded = json!({ "error": { "status": 529 } });
    let turns = json!([
        says(&[call("write", "a")]),
        says(&[call("write", "b")]),
        overloaded,
        overloaded
    ]);
    let script = json!({ "turns": turns, "order": "requests" });
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    {
        let lab = Lab::with(script, |gateway| gateway.with_store(store.clone()));
        let (first, second) = tokio::join!(lab.ask(&chat.body), lab.ask(&chat.body));
        assert_eq!((first.status.as_u16(), second.status.as_u16()), (529, 529));
        assert_eq!(lab.runs.begun().len(), 2);
    }
    let turns = json!([says(&[text("1")]), says(&[text("2")]), says(&[text("3")])]);
    let script = json!({ "turns": turns, "order": "requests" });
    let lab = Lab::with(script, |gateway| gateway.with_store(store));
    let (first, second) = tokio::join!(lab.ask(&chat.body), lab.ask(&chat.body));
    assert!(!first.is_error() && !second.is_error());
    assert!(lab.runs.begun().is_empty(), "{:?}", lab.runs.begun());
    let seen: Vec<_> = lab
        .seen()
        .iter()
        .map(|body| body["messages"].to_string())
        .collect();
    for key in ["write of a", "write of b"] {
        assert_eq!(
            seen.iter().filter(|messages| messages.contains(key)).count(),
            1,
            "{key}: {seen:?}"
        );
    }
    // Another sample begins.
    assert_eq!(lab.ask(&chat.body).await.text(), "3");
    assert_eq!(lab.seen()[2]["messages"], chat.body["messages"]);
}
