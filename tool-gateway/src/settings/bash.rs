//! [`BashSettings`]: whether the gateway runs commands, and their confinement.

use serde::Deserialize;

use super::values;

/// The section `tools.bash`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BashSettings {
    /// Whether the gateway has `Bash`, `BashOutput` and `KillShell`.
    pub(crate) enabled: bool,
    /// Whether commands may run as root.
    pub(crate) allow_root: bool,
    #[serde(deserialize_with = "values::name")]
    pub(crate) sandbox: SandboxName,
    /// Whether confined commands have a network.
    pub(crate) network: bool,
}

/// Names of the requirements on the confinement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxName {
    #[default]
    Auto,
    Required,
    Off,
}

pub(crate) use platform::Commands;

/// Commands on Linux.
#[cfg(target_os = "linux")]
mod platform {
    use std::env;
    use std::fmt;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use tool_builtins::shell::{self, Sandbox, Shell, ShellError, ShellOptions};
    use tool_runtime::{RegistryError, ToolRegistry};

    use super::super::mistakes::Mistakes;
    use super::{BashSettings, SandboxName};
    use crate::session::principal::Principal;

    /// Maximum number of gateways of one user that run commands in one workspace.
    const MAX_FOLDERS: usize = 16;

    /// Commands of the gateway.
    #[derive(Debug, Clone)]
    pub(crate) struct Commands {
        shell: Shell,
    }

    impl BashSettings {
        /// Prepares commands in the folder of the workspace. Returns `None` if the gateway runs no commands, and after a mistake.
        pub(crate) fn open(
            &self,
            root: Option<&Path>,
            write: bool,
            mistakes: &mut Mistakes,
        ) -> Option<Commands> {
            if !self.enabled {
                return None;
            }
            let key = ["tools", "bash", "enabled"];
            let Some(root) = root else {
                mistakes.add(&key, "there is no folder to run commands in; set `root` in [workspace], or use --workspace DIR");
                return None;
            };
            match self.shell(root, write) {
                Ok(shell) => Some(Commands { shell }),
                Err(error) => {
                    let key = match error {
                        ShellError::Root => "allow_root",
                        ShellError::NotConfined(_) => "sandbox",
                        _ => "enabled",
                    };
                    mistakes.add(&["tools", "bash", key], error);
                    None
                }
            }
        }

        fn shell(&self, root: &Path, write: bool) -> Result<Shell, ShellError> {
            let sandbox = match self.sandbox {
                SandboxName::Auto => Sandbox::Auto,
                SandboxName::Required => Sandbox::Required,
                SandboxName::Off => Sandbox::Off,
            };
            let mut number = 1;
            loop {
                let options = ShellOptions::new(root, output_folder(root, number))
                    .writable(write)
                    .sandbox(sandbox)
                    .network(self.network)
                    .allow_root(self.allow_root)
                    .client(|context| Some(context.extension::<Principal>()?.as_str().into()));
                match Shell::new(&options) {
                    // Another gateway uses the folder. Any other error has a reason that the user must know.
                    Err(ShellError::OutputFolder { error, .. })
                        if error.kind() == io::ErrorKind::ResourceBusy && number < MAX_FOLDERS =>
                    {
                        number += 1;
                    }
                    result => return result,
                }
            }
        }
    }

    /// Returns the folder for the outputs of commands in a workspace. A restart finds the folder again, and ends the commands that the
    /// earlier process has left.
    fn output_folder(root: &Path, number: usize) -> PathBuf {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let digest = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        let digest = digest.get(..16).unwrap_or_default();
        env::temp_dir().join(format!("tool-gateway-{digest}-{number}"))
    }

    impl Commands {
        /// Adds the tools to a registry.
        pub(crate) fn install(&self, registry: ToolRegistry) -> Result<ToolRegistry, RegistryError> {
            registry
                .with_state(self.shell.clone())
                .with_tools(shell::tools(&self.shell))
        }

        /// Returns the folder with the outputs, which `Read` and `Grep` may open.
        pub(crate) fn output_dir(&self) -> &Path {
            self.shell.output_dir()
        }

        /// Returns the ids of the sessions with commands.
        pub(crate) fn sessions(&self) -> Vec<String> {
            self.shell.sessions()
        }

        /// Returns the ids of the sessions that have no processes, and had no call for a time.
        pub(crate) fn idle_sessions(&self, time: Duration) -> Vec<String> {
            self.shell.idle_sessions(time)
        }

        pub(crate) async fn end_session(&self, id: &str) {
            self.shell.end_session(Some(id)).await;
        }

        /// Ends all commands. Blocks for some seconds at most.
        pub(crate) fn end(&self) {
            self.shell.end();
        }

        /// Keeps commands from reading the keys of this process.
        pub(crate) fn protect_process(&self) {
            if let Err(error) = shell::forbid_dumps() {
                tracing::warn!(%error, "commands may read the memory of the gateway");
            }
            let confinement = self.shell.confinement();
            if !(confinement.confines_writes() && confinement.confines_signals()) {
                tracing::warn!(%confinement, "commands are not confined completely");
            }
        }
    }

    impl fmt::Display for Commands {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.shell.confinement().fmt(f)
        }
    }
}

/// Other systems, on which the gateway runs no commands.
#[cfg(not(target_os = "linux"))]
mod platform {
    use std::convert::Infallible;
    use std::fmt;
    use std::path::Path;
    use std::time::Duration;

    use tool_runtime::{RegistryError, ToolRegistry};

    use super::super::mistakes::Mistakes;
    use super::BashSettings;

    /// Commands of the gateway. There are none on this system.
    #[derive(Debug, Clone)]
    pub(crate) struct Commands(Infallible);

    impl BashSettings {
        pub(crate) fn open(
            &self,
            _root: Option<&Path>,
            _write: bool,
            mistakes: &mut Mistakes,
        ) -> Option<Commands> {
            if self.enabled {
                mistakes.add(&["tools", "bash", "enabled"], "commands run on Linux only");
            }
            None
        }
    }

    impl Commands {
        pub(crate) fn install(&self, _registry: ToolRegistry) -> Result<ToolRegistry, RegistryError> {
            match self.0 {}
        }

        pub(crate) fn output_dir(&self) -> &Path {
            match self.0 {}
        }

        pub(crate) fn sessions(&self) -> Vec<String> {
            match self.0 {}
        }

        pub(crate) fn idle_sessions(&self, _time: Duration) -> Vec<String> {
            match self.0 {}
        }

        pub(crate) async fn end_session(&self, _id: &str) {
            match self.0 {}
        }

        pub(crate) fn end(&self) {
            match self.0 {}
        }

        pub(crate) fn protect_process(&self) {
            match self.0 {}
        }
    }

    impl fmt::Display for Commands {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.0 {}
        }
    }
}
