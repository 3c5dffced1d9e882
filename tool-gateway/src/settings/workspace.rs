//! [`WorkspaceSettings`]: the folder whose files the gateway's tools read and write.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use tool_builtins::workspace::{InvalidWorkspace, WorkspaceOptions};
use tool_builtins::{files, search};
use tool_runtime::{RegistryError, ToolRegistry};

use super::bash::Commands;
use super::client_keys::ClientKey;
use super::mistakes::Mistakes;
use crate::session::store::Reach;

/// Globs of paths that no tool may use: files that usually contain keys. Samples of settings, and sources such as `id_map.rs`, are exceptions.
const DENIED: [&str; 5] = [
    "**/.env*",
    "!**/.env.{example,sample,template}",
    "**/*.pem",
    "**/id_*",
    "!**/id_*.{c,cc,cpp,cs,css,dart,ex,exs,go,h,hpp,html,java,js,jsx,kt,lua,md,mjs,php,pl,py,rb,rs,scala,sh,sql,swift,ts,tsx,vue}",
];
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
    /// Whether several clients, or the gateways of a shared store, may use the folder.
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

    /// Checks that the folder belongs to one client and one gateway, unless the file states that several may use the folder.
    pub(crate) fn check(&self, keys: &[ClientKey], reach: Reach, mistakes: &mut Mistakes) {
        if self.root.is_none() || self.shared {
            return;
        }
        // A client may have several keys.
        let clients: HashSet<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        if clients.len() > 1 {
            mistakes.add(
                &["workspace", "root"],
                format_args!(
                    "{} clients would read and write the same files; serve one client, or set `shared = true` in [workspace]",
                    clients.len()
                ),
            );
        }
        if reach == Reach::Shared {
            mistakes.add(
                &["workspace", "root"],
                "several gateways use the store, and a session may move to a gateway with another folder; use another store, or, if all \
                 gateways have the same folder, set `shared = true` in [workspace]",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_belongs_to_one_client_and_one_gateway() {
        let key = |name: &str, key: &str| ClientKey::new(name.to_owned(), key);
        let one = [key("ada", "old"), key("ada", "new")];
        let two = [key("ada", "old"), key("bob", "new")];
        let mut settings = WorkspaceSettings {
            root: Some(".".into()),
            ..WorkspaceSettings::default()
        };
        let mistake = |settings: &WorkspaceSettings, keys: &[ClientKey], reach| {
            let mut mistakes = Mistakes::default();
            settings.check(keys, reach, &mut mistakes);
            mistakes.into_result().err().map(|mistakes| mistakes.to_string())
        };
        assert_eq!(mistake(&settings, &one, Reach::Machine), None);
        let error = mistake(&settings, &two, Reach::Process).unwrap();
        assert!(
            error.contains("2 clients would read and write the same files"),
            "{error}"
        );
        let error = mistake(&settings, &one, Reach::Shared).unwrap();
        assert!(error.contains("several gateways use the store"), "{error}");
        settings.shared = true;
        assert_eq!(mistake(&settings, &two, Reach::Shared), None);
        let without_folder = WorkspaceSettings::default();
        assert_eq!(mistake(&without_folder, &two, Reach::Shared), None);
    }
}
