//! Background commands: `run_in_background`, `BashOutput` and `KillShell`.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tool_runtime::Context;

use crate::lab::{Lab, until};

async fn start(lab: &Lab, command: &str) -> String {
    lab.bash_with(json!({ "command": command, "run_in_background": true }))
        .await
}

fn in_session(session: &str) -> Context {
    Context::new().with_session(session)
}

async fn read(lab: &Lab, id: &str) -> String {
    lab.text("BashOutput", json!({ "bash_id": id })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_call_has_the_new_output() {
    let lab = Lab::new();
    let text = start(
        &lab,
        "echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 5",
    )
    .await;
    assert!(
        text.starts_with("the command runs as bash_1; its output is in /"),
        "{text}"
    );
    let file = text
        .split_once("its output is in ")
        .unwrap()
        .1
        .split_once('\n')
        .unwrap()
        .0;
    until(|| fs::read_to_string(file).is_ok_and(|text| text == "one\n")).await;
    assert_eq!(read(&lab, "bash_1").await, "state: running\none");
    assert_eq!(read(&lab, "bash_1").await, "state: running\n(no new output)");
    fs::write(lab.work().join("go"), "").unwrap();
    until(|| fs::read_to_string(file).is_ok_and(|text| text.ends_with("two\n"))).await;
    until(|| lab.processes().is_empty()).await;
    assert_eq!(read(&lab, "bash_1").await, "state: exit code 5\ntwo");
    assert_eq!(read(&lab, "bash_1").await, "state: exit code 5\n(no new output)");
    let text = lab.text("KillShell", json!({ "shell_id": "bash_1" })).await;
    assert_eq!(text, "bash_1 has ended before: exit code 5");
}

#[tokio::test(flavor = "multi_thread")]
async fn filter_selects_whole_lines() {
    let lab = Lab::new();
    start(
        &lab,
        "printf 'a error\\nb\\nerror c'; until [ -e go ]; do sleep 0.01; done; echo ' end'",
    )
    .await;
    let file = lab.outputs().remove(0);
    until(|| fs::metadata(&file).is_ok_and(|file| file.len() > 15)).await;
    let filtered = async || {
        lab.text(
            "BashOutput",
            json!({ "bash_id": "bash_1", "filter": "^error|error$" }),
        )
        .await
    };
    assert_eq!(filtered().await, "state: running\na error");
    assert_eq!(filtered().await, "state: running\n(no new output)");
    fs::write(lab.work().join("go"), "").unwrap();
    until(|| lab.processes().is_empty()).await;
    assert_eq!(filtered().await, "state: exit code 0\nerror c end");
    let text = lab
        .text("BashOutput", json!({ "bash_id": "bash_1", "filter": "(" }))
        .await;
    assert!(text.starts_with("invalid_pattern: "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_belong_to_a_session() {
    let lab = Lab::new();
    let input = json!({ "command": "sleep 600", "run_in_background": true });
    lab.run("Bash", input.clone(), in_session("a")).await;
    for name in ["BashOutput", "KillShell"] {
        let key = if name == "KillShell" {
            "shell_id"
        } else {
            "bash_id"
        };
        let outcome = lab.run(name, json!({ key: "bash_1" }), in_session("b")).await;
        let text = outcome.result.text().unwrap();
        assert_eq!(
            text,
            "not_found: unknown id \"bash_1\"; this session has no background commands"
        );
        let outcome = lab.run(name, json!({ key: "bash_7" }), in_session("a")).await;
        let text = outcome.result.text().unwrap();
        assert_eq!(text, "not_found: unknown id \"bash_7\"; expected one of bash_1");
    }
    let outcome = lab.run("Bash", input, in_session("b")).await;
    assert!(
        outcome
            .result
            .text()
            .unwrap()
            .starts_with("the command runs as bash_1")
    );
    // The end of a session ends no command of another session.
    lab.shell().end_session(Some("b")).await;
    let outcome = lab
        .run("BashOutput", json!({ "bash_id": "bash_1" }), in_session("a"))
        .await;
    assert_eq!(outcome.result.text(), Some("state: running\n(no new output)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_eight_run_at_once() {
    let lab = Lab::new();
    for _ in 0..8 {
        assert!(start(&lab, "sleep 600").await.starts_with("the command runs"));
    }
    let text = start(&lab, "sleep 600").await;
    assert_eq!(
        text,
        "too_many: 8 background commands of this session are running; end one with KillShell"
    );
    let text = lab.bash("sleep 600 & echo x").await;
    assert_eq!(
        text,
        "x\n[1 process continues (sleep); they are ended now, since 8 background commands of this session are running]"
    );
    assert_eq!(
        lab.text("KillShell", json!({ "shell_id": "bash_3" })).await,
        "bash_3: ended by KillShell"
    );
    assert!(
        start(&lab, "sleep 600")
            .await
            .starts_with("the command runs as bash_9")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_sixty_four_of_all_sessions_run_at_once() {
    let lab = Lab::new();
    let input = json!({ "command": "sleep 600", "run_in_background": true });
    for number in 0..64 {
        let context = in_session(&format!("s{}", number / 8));
        let outcome = lab.run("Bash", input.clone(), context).await;
        assert!(!outcome.result.is_error, "{outcome:?}");
    }
    let outcome = lab.run("Bash", input.clone(), in_session("new")).await;
    let text = outcome.result.text().unwrap();
    assert!(
        text.starts_with("too_many: 64 background commands of all clients are running"),
        "{text}"
    );
    lab.shell().end_session(Some("s0")).await;
    let outcome = lab.run("Bash", input, in_session("new")).await;
    assert!(!outcome.result.is_error, "{outcome:?}");
}

/// Calls at the same time count each other.
#[tokio::test(flavor = "multi_thread")]
async fn at_most_half_of_all_belong_to_one_client() {
    #[derive(Clone)]
    struct User(&'static str);

    let lab = Lab::with(|options| {
        options
            .writable(true)
            .client(|context| Some(context.extension::<User>()?.0.into()))
    });
    let start = |user: &'static str, session: usize, command: &str, in_background: bool| {
        let input = json!({ "command": command, "run_in_background": in_background });
        let context = in_session(&format!("{user} {session}")).with_extension(User(user));
        let (registry, call) = (lab.registry.clone(), lab.call("Bash", input));
        async move {
            let outcome = registry.call(call.with_context(context)).await;
            outcome.result.text().unwrap().to_owned()
        }
    };
    let mut calls = JoinSet::new();
    for number in 0..40 {
        calls.spawn(start("ada", number / 5, "sleep 600", true));
    }
    let answers = calls.join_all().await;
    let is_started = |answer: &&String| answer.starts_with("the command runs");
    assert_eq!(answers.iter().filter(is_started).count(), 32, "{answers:?}");
    let limit = "32 background commands of all sessions of this client are running";
    let expected = format!(
        "too_many: {limit}; run the command without `run_in_background`, or wait until others have ended"
    );
    assert_eq!(
        answers.iter().filter(|answer| **answer == expected).count(),
        8,
        "{answers:?}"
    );
    assert_eq!(
        start("ada", 8, "sleep 600 & echo x", false).await,
        format!("x\n[1 process continues (sleep); they are ended now, since {limit}]")
    );
    let answer = start("bob", 0, "sleep 600", true).await;
    assert!(answer.starts_with("the command runs as bash_1"), "{answer}");
    // The end of a session makes room.
    lab.shell().end_session(Some("ada 0")).await;
    let answer = start("ada", 8, "sleep 600", true).await;
    assert!(answer.starts_with("the command runs"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_without_processes_and_calls_are_idle() {
    let lab = Lab::new();
    let input = json!({ "command": "sleep 600", "run_in_background": true });
    lab.run("Bash", input, in_session("busy")).await;
    lab.bash_in("idle", "echo x").await;
    assert_eq!(lab.shell().idle_sessions(Duration::ZERO), ["idle"]);
    assert!(lab.shell().idle_sessions(Duration::from_secs(3600)).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_ignores_sigterm_is_killed() {
    let lab = Lab::new();
    start(&lab, "trap '' TERM; echo ready; sleep 600; sleep 600; sleep 600").await;
    let file = lab.outputs().remove(0);
    until(|| fs::metadata(&file).is_ok_and(|file| file.len() > 0)).await;
    let text = lab.text("KillShell", json!({ "shell_id": "bash_1" })).await;
    assert_eq!(text, "bash_1: ended by KillShell");
    lab.assert_no_processes();
}
