//! Tool `KillShell`: ends a background command.

use tool_runtime::{Context, State, ToolError, tool};

use super::command::StopReason;
use super::follow::describe;
use super::state::Shell;

/// End a background command and its processes.
#[tool(name = "KillShell", destructive, idempotent)]
pub async fn kill_shell(
    /// Id of the command, such as "bash_1".
    shell_id: String,
    shell: State<Shell>,
    context: Context,
) -> Result<String, ToolError> {
    let background = shell.background(context.session(), &shell_id)?;
    let command = &background.command;
    if command.is_gone() {
        return Ok(format!(
            "{shell_id} has ended before: {}",
            describe(&command.state())
        ));
    }
    command.stop(StopReason::Killed);
    command.gone().await;
    Ok(format!("{shell_id}: {}", describe(&command.state())))
}
