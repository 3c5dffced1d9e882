//! Notes for the model: separate from the answer in layers, and appended to it at the end.

use std::sync::{Arc, Mutex};

use tool_builtins::offload::{MemoryWriter, OffloadLayer, OffloadOptions};
use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::message::Block;
use tool_runtime::result::Content;
use tool_runtime::{Blocks, ToolCall, ToolOutcome, ToolRegistry, testing, tool};
use tower::ServiceExt;
use tower::util::{MapRequestLayer, MapResponseLayer};
use tower_layer::layer_fn;

/// Repeat a text.
#[tool]
async fn repeat(
    /// Number of repetitions.
    times: usize,
) -> String {
    "tea ".repeat(times)
}

/// Show a picture.
#[tool]
async fn show(
    /// Name of the picture.
    number: u8,
) -> Blocks {
    Blocks(vec![Block::text(format!("picture {number}"))])
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new().with_warnings_in_results(true);
    registry.register::<repeat>().unwrap().register::<show>().unwrap();
    registry
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall::new("toolu_1", name, arguments)
}

const TWICE: &str = r#"{ "times": "2" }"#;

/// First line of a note about arguments.
const NOTE: &str = "Note on the arguments of this call:\n";

#[tokio::test]
async fn layers_see_the_answer_without_its_notes() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let registry = registry().layer(MapResponseLayer::new(move |outcome: ToolOutcome| {
        let text = outcome.result.text().map(str::to_owned);
        keep.lock().unwrap().push((text, outcome.notes.len()));
        outcome
    }));
    let by_call = registry.call(call("repeat", TWICE)).await.result;
    let by_name = registry.execute_tool("toolu_1", "repeat", TWICE).await;
    let in_a_turn = registry
        .execute_all([call("repeat", TWICE)])
        .await
        .remove(0)
        .result;
    let as_service = registry
        .clone()
        .oneshot(call("repeat", TWICE))
        .await
        .unwrap()
        .result;
    assert_eq!(*seen.lock().unwrap(), vec![(Some("tea tea ".to_owned()), 1); 4]);
    for result in [by_call, by_name, in_a_turn, as_service] {
        let rest = result.text().unwrap().strip_prefix("tea tea \n\n").unwrap();
        assert!(rest.starts_with(NOTE), "{rest}");
        assert_eq!(rest.matches("Note").count(), 1, "{rest}");
    }
}

#[tokio::test]
async fn offloading_keeps_notes_in_the_result() {
    let files = MemoryWriter::new();
    let layer = OffloadLayer::new(OffloadOptions::new("s", "/offloaded")).with_writer(files.clone());
    let outcome = registry()
        .layer(layer)
        .call(call("repeat", r#"{ "times": "1000" }"#))
        .await;
    assert_eq!(
        files.read("/offloaded/s/toolu_1.md").unwrap(),
        "tea ".repeat(1000)
    );
    let text = outcome.result.text().unwrap();
    let rest = text.strip_prefix("[Tool result offloaded to file: /offloaded/s/toolu_1.md]\n\n");
    assert!(rest.unwrap().starts_with(NOTE), "{text}");
}

#[tokio::test]
async fn note_after_blocks_is_a_block() {
    let outcome = registry().call(call("show", r#"{ "number": "7" }"#)).await;
    let Content::Blocks(blocks) = &outcome.result.content else {
        panic!("{outcome:?}")
    };
    assert_eq!(blocks[0], Block::text("picture 7"));
    assert_eq!(blocks[1..], [Block::text(&outcome.notes[0])]);
    assert_eq!(*outcome.answer(), Content::Blocks(vec![Block::text("picture 7")]));
}

#[tokio::test]
async fn note_after_an_empty_answer_has_no_separator() {
    let outcome = registry().call(call("repeat", r#"{ "times": "0" }"#)).await;
    assert_eq!(outcome.result.text(), Some(&*outcome.notes[0]));
    assert_eq!(outcome.answer().as_text(), Some(""));
}

#[tokio::test]
async fn layers_may_add_notes() {
    let layer = MapResponseLayer::new(|mut outcome: ToolOutcome| {
        outcome.notes.push("three calls are left".to_owned());
        outcome
    });
    let mut registry = ToolRegistry::new().layer(layer);
    registry.register::<repeat>().unwrap();
    let outcome = registry.call(call("repeat", r#"{ "times": 1 }"#)).await;
    assert_eq!(outcome.result.text(), Some("tea \n\nthree calls are left"));
    assert_eq!(outcome.answer().as_text(), Some("tea "));
}

/// A layer that passes calls to another registry, whose answers already have notes.
#[tokio::test]
async fn notes_are_appended_once_through_two_registries() {
    let inner = registry();
    let outer = ToolRegistry::new()
        .layer(layer_fn(move |_: ToolService| {
            inner.clone().map_err(BoxError::from)
        }))
        .layer(MapRequestLayer::new(|call: ToolCall| call));
    let outcome = outer.call(call("repeat", TWICE)).await;
    assert_eq!(outcome.result.text().unwrap().matches("Note").count(), 1);
    assert_eq!(outcome.answer().as_text(), Some("tea tea "));
}

#[tokio::test]
async fn assertions_compare_answer_and_notes_separately() {
    let checked = testing::run_in(&registry(), "repeat", TWICE).await;
    let note = checked.notes[0].clone();
    checked.assert_text("tea tea ").assert_notes([&*note]);
    testing::run_in(&registry(), "repeat", r#"{ "times": 1 }"#)
        .await
        .assert_text("tea ")
        .assert_notes([]);
}

#[tokio::test]
async fn rejected_arguments_have_no_note() {
    testing::run_in(&registry(), "repeat", r#"{ "time": 1 }"#)
        .await
        .assert_refused(["missing_required at /times"])
        .assert_notes([]);
}
