//! [`Workspace`]: the folder of the tools that touch the machine.
//!
//! A host opens one folder, once, and shares it with the tools as a state:
//!
//! ```
//! use tool_builtins::workspace::{Workspace, WorkspaceOptions};
//! use tool_runtime::ToolRegistry;
//!
//! let folder = std::env::temp_dir();
//! let workspace: Workspace = WorkspaceOptions::new(&folder).deny_write(["**/.git"]).open()?;
//! let registry = ToolRegistry::new().with_state(workspace);
//! # let _ = registry;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![allow(dead_code, reason = "families of tools need different parts")]

// A module uses only modules that are declared before it.
pub(crate) mod error;
pub(crate) mod text;
pub(crate) mod lines;
mod limits;
pub(crate) mod seen_files;
mod file_locks;
pub(crate) mod denied_paths;
pub(crate) mod folder;
pub(crate) mod place;
pub(crate) mod load;
pub(crate) mod state;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod attributes;
pub(crate) mod save;
#[cfg(feature = "files")]
pub(crate) mod ignore_rules;
#[cfg(feature = "files")]
pub(crate) mod walk;
mod options;

pub use self::limits::WorkspaceLimits;
pub use self::options::{InvalidWorkspace, WorkspaceOptions};
pub use self::seen_files::SeenFiles;
pub use self::state::Workspace;
