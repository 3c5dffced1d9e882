//! Concurrent writes and reads of the todo tools and of offloading. No reader sees a mixture of two writes.
//!
//! A model checker is not needed, since this code has no synchronisation steps. The task list and the store in memory are values
//! in a `std::sync::Mutex`, which one statement replaces or copies. Temporary files are named by one `fetch_add` and created with
//! `create_new`; `create_new`, rename and link are atomic in the kernel. Batches and cancellation use tokio's `JoinSet` and tokens.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tool_builtins::offload::{OffloadLayer, OffloadOptions};
use tool_builtins::todo::{Status, Todo, TodoList, todo_read, todo_write};
use tool_runtime::{ToolCall, ToolOutcome, ToolRegistry};

use crate::calls::{brewing, meanwhile};
use crate::rows::{Row, learnt_from, row};

const LISTS: usize = 1000;

/// Builds the `n`th list, which has a different length than its neighbours, with its number in each task.
fn list(n: usize) -> Vec<Todo> {
    let todo = |at| Todo {
        content: format!("Task {at} of list {n}"),
        status: [Status::Pending, Status::InProgress, Status::Completed][n % 3],
        active_form: format!("Doing task {at} of list {n}"),
    };
    (0..=n % 23).map(todo).collect()
}

/// Returns the number of a complete list in order; `None` if no list was written yet.
fn which(todos: &[Todo]) -> Option<usize> {
    let first = todos.first()?;
    let n = first.content.rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(todos, list(n), "a mix");
    Some(n)
}

fn todos() -> ToolRegistry {
    let mut registry = ToolRegistry::new().with_max_concurrency(LISTS);
    registry
        .register::<todo_write>()
        .unwrap()
        .register::<todo_read>()
        .unwrap();
    registry
}

fn list_in(registry: &ToolRegistry) -> Vec<Todo> {
    let list = registry.session_values(None).get::<TodoList>().unwrap();
    list.lock().todos.clone()
}

fn write(row: &Row, n: usize) -> ToolCall {
    ToolCall::new(
        format!("{}_{n}", row.id()),
        "TodoWrite",
        json!({ "todos": list(n) }),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_todo_writes() {
    let row = row("parallel::a_thousand_todo_writes");
    let registry = todos();
    let outcomes = registry.execute_all((0..LISTS).map(|n| write(&row, n))).await;
    assert_eq!(outcomes.len(), LISTS);
    for (n, outcome) in outcomes.iter().enumerate() {
        let expected = format!(r#"{{"success":true,"count":{}}}"#, list(n).len());
        assert_eq!(outcome.result.text(), Some(expected.as_str()));
        row.host_learns(learnt_from(outcome));
    }
    assert!(which(&list_in(&registry)).is_some());
    row.model_reads::<&str>([]);
}

/// R-TODO-9: half of the calls write, the other half read, and a thread reads the list continuously.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn todo_reads_among_writes() {
    let row = row("parallel::todo_reads_among_writes");
    let registry = todos();
    let calls = (0..LISTS).flat_map(|n| {
        let read = ToolCall::new(format!("{}_read_{n}", row.id()), "TodoRead", "{}");
        [write(&row, n), read]
    });
    let watch = || {
        which(&list_in(&registry));
    };
    let outcomes = meanwhile(watch, registry.execute_all(calls));
    let mut seen = BTreeSet::new();
    for outcome in outcomes.iter().skip(1).step_by(2) {
        let mut read: Value = serde_json::from_str(outcome.result.text().unwrap()).unwrap();
        let read: Vec<Todo> = serde_json::from_value(read["todos"].take()).unwrap();
        seen.extend(which(&read));
        row.host_learns(learnt_from(outcome));
    }
    assert!(!seen.is_empty(), "no reader saw a list");
    row.model_reads::<&str>([]);
}

/// An invalid list changes nothing while other lists are written.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rejected_todo_writes() {
    let row = row("parallel::rejected_todo_writes");
    let registry = todos();
    let calls = (0..LISTS).map(|n| {
        let mut call = write(&row, n);
        if n % 2 == 1 {
            // All tasks are valid except the last.
            let mut todos = json!(list(n));
            todos.as_array_mut().unwrap().push(json!({ "content": " " }));
            call.input = json!({ "todos": todos }).into();
        }
        call
    });
    let outcomes = registry.execute_all(calls).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.result.is_error, n % 2 == 1);
    }
    let left = which(&list_in(&registry)).unwrap();
    assert_eq!(left % 2, 0, "list {left} was refused");
    let refused = &outcomes[1];
    row.model_reads(["is_error", refused.result.text().unwrap()]);
    row.host_learns(refused.failure.map(|failure| format!("{failure:?}")));
}

fn content(n: usize) -> String {
    format!("cup {n}, ").repeat(2000)
}

fn offloading_to(directory: &Path) -> ToolRegistry {
    let layer = OffloadLayer::new(OffloadOptions::new("s", directory));
    brewing(async |arguments, _| content(usize::try_from(arguments["cup"].as_u64().unwrap()).unwrap()))
        .layer(layer)
        .with_max_concurrency(64)
}

/// Returns the file in the pointer of a result.
fn pointed_to(outcome: &ToolOutcome) -> &str {
    let pointer = outcome.result.text().unwrap();
    let file = pointer.strip_prefix("[Tool result offloaded to file: ");
    file.and_then(|file| file.strip_suffix(']')).expect(pointer)
}

fn brew(id: String, n: usize) -> ToolCall {
    ToolCall::new(id, "brew", format!(r#"{{ "cup": {n} }}"#))
}

fn directory(row: &Row) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("faults")
        .join(row.id());
    let _ = fs::remove_dir_all(&directory);
    directory
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn offloads_of_many_ids() {
    let row = row("parallel::offloads_of_many_ids");
    let directory = directory(&row);
    let id = |n| format!("{}_{n}", row.id());
    let outcomes = offloading_to(&directory)
        .execute_all((0..200).map(|n| brew(id(n), n)))
        .await;
    for (n, outcome) in outcomes.iter().enumerate() {
        let file = directory.join("s").join(format!("{}.md", id(n)));
        let pointer = format!("[Tool result offloaded to file: {}]", file.display());
        assert_eq!(outcome.result.text(), Some(pointer.as_str()));
        assert!(fs::read_to_string(file).unwrap() == content(n));
        row.host_learns(learnt_from(outcome));
    }
    assert_eq!(fs::read_dir(directory.join("s")).unwrap().count(), 200);
    row.model_reads::<&str>([]);
}

/// Each pointer names the content of its call; concurrent readers see complete contents.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn offloads_of_one_id() {
    let row = row("parallel::offloads_of_one_id");
    let directory = directory(&row);
    let file = directory.join("s").join(format!("{}.md", row.id()));
    let contents: BTreeSet<String> = (0..200).map(content).collect();
    let watch = || {
        if let Ok(seen) = fs::read_to_string(&file) {
            assert!(contents.contains(&seen), "a file of {} bytes", seen.len());
        }
    };
    let registry = offloading_to(&directory);
    let outcomes = meanwhile(watch, registry.execute_all((0..200).map(|n| brew(row.id(), n))));
    for (n, outcome) in outcomes.iter().enumerate() {
        assert!(fs::read_to_string(pointed_to(outcome)).unwrap() == content(n));
        row.host_learns(learnt_from(outcome));
    }
    assert_eq!(fs::read_dir(directory.join("s")).unwrap().count(), 200);
    row.model_reads::<&str>([]);
}
