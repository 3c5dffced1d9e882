//! The layer that offloads long results of a registry.

use std::future::{Ready, ready};
use std::task::{Context as Waker, Poll};

use serde_json::{Value, json};
use tool_builtins::offload::{MemoryWriter, OffloadLayer};
use tool_runtime::message::Block;
use tool_runtime::{
    Blocks, Context, ToolCall, ToolDefinition, ToolOutcome, ToolOutput, ToolRegistry, ToolResult,
};
use tower_layer::Layer as _;
use tower_service::Service;

use super::{file, pointer, root, somewhere};

/// A tool that always returns one output.
#[derive(Clone)]
struct Answering(ToolOutput);

impl Service<ToolCall> for Answering {
    type Response = ToolOutcome;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<ToolOutcome, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Waker<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        ready(Ok(ToolOutcome::new(ToolResult::new(call.id, self.0.clone()))))
    }
}

async fn through(layer: &OffloadLayer, output: ToolOutput, context: Context) -> Value {
    let call = ToolCall::new("toolu_xyz", "any", "{}").with_context(context);
    let Ok(outcome) = layer.layer(Answering(output)).call(call).await;
    serde_json::to_value(outcome.result).unwrap()
}

fn blocks_of(characters: usize) -> ToolOutput {
    use tool_runtime::IntoToolOutput as _;
    let frame = serde_json::to_string(&[Block::text("")]).unwrap().len();
    Blocks(vec![Block::text("日".repeat(characters - frame))]).into_tool_output()
}

/// R-OFF-26
#[tokio::test]
async fn layer_offloads_from_1000_characters_on() {
    let outputs: [fn(usize) -> ToolOutput; 3] = [
        |characters| ToolOutput::text("日".repeat(characters)),
        |characters| ToolOutput::error("日".repeat(characters)),
        blocks_of,
    ];
    for output in outputs {
        let memory = MemoryWriter::new();
        let layer = OffloadLayer::new(somewhere()).with_writer(memory.clone());
        let short = serde_json::to_value(ToolResult::new("toolu_xyz", output(999))).unwrap();
        assert_eq!(through(&layer, output(999), Context::new()).await, short);
        assert_eq!(memory.read(file()), None);

        let mut pointing = serde_json::to_value(ToolResult::new("toolu_xyz", output(1000))).unwrap();
        pointing["content"] = pointer().into();
        assert_eq!(through(&layer, output(1000), Context::new()).await, pointing);
        assert_eq!(memory.read(file()).unwrap().chars().count(), 1000);
    }
    let memory = MemoryWriter::new();
    let lower = OffloadLayer::new(somewhere())
        .with_writer(memory.clone())
        .with_threshold(1);
    through(&lower, ToolOutput::text(""), Context::new()).await;
    assert_eq!(memory.read(file()), None);
    through(&lower, ToolOutput::text("x"), Context::new()).await;
    assert_eq!(memory.read(file()).as_deref(), Some("x"));
}

/// R-OFF-28
#[tokio::test]
async fn layer_uses_the_session_of_the_call() {
    let memory = MemoryWriter::new();
    let layer = OffloadLayer::new(somewhere())
        .with_writer(memory.clone())
        .with_threshold(1);
    through(
        &layer,
        ToolOutput::text("own"),
        Context::new().with_session("s-7"),
    )
    .await;
    assert_eq!(
        memory.read(root().join("s-7").join("toolu_xyz.md")).as_deref(),
        Some("own")
    );
    through(&layer, ToolOutput::text("fallback"), Context::new()).await;
    assert_eq!(memory.read(file()).as_deref(), Some("fallback"));
}

/// R-OFF-29
#[tokio::test]
async fn layer_keeps_the_files_of_repeated_ids() {
    let memory = MemoryWriter::new();
    let layer = OffloadLayer::new(somewhere())
        .with_writer(memory.clone())
        .with_threshold(1);
    let beside = |number| file().with_file_name(format!("toolu_xyz-{number}.md"));
    let files = [file(), beside(2), beside(3)];
    for (n, file) in files.iter().enumerate() {
        let result = through(&layer, ToolOutput::text(format!("turn {n}")), Context::new()).await;
        let pointer = format!("[Tool result offloaded to file: {}]", file.display());
        assert_eq!(result["content"], pointer);
    }
    for (n, file) in files.iter().enumerate() {
        assert_eq!(memory.read(file), Some(format!("turn {n}")));
    }

    let overwriting = layer.overwriting();
    let result = through(&overwriting, ToolOutput::text("again"), Context::new()).await;
    assert_eq!(result["content"], pointer());
    assert_eq!(memory.read(file()).as_deref(), Some("again"));
    assert_eq!(memory.files().len(), 3);
}

/// R-OFF-27
#[tokio::test]
async fn layer_applies_to_every_method_of_calling() {
    let memory = MemoryWriter::new();
    let layer = OffloadLayer::new(somewhere()).with_writer(memory.clone());
    let mut registry = ToolRegistry::new().layer(layer);
    let definition = ToolDefinition::new(
        "long",
        "Answers at length.",
        json!({ "type": "object", "properties": {} }),
    );
    registry
        .register_dynamic(definition, async |_, _| "x".repeat(1000))
        .unwrap();
    let call = |id: &str| ToolCall::new(id, "long", "{}").with_context(Context::new().with_session("s"));

    let direct = registry.execute_tool("toolu_xyz", "long", "{}").await;
    assert_eq!(direct.text(), Some(&*pointer()));
    registry.call(call("toolu_a")).await;
    registry.execute_all([call("toolu_b"), call("toolu_c")]).await;
    registry.subset(["long"]).call(call("toolu_d")).await;
    let Ok(_) = Service::call(&mut registry, call("toolu_e")).await;
    let mut expected: Vec<_> = ["a", "b", "c", "d", "e"]
        .map(|id| root().join("s").join(format!("toolu_{id}.md")))
        .into();
    expected.push(file());
    let mut written: Vec<_> = memory.files().into_keys().collect();
    expected.sort();
    written.sort();
    assert_eq!(written, expected);
}
