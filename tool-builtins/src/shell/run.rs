//! Tool `Bash`: runs a command.

use std::future::{Future, poll_fn};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout as within;
use tool_runtime::{CancellationToken, Context, SessionState, State, ToolError, ToolOutput, tool};

use super::command::{BACKGROUND_TIME, Command, CommandState, End, Ended, StopReason};
use super::output_file::Until;
use super::processes::Process;
use super::session::ShellSession;
use super::state::{Caller, Shell, Start, blocking, not_started};

/// Maximum number of bytes of a command.
const MAX_COMMAND: usize = 64 << 10;
/// Time in which a cancelled call waits for the end of its command. A cancelled function is dropped soon after.
const CANCELLED_TIME: Duration = Duration::from_millis(10);

/// Run a command with bash and return its output, standard error included. The working directory persists between calls;
/// variables and functions do not. There is no terminal and no standard input, so avoid interactive commands. Of more than 30,000
/// characters of output, the middle is left out, and the answer names the file with the whole output.
#[tool(name = "Bash", destructive, open_world)]
#[allow(
    clippy::too_many_arguments,
    reason = "parameters of the tool, and values from the host"
)]
pub async fn bash(
    /// The command, of at most 64 KiB.
    #[arg(not_blank, length = ..=65_536)]
    command: String,
    /// Time limit in milliseconds, after which the command is ended. Has no effect on a background command.
    #[arg(default = 120_000u64, range = 1..=600_000)]
    timeout: u64,
    /// Purpose of the command, in 5 to 10 words.
    description: Option<String>,
    /// Whether to return at once, with an id for BashOutput and KillShell. The command may run for 30 minutes.
    #[arg(default = false)]
    run_in_background: bool,
    /// Has no effect: a command cannot change its restrictions.
    #[arg(name = "dangerouslyDisableSandbox")]
    disable_sandbox: Option<bool>,
    shell: State<Shell>,
    folder: SessionState<WorkingFolder>,
    context: Context,
) -> Result<ToolOutput, ToolError> {
    if command.len() > MAX_COMMAND || command.contains('\0') {
        let text = "expected at most 64 KiB without NUL; write a long script to a file, and run the file";
        return Err(ToolError::new("invalid_command", text));
    }
    let caller = shell.caller(&context);
    let session = caller.session;
    tracing::debug!(session, description, "a command starts");
    let mut notes = Vec::new();
    if disable_sandbox == Some(true) && shell.with_session(session, ShellSession::explains_sandbox)? {
        notes.push("`dangerouslyDisableSandbox` has no effect".to_owned());
    }
    let relative = folder.lock().relative.clone();
    let start_folder = StartFolder::find(&shell, relative).await?;
    if start_folder.is_reset {
        folder.lock().relative.clear();
        notes.push(format!(
            "the last working directory is gone; the command ran in {}",
            shell.root().display()
        ));
    }
    let start = Start {
        command,
        folder: start_folder.folder,
        time_limit: if run_in_background {
            BACKGROUND_TIME
        } else {
            Duration::from_millis(timeout)
        },
    };
    let (command, id) = shell.start(&caller, start, run_in_background)?;
    let mut running = StopOnDrop::new(command.clone());
    if let CommandState::Failed(error) = command.started().await {
        return Err(not_started(io::Error::other(error)));
    }
    if let Some(id) = id {
        running.is_armed = false;
        return Ok(started(&command, &id, &notes));
    }
    let token = context.cancellation();
    let mut state = ended_before(&token, command.ended()).await;
    if state.is_none() {
        command.stop(StopReason::Cancelled);
        state = within(CANCELLED_TIME, command.ended()).await.ok();
    }
    let ended = match state.unwrap_or_else(|| command.state()) {
        CommandState::Ended(ended) => ended,
        CommandState::Failed(error) => return Err(not_started(io::Error::other(error))),
        CommandState::Starting | CommandState::Running => Ended {
            end: End::Stopped(StopReason::Cancelled),
            folder: None,
            remaining: Vec::new(),
            output: None,
        },
    };
    if let Some(path) = &ended.folder {
        let (relative, note) = WorkingFolder::below(shell.root(), path);
        folder.lock().relative = relative;
        notes.extend(note);
    }
    answer(&shell, &caller, &mut running, &ended, notes).await
}

/// Folder in which the next command of a session starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingFolder {
    /// Path below the root; empty for the root.
    #[serde(default)]
    relative: String,
}

impl WorkingFolder {
    /// Returns the path below the root, and a note if the folder is elsewhere.
    fn below(root: &Path, folder: &Path) -> (String, Option<String>) {
        if let Ok(Some(relative)) = folder.strip_prefix(root).map(Path::to_str) {
            return (relative.to_owned(), None);
        }
        let note = format!(
            "{} is outside of the workspace; the next command starts in {}",
            folder.display(),
            root.display()
        );
        (String::new(), Some(note))
    }
}

/// Folder in which a command starts.
struct StartFolder {
    folder: PathBuf,
    /// Whether the folder of the session does not exist any more.
    is_reset: bool,
}

impl StartFolder {
    async fn find(shell: &Shell, relative: String) -> Result<Self, ToolError> {
        let root = shell.root().to_owned();
        if relative.is_empty() {
            return Ok(Self {
                folder: root,
                is_reset: false,
            });
        }
        blocking(move || {
            let found = root.join(relative).canonicalize();
            let found = found
                .ok()
                .filter(|folder| folder.starts_with(&root) && folder.is_dir());
            let is_reset = found.is_none();
            Self {
                folder: found.unwrap_or(root),
                is_reset,
            }
        })
        .await
    }
}

/// Waits for a future, or returns `None` if the call is cancelled first.
async fn ended_before<T>(token: &CancellationToken, future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut cancelled) = (pin!(future), pin!(token.cancelled()));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => cancelled.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// Ends a command whose call is dropped.
struct StopOnDrop {
    command: Command,
    is_armed: bool,
}

impl StopOnDrop {
    fn new(command: Command) -> Self {
        Self {
            command,
            is_armed: true,
        }
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if self.is_armed {
            self.command.stop(StopReason::Cancelled);
        }
    }
}

/// Returns the answer for a background command that has started.
fn started(command: &Command, id: &str, notes: &[String]) -> ToolOutput {
    let file = command.output().map(|output| output.path().display().to_string());
    let mut text = format!(
        "the command runs as {id}; its output is in {}\n[BashOutput reads new output, KillShell ends the command]",
        file.unwrap_or_default()
    );
    push_notes(&mut text, notes);
    ToolOutput::text(text)
}

/// Returns the answer for a command that has ended.
async fn answer(
    shell: &Shell,
    caller: &Caller<'_>,
    running: &mut StopOnDrop,
    ended: &Ended,
    mut notes: Vec<String>,
) -> Result<ToolOutput, ToolError> {
    let command = running.command.clone();
    let excerpt = if let Some(output) = &ended.output {
        shell.with_session(caller.session, |session| session.remove(&command))?;
        output.clone()
    } else {
        let read = command.clone();
        let excerpt = blocking(move || read.output().map(|output| output.excerpt(0, Until::End)));
        excerpt
            .await?
            .transpose()
            .map_err(not_started)?
            .unwrap_or_default()
    };
    if !ended.remaining.is_empty() {
        let remaining = continuing(&ended.remaining);
        notes.push(match shell.keep_running(caller, &command, excerpt.end)? {
            Ok(id) => {
                running.is_armed = false;
                format!(
                    "{remaining}; they are {id} for BashOutput and KillShell, and end with the session or after 30 minutes"
                )
            }
            Err(limit) => {
                command.stop(StopReason::Killed);
                format!("{remaining}; they are ended now, since {limit}")
            }
        });
    }
    let mut text = ended.end.describe().unwrap_or_default();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(if excerpt.text.is_empty() {
        "(no output)"
    } else {
        &excerpt.text
    });
    push_notes(&mut text, &notes);
    Ok(match ended.end {
        End::Exited(0) => ToolOutput::text(text),
        End::Stopped(StopReason::TimedOut(_)) => ToolOutput::timed_out(text),
        _ => ToolOutput::error(text),
    })
}

/// Describes the processes that a command has left: `2 processes continue (sleep, node)`.
pub(super) fn continuing(processes: &[Process]) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<_> = processes
        .iter()
        .take(SHOWN)
        .map(|process| process.name.as_str())
        .collect();
    if processes.len() > SHOWN {
        names.push("…");
    }
    let (count, names) = (processes.len(), names.join(", "));
    if count == 1 {
        format!("1 process continues ({names})")
    } else {
        format!("{count} processes continue ({names})")
    }
}

fn push_notes(text: &mut String, notes: &[String]) {
    for note in notes {
        text.push_str("\n[");
        text.push_str(note);
        text.push(']');
    }
}
