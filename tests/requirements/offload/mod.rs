//! Offloading of long results to files.

mod function;
mod files;
mod message;
mod layer;
mod read_back;
mod measures;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tool_builtins::offload::{
    FileWriter, OffloadError, OffloadOptions, OffloadResult, Writer, Writing, offload,
};
use tool_runtime::State;
use tool_runtime::message::Message;

/// Creates an empty directory for a test.
fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("offload").join(test);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn result_block(id: &str, content: impl Into<Value>) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": content.into() })
}

fn message_of(blocks: impl Into<Value>) -> Message {
    serde_json::from_value(json!({ "role": "user", "content": blocks.into() })).unwrap()
}

fn message(id: &str, content: impl Into<Value>) -> Message {
    message_of(vec![result_block(id, content)])
}

/// Returns the content of the message's only block.
fn content(message: &Message) -> Value {
    serde_json::to_value(message).unwrap()["content"][0]["content"].clone()
}

async fn offload_to(
    writer: impl FileWriter,
    message: &Message,
    options: OffloadOptions,
) -> Result<OffloadResult, OffloadError> {
    offload(
        message.clone(),
        State::new(options),
        State::new(Writer::new(writer)),
    )
    .await
}

fn somewhere() -> OffloadOptions {
    OffloadOptions::new("session-abc123", root())
}

/// Returns a directory for tests that write to memory.
fn root() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("somewhere")
        .join(".offload")
}

/// Returns the file of the result `toolu_xyz`.
fn file() -> PathBuf {
    root().join("session-abc123").join("toolu_xyz.md")
}

fn pointer() -> String {
    format!("[Tool result offloaded to file: {}]", file().display())
}

/// A writer whose disk is full.
struct FullDisk;

impl FileWriter for FullDisk {
    fn write<'a>(&'a self, _file: &'a Path, _content: &'a str) -> Writing<'a> {
        Box::pin(async { Err("no space left on device".into()) })
    }

    fn create_new<'a>(&'a self, _file: &'a Path, _content: &'a str) -> Writing<'a, bool> {
        Box::pin(async { Err("no space left on device".into()) })
    }
}
