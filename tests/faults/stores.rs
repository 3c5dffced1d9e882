//! Failing stores: a long result is never lost because of a store.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tool_builtins::offload::{
    FileWriter, MemoryWriter, OffloadLayer, OffloadOptions, Writer, Writing, offload,
};
use tool_runtime::{CancellationToken, Context, ToolCall, ToolRegistry};

use crate::calls::{PanicsInDrop, brewing, call_of};
use crate::rows::row;
use crate::telemetry;

/// Returns options for `/DIR`, which is never created, since these tests do not write to a disk.
fn options() -> OffloadOptions {
    OffloadOptions::new("s", "/DIR")
}

fn offloading_to(writer: impl FileWriter) -> ToolRegistry {
    brewing(async |_, _| CONTENT).layer(OffloadLayer::new(options()).with_threshold(1).with_writer(writer))
}

const CONTENT: &str = "all that was brewed";

struct Fails;

impl FileWriter for Fails {
    fn write<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a> {
        Box::pin(async { Err("the store is closed".into()) })
    }

    fn create_new<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a, bool> {
        Box::pin(async { Err("the store is closed".into()) })
    }
}

/// A store that panics when it creates a future, or in the future.
struct Panics {
    at_once: bool,
}

impl FileWriter for Panics {
    fn write<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a> {
        unreachable!("the layer overwrites nothing")
    }

    fn create_new<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a, bool> {
        assert!(!self.at_once, "the store broke");
        Box::pin(async { panic!("the store broke") })
    }
}

/// A future that panics when it is dropped before its end, and never ends.
struct PanicsInVain;

impl FileWriter for PanicsInVain {
    fn write<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a> {
        unreachable!("the layer overwrites nothing")
    }

    fn create_new<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a, bool> {
        Box::pin(async {
            let _cup = PanicsInDrop;
            std::future::pending().await
        })
    }
}

struct Hangs;

impl FileWriter for Hangs {
    fn write<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a> {
        unreachable!("the layer overwrites nothing")
    }

    fn create_new<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a, bool> {
        Box::pin(std::future::pending())
    }
}

/// A store with only the required methods of the trait.
#[derive(Clone, Default)]
struct OnlyOverwrites(MemoryWriter);

impl FileWriter for OnlyOverwrites {
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a> {
        self.0.write(file, content)
    }
}

/// A store in which every name exists.
struct Crowded;

impl FileWriter for Crowded {
    fn write<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a> {
        unreachable!("the layer overwrites nothing")
    }

    fn create_new<'a>(&'a self, _: &'a Path, _: &'a str) -> Writing<'a, bool> {
        Box::pin(async { Ok(false) })
    }
}

/// R-OFF-30
#[tokio::test]
async fn fails() {
    let row = row("stores::fails");
    let outcome = offloading_to(Fails).call(call_of(&row)).await;
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}

#[tokio::test]
async fn fails_in_the_offload_tool() {
    let row = row("stores::fails_in_the_offload_tool");
    let mut registry = ToolRegistry::new()
        .with_state(options())
        .with_state(Writer::new(Fails));
    registry.register::<offload>().unwrap();
    let block = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": CONTENT });
    let input = json!({ "message": { "role": "user", "content": [block] } });
    let outcome = registry.call(ToolCall::new(row.id(), "offload", input)).await;
    row.check_in(Path::new("/DIR"), &outcome);
}

#[tokio::test]
async fn panics() {
    let row = row("stores::panics");
    let outcome = offloading_to(Panics { at_once: false }).call(call_of(&row)).await;
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}

#[tokio::test]
async fn panics_before_returning_a_future() {
    let row = row("stores::panics_before_returning_a_future");
    let outcome = offloading_to(Panics { at_once: true }).call(call_of(&row)).await;
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}

#[tokio::test(start_paused = true)]
async fn hangs_past_the_deadline() {
    let row = row("stores::hangs_past_the_deadline");
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let outcome = offloading_to(Hangs)
        .call(call_of(&row).with_context(context))
        .await;
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}

#[tokio::test(start_paused = true)]
async fn hangs_and_is_cancelled() {
    let row = row("stores::hangs_and_is_cancelled");
    let token = CancellationToken::new();
    let registry = offloading_to(Hangs);
    let call = call_of(&row).with_context(Context::new().with_cancellation(token.clone()));
    let (outcome, ()) = tokio::join!(registry.call(call), async { token.cancel() });
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}

#[tokio::test(start_paused = true)]
async fn hangs_at_the_end_of_the_grace_period() {
    let row = row("stores::hangs_at_the_end_of_the_grace_period");
    let registry = brewing(async |_, context: Context| {
        context.cancellation().cancelled().await;
        tokio::time::sleep(CancellationToken::GRACE_PERIOD - Duration::from_millis(1)).await;
        CONTENT
    });
    let layer = OffloadLayer::new(options()).with_threshold(1).with_writer(Hangs);
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let outcome = registry
        .layer(layer)
        .call(call_of(&row).with_context(context))
        .await;
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}

#[tokio::test(start_paused = true)]
async fn hangs_without_a_deadline() {
    let row = row("stores::hangs_without_a_deadline");
    let registry = offloading_to(Hangs);
    let call = registry.call(call_of(&row));
    tokio::time::timeout(Duration::from_secs(3600), call)
        .await
        .unwrap_err();
    row.model_reads::<&str>([]);
    row.host_learns(telemetry::of(&row.id()).events);
}

#[tokio::test(start_paused = true)]
async fn panics_when_dropped() {
    let row = row("stores::panics_when_dropped");
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let outcome = offloading_to(PanicsInVain)
        .call(call_of(&row).with_context(context))
        .await;
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}

/// A session id with a path to another directory; a `tool_use_id` is treated equally.
#[tokio::test]
async fn without_create_new() {
    let row = row("stores::without_create_new");
    let store = OnlyOverwrites::default();
    let outcome = offloading_to(store.clone()).call(call_of(&row)).await;
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
    assert!(store.0.files().is_empty());
}

#[tokio::test]
async fn without_create_new_overwriting() {
    let row = row("stores::without_create_new_overwriting");
    let store = OnlyOverwrites::default();
    let layer = OffloadLayer::new(options())
        .with_threshold(1)
        .with_writer(store.clone());
    let registry = brewing(async |_, _| CONTENT).layer(layer.overwriting());
    registry.call(call_of(&row)).await;
    row.check_in(Path::new("/DIR"), &registry.call(call_of(&row)).await);
    assert_eq!(store.0.files().len(), 1);
}

#[tokio::test]
async fn ten_thousand_files_of_one_id() {
    let row = row("stores::ten_thousand_files_of_one_id");
    let outcome = offloading_to(Crowded).call(call_of(&row)).await;
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
}

/// R-OFF-30
#[tokio::test]
async fn invalid_session_id() {
    let row = row("stores::invalid_session_id");
    let memory = MemoryWriter::new();
    let context = Context::new().with_session("../../etc");
    let outcome = offloading_to(memory.clone())
        .call(call_of(&row).with_context(context))
        .await;
    row.check_whole(Path::new("/DIR"), &outcome, CONTENT);
    assert!(memory.files().is_empty());
}
