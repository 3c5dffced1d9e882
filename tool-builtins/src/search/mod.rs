//! `Glob` and `Grep`: finds files of a [`Workspace`](crate::workspace::Workspace) by their names and contents.
//!
//! ```
//! use tool_builtins::search;
//! use tool_builtins::workspace::WorkspaceOptions;
//! use tool_runtime::ToolRegistry;
//!
//! let folder = std::env::temp_dir();
//! let workspace = WorkspaceOptions::new(folder).read_only().open()?;
//! let mut registry = ToolRegistry::new().with_state(workspace);
//! registry.register_all(search::tools())?;
//! assert_eq!(registry.tool_definitions().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![allow(clippy::needless_pass_by_value, reason = "the arguments of a tool are values")]

// A module uses only modules that are declared before it.
pub mod glob;
pub mod grep;

use tool_runtime::{IntoTools, tool_set};

/// Returns all tools that search. Their state is a [`Workspace`](crate::workspace::Workspace).
pub fn tools() -> impl IntoTools {
    tool_set![glob::glob, grep::grep]
}
