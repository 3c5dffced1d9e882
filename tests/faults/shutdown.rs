//! Shutdowns of the host during calls, and missing runtimes.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::task::{Context as Waking, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tool_builtins::offload::{OffloadLayer, OffloadOptions};
use tool_runtime::{Context, ToolCall, ToolOutcome, ToolRegistry};

use crate::calls::{brewing, call_of};
use crate::rows::{Row, learnt_from, row};

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap()
}

/// Builds a registry with a tool that reports its start and never ends.
fn hanging() -> (ToolRegistry, mpsc::Receiver<()>) {
    let (begin, begun) = mpsc::channel();
    let registry = brewing(move |_, _| {
        let _ = begin.send(());
        std::future::pending::<String>()
    });
    (registry, begun)
}

#[test]
fn during_a_batch() {
    let row = row("shutdown::during_a_batch");
    let (registry, begun) = hanging();
    let runtime = runtime();
    let handle = runtime.handle().clone();
    let calls: Vec<_> = (0..20)
        .map(|n| ToolCall::new(format!("{}_{n}", row.id()), "brew", "{}"))
        .collect();
    let batch = std::thread::spawn(move || handle.block_on(registry.execute_all(calls)));
    for _ in 0..8 {
        begun.recv().unwrap();
    }
    runtime.shutdown_background();
    let outcomes = batch.join().unwrap();
    assert_eq!(outcomes.len(), 20);
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.result.tool_use_id, format!("{}_{n}", row.id()));
        assert!(outcome.result.is_error);
        row.model_reads(["is_error", outcome.result.text().unwrap()]);
        row.host_learns(outcome.failure.map(|failure| format!("{failure:?}")));
    }
}

#[test]
fn during_a_call_with_a_deadline() {
    let row = row("shutdown::during_a_call_with_a_deadline");
    let (registry, begun) = hanging();
    let runtime = runtime();
    let handle = runtime.handle().clone();
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let call = call_of(&row).with_context(context);
    let calling = std::thread::spawn(move || handle.block_on(registry.call(call)));
    begun.recv().unwrap();
    runtime.shutdown_background();
    is_logged_with_the_error_of_tokio(&row, &calling.join().unwrap());
}

/// A deadline without a timer is reported, and fails no other call.
#[test]
fn without_a_timer() {
    let row = row("shutdown::without_a_timer");
    let (registry, _begun) = hanging();
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let call = call_of(&row).with_context(context);
    let runtime = Builder::new_current_thread().build().unwrap();
    is_logged_with_the_error_of_tokio(&row, &runtime.block_on(registry.call(call)));
}

/// Checks a row, except for tokio's message about its timer, whose text may change.
fn is_logged_with_the_error_of_tokio(row: &Row, outcome: &ToolOutcome) {
    row.model_reads(["is_error", outcome.result.text().unwrap()]);
    row.host_learns(
        learnt_from(outcome)
            .iter()
            .map(|event| event.split("; panic=").next().unwrap()),
    );
}

fn offloading() -> ToolRegistry {
    // This directory is never created.
    let options = OffloadOptions::new("s", "/DIR");
    brewing(async |_, _| CONTENT).layer(OffloadLayer::new(options).with_threshold(1))
}

const CONTENT: &str = "all that was brewed";

#[test]
fn before_a_write() {
    let row = row("shutdown::before_a_write");
    let runtime = runtime();
    let handle = runtime.handle().clone();
    runtime.shutdown_background();
    let outcome = handle.block_on(offloading().call(call_of(&row)));
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}

/// A write that a thread has begun ends while the process lives; a waiting write never begins.
#[test]
fn during_writes() {
    let row = row("shutdown::during_writes");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("faults")
        .join(row.id());
    let _ = fs::remove_dir_all(&directory);
    let layer = OffloadLayer::new(OffloadOptions::new("s", &directory));
    let content = "coffee, ".repeat(100_000);
    let answer = content.clone();
    let registry = brewing(move |_, _| std::future::ready(answer.clone())).layer(layer);
    let runtime = runtime();
    for n in 0..50 {
        let (registry, call) = (registry.clone(), ToolCall::new(n.to_string(), "brew", "{}"));
        runtime.spawn(async move { registry.call(call).await });
    }
    let names = || -> Vec<String> {
        let files = fs::read_dir(directory.join("s")).into_iter().flatten();
        files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    while names().is_empty() {
        std::thread::yield_now();
    }
    runtime.shutdown_background();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        // Directories are listed one after the other, and a thread that had begun may create its temporary file after any of them.
        let (whole, begun): (Vec<_>, Vec<_>) = names().into_iter().partition(|name| name.ends_with(".md"));
        for name in whole {
            assert!(fs::read_to_string(directory.join("s").join(name)).unwrap() == content);
        }
        if begun.is_empty() {
            break;
        }
        assert!(Instant::now() < end, "temporary files are left: {begun:?}");
        std::thread::yield_now();
    }
    row.model_reads::<&str>([]);
    row.host_learns::<&str>([]);
}

#[test]
fn without_a_runtime() {
    let row = row("shutdown::without_a_runtime");
    let registry = offloading();
    let mut call = std::pin::pin!(registry.call(call_of(&row)));
    let Poll::Ready(outcome) = call.as_mut().poll(&mut Waking::from_waker(Waker::noop())) else {
        panic!("not ready")
    };
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}
