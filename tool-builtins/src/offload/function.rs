//! [`offload()`]: writes the content of a message's tool result to a file, and replaces the content with a pointer to the file.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::message::{Block, Message, MessageContent};
use tool_runtime::{State, tool};

use super::file_path::{self, InvalidComponent};
use super::writer::{FileWriter, WriteError, Writer};

/// Move the content of a message's tool result to a file and leave a pointer in its place.
#[tool(idempotent)]
pub async fn offload(
    /// The message; exactly one of its blocks is a `tool_result`.
    message: Message,
    options: State<OffloadOptions>,
    writer: State<Writer>,
) -> Result<OffloadResult, OffloadError> {
    offload_message(&message, &options, &*writer).await
}

/// Destination of offloaded contents. The host sets the destination, never the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadOptions {
    /// Id of the session, which is the name of the directory with its files.
    pub session_id: String,
    /// Directory of all sessions. A relative path is relative to the current directory.
    pub output_dir: PathBuf,
}

impl OffloadOptions {
    /// Creates the options of one session.
    pub fn new(session_id: impl Into<String>, output_dir: impl Into<PathBuf>) -> Self {
        Self {
            session_id: session_id.into(),
            output_dir: output_dir.into(),
        }
    }
}

/// Result of offloading. The JSON fields are `message`, `freedChars` and `file`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OffloadResult {
    /// The message, with the pointer in place of the result's content.
    pub message: Message,
    /// Number of characters (Unicode scalar values) of the content minus the number of characters of the pointer. The
    /// difference is negative if the content is shorter than the pointer.
    pub freed_chars: i64,
    /// Absolute path of the file with the content.
    pub file: PathBuf,
}

/// Reason why the result was not offloaded. The message is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OffloadError {
    /// The message has no `tool_result`.
    #[error("missing `tool_result` block in the message")]
    NoToolResult,
    /// The message has several `tool_result` blocks.
    #[error("expected one `tool_result` block, got {} ({})", ids.len(), ids.join(", "))]
    SeveralToolResults {
        /// The `tool_use_id` of each block.
        ids: Vec<String>,
    },
    /// The `tool_result` has no `tool_use_id`, from which the file name is derived.
    #[error("missing `tool_use_id` of the `tool_result` block; expected a string")]
    NoToolUseId,
    /// Content that is neither a string nor a list of blocks.
    #[error("invalid content of the result {tool_use_id:?}; expected a string or an array of content blocks")]
    NoContent {
        /// Id of the result.
        tool_use_id: String,
    },
    /// An id is not a single plain component of a path.
    #[error(transparent)]
    InvalidComponent(#[from] InvalidComponent),
    /// The output directory has no absolute path in UTF-8, as required in the text of the pointer.
    #[error("the output directory {} has no absolute path in UTF-8; use an absolute one", output_dir.display())]
    OutputDir {
        /// Path of the directory.
        output_dir: PathBuf,
    },
    /// The writer failed; [`source`](std::error::Error::source) is its error.
    #[error("the content was not written to {}: {source}", file.display())]
    Write {
        /// Path of the file.
        file: PathBuf,
        /// Error of the writer.
        source: WriteError,
    },
}

/// Offloads the only result of a message.
pub(super) async fn offload_message(
    message: &Message,
    options: &OffloadOptions,
    writer: &impl FileWriter,
) -> Result<OffloadResult, OffloadError> {
    let blocks = match &message.content {
        MessageContent::Blocks(blocks) => blocks.as_slice(),
        MessageContent::Text(_) => &[],
    };
    let block = only_result(blocks)?;
    let tool_use_id = block.str("tool_use_id").ok_or(OffloadError::NoToolUseId)?;
    let content = match block.0.get("content") {
        Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
        Some(blocks @ Value::Array(_)) => Cow::Owned(blocks.to_string()),
        _ => {
            return Err(OffloadError::NoContent {
                tool_use_id: tool_use_id.to_owned(),
            });
        }
    };
    let pointer = put(&content, tool_use_id, options, writer).await?;
    let replaced = blocks
        .iter()
        .map(|it| {
            if std::ptr::eq(it, block) {
                block_with_pointer(it, &pointer.text)
            } else {
                it.clone()
            }
        })
        .collect();
    Ok(OffloadResult {
        message: message.with_content(MessageContent::Blocks(replaced)),
        freed_chars: chars(&content) - chars(&pointer.text),
        file: pointer.file,
    })
}

/// Text that replaces a content.
#[derive(Debug)]
pub(super) struct Pointer {
    pub(super) text: String,
    pub(super) file: PathBuf,
}

/// Writes a content, replacing an earlier one with the same id, and returns the pointer.
pub(super) async fn put(
    content: &str,
    tool_use_id: &str,
    options: &OffloadOptions,
    writer: &impl FileWriter,
) -> Result<Pointer, OffloadError> {
    let pointer = pointer(tool_use_id, options, 1)?;
    match writer.write(&pointer.file, content).await {
        Ok(()) => Ok(pointer),
        Err(source) => Err(failed(pointer, source)),
    }
}

/// Writes a content without overwriting earlier contents with an equal id, and returns the pointer.
pub(super) async fn put_new(
    content: &str,
    tool_use_id: &str,
    options: &OffloadOptions,
    writer: &impl FileWriter,
) -> Result<Pointer, OffloadError> {
    for number in 1..=MAX_FILES_PER_ID {
        let pointer = pointer(tool_use_id, options, number)?;
        match writer.create_new(&pointer.file, content).await {
            Ok(true) => return Ok(pointer),
            Ok(false) => {}
            Err(source) => return Err(failed(pointer, source)),
        }
    }
    let source = format!("{MAX_FILES_PER_ID} files for this id exist already");
    Err(failed(pointer(tool_use_id, options, 1)?, source.into()))
}

/// Maximum number of file names that are tried for an id. A store that rejects this many names probably rejects all names.
const MAX_FILES_PER_ID: u32 = 10_000;

fn failed(Pointer { file, .. }: Pointer, source: WriteError) -> OffloadError {
    OffloadError::Write { file, source }
}

/// Creates the pointer to the file with the number `number`. The file need not exist.
fn pointer(tool_use_id: &str, options: &OffloadOptions, number: u32) -> Result<Pointer, OffloadError> {
    let OffloadOptions {
        session_id,
        output_dir,
    } = options;
    let invalid_dir = || OffloadError::OutputDir {
        output_dir: output_dir.clone(),
    };
    let directory = std::path::absolute(output_dir).map_err(|_| invalid_dir())?;
    let file = file_path::file(&directory, session_id, tool_use_id, number)?;
    let text = file
        .to_str()
        .map(|file| format!("[Tool result offloaded to file: {file}]"))
        .ok_or_else(invalid_dir)?;
    Ok(Pointer { text, file })
}

fn only_result(blocks: &[Block]) -> Result<&Block, OffloadError> {
    let results: Vec<_> = blocks
        .iter()
        .filter(|block| block.kind() == "tool_result")
        .collect();
    match results.as_slice() {
        [] => Err(OffloadError::NoToolResult),
        [block] => Ok(block),
        several => Err(OffloadError::SeveralToolResults {
            ids: several
                .iter()
                .map(|block| block.str("tool_use_id").unwrap_or("without id").to_owned())
                .collect(),
        }),
    }
}

/// Returns the block with the pointer as its content. All other fields keep their positions.
fn block_with_pointer(block: &Block, pointer: &str) -> Block {
    let fields = block.0.iter().map(|(name, value)| {
        let value = if name == "content" {
            Value::from(pointer)
        } else {
            value.clone()
        };
        (name.clone(), value)
    });
    Block(fields.collect::<Map<_, _>>())
}

fn chars(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}
