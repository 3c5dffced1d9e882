//! Ready-made tools for [`tool_runtime`]: annotated functions, with related tools in one file.
//!
//! - [`mod@todo`]: `TodoWrite` and `TodoRead`, a model's task list, and an example for writing tools.
//! - [`offload`]: moves long results to files and leaves a pointer, as a function, as a tool, or as a layer.
//!   `ReadOffloaded` reads the files.
//! - `workspace` (feature `workspace`): the folder of the tools that touch the machine.
//! - `shell`, with the feature `shell` on Linux: `Bash`, `BashOutput` and `KillShell`, which run commands.
//! - `files` (feature `files`): `Read`, `LS`, `Write`, `Edit` and `MultiEdit`.
//! - `search` (feature `search`): `Glob` and `Grep`.
//! - [`AttemptLimit`], a layer that asks the model to stop after repeated failures of a tool.
//!
//! ```
//! use tool_builtins::offload::{OffloadLayer, OffloadOptions};
//! use tool_builtins::todo::{todo_read, todo_write};
//! use tool_runtime::{RegistryError, ToolRegistry, tool_set};
//!
//! fn registry() -> Result<ToolRegistry, RegistryError> {
//!     let mut registry = ToolRegistry::new()
//!         .layer(OffloadLayer::new(OffloadOptions::new("session-1", ".offload")));
//!     registry.register_all(tool_set![todo_write, todo_read])?;
//!     Ok(registry)
//! }
//! # assert_eq!(registry().unwrap().tool_definitions().len(), 2);
//! ```

mod attempt_limit;
pub mod offload;
pub mod todo;
#[cfg(feature = "workspace")]
pub mod workspace;
#[cfg(all(feature = "shell", target_os = "linux"))]
pub mod shell;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "search")]
pub mod search;

pub use attempt_limit::{AttemptLimit, AttemptLimited};

/// The README, whose blocks are tests.
#[cfg(all(doctest, feature = "files", feature = "shell", target_os = "linux"))]
#[doc = include_str!("../README.md")]
struct Readme;
