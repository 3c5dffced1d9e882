//! `Read`, `LS`, `Write`, `Edit` and `MultiEdit`: files of a [`Workspace`](crate::workspace::Workspace).
//!
//! ```
//! use tool_builtins::files;
//! use tool_builtins::workspace::WorkspaceOptions;
//! use tool_runtime::ToolRegistry;
//!
//! let folder = std::env::temp_dir();
//! let workspace = WorkspaceOptions::new(folder).deny(["**/.env*"]).open()?;
//! let mut registry = ToolRegistry::new().with_state(workspace);
//! registry.register_all(files::tools())?;
//! assert!(registry.tool_definitions().iter().any(|tool| tool.name.as_str() == "Edit"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![allow(clippy::needless_pass_by_value, reason = "the arguments of a tool are values")]

// A module uses only modules that are declared before it.
mod document;
pub mod read;
pub mod list;
pub mod write;
pub mod edit;
pub mod multi_edit;

use tool_runtime::{IntoTools, tool_set};

/// Returns all tools for files. Their state is a [`Workspace`](crate::workspace::Workspace).
pub fn tools() -> impl IntoTools {
    tool_set![
        read::read,
        list::list,
        write::write,
        edit::edit,
        multi_edit::multi_edit
    ]
}

/// Returns the tools that do not write.
pub fn reading_tools() -> impl IntoTools {
    tool_set![read::read, list::list]
}
