//! [`WorkspaceSettings`]: the folder whose files the gateway's tools read and write.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use tool_builtins::workspace::{InvalidWorkspace, WorkspaceOptions};
use tool_builtins::{files, search};
use tool_runtime::{RegistryError, ToolRegistry};

use super::bash::Commands;
use super::mistakes::Mistakes;

/// Globs of paths that no tool may use: files that usually contain keys.
const DENIED: [&str; 3] = ["**/.env*", "**/*.pem", "**/id_*"];
/// Globs of paths that no tool may write: hooks and settings of Git run commands.
const DENIED_FOR_WRITING: [&str; 2] = ["**/.git", "**/.git/**"];

/// Options of the commands that have a workspace.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WorkspaceArgs {
    /// Folder whose files the gateway's tools may read
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The tools may write in the workspace, too
    #[arg(long, requires = "workspace")]
    pub(crate) write: bool,
}

/// The section `workspace`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WorkspaceSettings {
    /// Root folder; without a folder, the gateway has no tools for files.
    pub(crate) root: Option<PathBuf>,
    /// Whether the tools may write.
    pub(crate) write: bool,
    /// Globs of paths that no tool may use.
    pub(crate) deny: Vec<String>,
    /// Globs of paths that no tool may write.
    pub(crate) deny_write: Vec<String>,
    /// Whether the place of an edit must be quoted exactly.
    pub(crate) exact_edits: bool,
    /// Whether several clients may share the folder.
    pub(crate) shared: bool,
}

impl Default for WorkspaceSettings {
    fn default() -> Self {
        Self {
            root: None,
            write: false,
            deny: DENIED.map(str::to_owned).to_vec(),
            deny_write: DENIED_FOR_WRITING.map(str::to_owned).to_vec(),
            exact_edits: false,
            shared: false,
        }
    }
}

impl WorkspaceSettings {
    /// Applies the options of a command line, which have precedence over the file.
    pub(crate) fn set_options(&mut self, options: &WorkspaceArgs, mistakes: &mut Mistakes) {
        if let Some(root) = &options.workspace {
            self.root = Some(root.clone());
            mistakes.set_by("workspace.root", "--workspace");
        }
        self.write |= options.write;
    }

    /// Adds the tools of the workspace, if there is one, to a registry. The tools can read the outputs of commands, too.
    ///
    /// # Errors
    ///
    /// If the registry rejects a tool.
    pub(crate) fn install(
        &self,
        registry: ToolRegistry,
        commands: Option<&Commands>,
        mistakes: &mut Mistakes,
    ) -> Result<ToolRegistry, RegistryError> {
        let Some(root) = &self.root else {
            if self.write {
                mistakes.add(
                    &["workspace", "write"],
                    "there is no folder to write in; set `root`, or use --workspace DIR",
                );
            }
            return Ok(registry);
        };
        let mut options = WorkspaceOptions::new(root)
            .deny(&self.deny)
            .deny_write(&self.deny_write);
        if !self.write {
            options = options.read_only();
        }
        if let Some(commands) = commands {
            options = options.extra(commands.output_dir());
        }
        if self.exact_edits {
            options = options.exact_edits();
        }
        let workspace = match options.open() {
            Ok(workspace) => workspace,
            Err(error) => {
                let key = if let InvalidWorkspace::Glob(_) = error {
                    "deny"
                } else {
                    "root"
                };
                mistakes.add(&["workspace", key], error);
                return Ok(registry);
            }
        };
        let mut registry = registry.with_state(workspace);
        if self.write {
            registry.register_all(files::tools())?;
        } else {
            registry.register_all(files::reading_tools())?;
        }
        registry.register_all(search::tools())?;
        Ok(registry)
    }

    /// Returns the folder, and whether the tools may write, for the start message.
    pub(crate) fn describe(&self) -> Option<String> {
        let access = if self.write {
            "reading and writing"
        } else {
            "reading"
        };
        let root = self.root.as_ref()?;
        Some(format!("{}, for {access}", root.display()))
    }

    /// Checks that the folder belongs to one client, unless the file states that several clients may share it.
    pub(crate) fn check(&self, clients: usize, mistakes: &mut Mistakes) {
        if self.root.is_some() && clients > 1 && !self.shared {
            mistakes.add(
                &["workspace", "root"],
                format_args!(
                    "{clients} clients would read and write the same files; serve one client, or set `shared = true` in [workspace]"
                ),
            );
        }
    }
}
