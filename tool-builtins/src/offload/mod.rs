//! Moves long tool results to files. The model receives a pointer, which takes fewer tokens.
//!
//! There are three ways to offload, and a tool that reads the files:
//!
//! - [`offload_to_files`]: a function that writes the content of a message's result to a local file, and returns the message
//!   with a pointer.
//! - [`offload()`]: a tool, with the [`FileWriter`] that the host put into the registry's state.
//! - [`OffloadLayer`]: a layer that offloads every result of 1000 characters or more.
//! - [`read_offloaded()`]: the tool `ReadOffloaded`. The model uses the tool to read and search offloaded results of its
//!   session.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tool_builtins::offload::{OffloadOptions, offload_to_files};
//! use tool_runtime::message::Message;
//! use tool_runtime::serde_json::{from_value, json};
//!
//! # let directory = std::env::temp_dir().join(format!("offload-docs-{}", std::process::id()));
//! let message: Message = from_value(json!({
//!     "role": "user",
//!     "content": [{ "type": "tool_result", "tool_use_id": "toolu_xyz", "content": "x".repeat(5000) }],
//! }))?;
//! let offloaded = offload_to_files(&message, OffloadOptions::new("session-abc123", &directory)).await?;
//!
//! assert!(offloaded.file.ends_with("session-abc123/toolu_xyz.md"));
//! assert_eq!(std::fs::read_to_string(&offloaded.file)?.len(), 5000);
//! assert!(offloaded.freed_chars > 4000);
//! # std::fs::remove_dir_all(directory)?;
//! # Ok(())
//! # }
//! ```

// Dependencies first: a module uses only modules declared before it. The tools, `function` and `read_back`, use the traits
// of stores, and no particular store.
mod file_path;
mod writer;
mod reader;
mod function;
mod threads;
mod chunks;
mod search;
mod read_back;
mod memory;
mod local;
mod local_reader;
mod local_session;
mod convenience;
mod deadline_writer;
mod layer;

pub use convenience::offload_to_files;
pub use file_path::InvalidComponent;
pub use function::{OffloadError, OffloadOptions, OffloadResult, offload};
pub use layer::{OffloadLayer, Offloading, WithoutOffload};
pub use local::{LocalWriter, PrivateWriter};
pub use local_reader::LocalReader;
pub use local_session::remove_session;
pub use memory::MemoryWriter;
pub use read_back::{ReadOffloadedError, read_offloaded};
pub use reader::{FilePart, FileReader, ReadError, Reader, Reading};
pub use writer::{FileWriter, WriteError, Writer, Writing};
