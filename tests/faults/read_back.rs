//! Offloaded results that cannot be read back. The model receives advice.

use std::path::Path;

use serde_json::{Value, json};
use tool_builtins::offload::{
    FilePart, FileReader, FileWriter as _, MemoryWriter, OffloadOptions, Reader, Reading, read_offloaded,
};
use tool_runtime::{Context, ToolCall, ToolOutcome, ToolRegistry};

use crate::rows::{Row, row};

/// Calls `ReadOffloaded` in the session `s` below `/DIR`, which does not exist.
async fn read(row: &Row, reader: impl FileReader, input: Value) -> ToolOutcome {
    let mut registry = ToolRegistry::new()
        .with_state(OffloadOptions::new("none", "/DIR"))
        .with_state(Reader::new(reader));
    registry.register::<read_offloaded>().unwrap();
    let context = Context::new().with_session("s");
    let call = ToolCall::new(row.id(), "ReadOffloaded", input).with_context(context);
    registry.call(call).await
}

async fn memory(content: &str) -> MemoryWriter {
    let memory = MemoryWriter::new();
    let file = std::path::absolute("/DIR/s/toolu_1.md").unwrap();
    memory.write(&file, content).await.unwrap();
    memory
}

/// Returns its source's content, or fails without one.
struct Answers(Option<FilePart>);

impl FileReader for Answers {
    fn read<'a>(&'a self, _: &'a Path, offset: u64, _: usize) -> Reading<'a, Option<FilePart>> {
        Box::pin(async move {
            let part = self.0.clone().ok_or("the store is closed")?;
            // Each part has all current content of a growing file.
            Ok(Some(FilePart::new(part.bytes, part.size + offset)))
        })
    }
}

#[tokio::test]
async fn gone() {
    let row = row("read_back::gone");
    row.check(&read(&row, memory("coffee").await, json!({ "id": "toolu_0" })).await);
}

#[tokio::test]
async fn gone_with_its_session() {
    let row = row("read_back::gone_with_its_session");
    row.check(&read(&row, MemoryWriter::new(), json!({ "id": "toolu_1" })).await);
}

#[tokio::test]
async fn leads_elsewhere() {
    let row = row("read_back::leads_elsewhere");
    row.check(&read(&row, memory("coffee").await, json!({ "id": "../t/toolu_1" })).await);
}

#[tokio::test]
async fn beyond_the_end() {
    let row = row("read_back::beyond_the_end");
    let input = json!({ "id": "toolu_1", "offset": 7 });
    row.check(&read(&row, memory("coffee").await, input).await);
}

#[tokio::test]
async fn store_fails() {
    let row = row("read_back::store_fails");
    row.check(&read(&row, Answers(None), json!({ "id": "toolu_1" })).await);
}

#[tokio::test]
async fn overwritten() {
    let row = row("read_back::overwritten");
    let part = FilePart::new(b"coffee".to_vec(), 100);
    row.check(&read(&row, Answers(Some(part)), json!({ "id": "toolu_1" })).await);
}

#[tokio::test]
async fn not_text() {
    let row = row("read_back::not_text");
    let part = FilePart::new(b"\xff".to_vec(), 1);
    row.check(&read(&row, Answers(Some(part)), json!({ "id": "toolu_1" })).await);
}

#[tokio::test]
async fn pattern_is_invalid() {
    let row = row("read_back::pattern_is_invalid");
    let input = json!({ "id": "toolu_1", "pattern": "brew(" });
    row.check(&read(&row, memory("brew(1)").await, input).await);
}

#[tokio::test]
async fn pattern_is_too_large() {
    let row = row("read_back::pattern_is_too_large");
    let input = json!({ "id": "toolu_1", "pattern": "((x{99}){99}){99}" });
    row.check(&read(&row, memory("coffee").await, input).await);
}

/// The range of the search depends on the machine.
#[tokio::test]
async fn pattern_takes_too_long() {
    let row = row("read_back::pattern_takes_too_long");
    let memory = memory(&"x".repeat(3_000_000)).await;
    let outcome = read(&row, memory, json!({ "id": "toolu_1", "pattern": "(x?){100}y" })).await;
    let text = outcome.result.text().unwrap();
    assert!(
        text.starts_with("[0 matches from offset 0 to ") && text.contains("; continue with offset "),
        "{text}"
    );
    row.model_reads::<&str>([]);
    row.host_learns(crate::rows::learnt_from(&outcome));
}
