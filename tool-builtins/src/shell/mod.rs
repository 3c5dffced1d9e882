//! `Bash`, `BashOutput` and `KillShell`: a model runs commands. On Linux only.
//!
//! A command runs in its own process group, with an environment that has no keys, without standard input, and with its
//! output in a file. [`Confinement`] restricts its writes, signals and network. The processes of a command end with its call, its
//! time limit or its session, and with the [`Shell`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tool_builtins::shell::{self, Shell, ShellOptions};
//! use tool_runtime::{ToolRegistry, serde_json::json};
//!
//! # let folder = std::env::temp_dir().join(format!("tool-shell-docs-{}", std::process::id()));
//! # std::fs::create_dir_all(folder.join("checkout"))?;
//! # let (checkout, output) = (folder.join("checkout"), folder.join("output"));
//! let options = ShellOptions::new(checkout, output).writable(true);
//! # let options = options.allow_root(true);
//! let shell = Shell::new(&options)?;
//! let tools = shell::tools(&shell);
//! let registry = ToolRegistry::new().with_state(shell.clone()).with_tools(tools)?;
//!
//! let result = registry.execute_tool("toolu_01", "Bash", json!({ "command": "echo hello; exit 3" })).await;
//! assert_eq!(result.text(), Some("exit code 3\nhello"));
//! # drop((registry, shell));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```

// Dependencies first: a module uses only modules declared before it.
mod options;
mod random_name;
mod environment;
mod processes;
mod confinement;
mod terminal_text;
mod output_file;
mod output_folder;
mod command;
mod session;
mod background_limit;
mod state;
mod run;
mod follow;
mod kill;

use tool_runtime::{IntoTools, Tool as _};

pub use confinement::Confinement;
pub use follow::bash_output;
pub use kill::kill_shell;
pub use options::{Sandbox, ShellOptions};
pub use run::{WorkingFolder, bash};
pub use state::{Shell, ShellError, forbid_dumps};

/// Returns the tools. The description of `Bash` has the restrictions that the shell enforces.
pub fn tools(shell: &Shell) -> impl IntoTools + use<> {
    let mut bash = bash::declare();
    let mut description = bash.description().to_owned();
    if !shell.is_bash() {
        description.push_str(" The shell is sh, since bash is not installed.");
    }
    description.push(' ');
    description.push_str(shell.confinement().describe());
    bash = bash.with_description(description);
    vec![bash, bash_output::declare(), kill_shell::declare()]
}
