//! [`Shell`]: runs the commands of all sessions.

use std::collections::HashMap;
use std::env;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{DumpableBehavior, geteuid, set_dumpable_behavior};
use tool_runtime::{Context, ToolError};

use super::background_limit::BackgroundLimit;
use super::command::{Command, Launch, Launcher, StopReason};
use super::confinement::Confinement;
use super::environment::Environment;
use super::options::ShellOptions;
use super::output_folder::OutputFolder;
use super::session::{BackgroundCommand, SessionFolder, ShellSession};

/// Time in which the commands of a shell that is dropped end.
const END_TIME: Duration = Duration::from_secs(6);
/// Number of sessions whose outputs are kept.
const MAX_SESSIONS: usize = 10_000;

/// Runs the commands of `Bash`, and ends them: the state of the tools, and a handle for the host. Clones share the commands.
///
/// The last clone ends all commands: the processes of their groups, and processes elsewhere that have the mark of a command in their
/// environment. A process that has neither is not found. A host that ends its process without dropping its registry calls [`end`](Self::end).
/// Commands that remain after a crash end when the output folder is opened again.
#[derive(Clone)]
pub struct Shell(Arc<Inner>);

struct Inner {
    launcher: Arc<Launcher>,
    /// Root of the workspace, without links.
    root: PathBuf,
    sessions: Mutex<Sessions>,
    output: OutputFolder,
    client: fn(&Context) -> Option<Box<str>>,
}

/// Sessions by their ids; `None` for calls without a session.
type Sessions = HashMap<Option<Box<str>>, ShellSession>;

/// The reason why commands cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShellError {
    /// The process belongs to root.
    #[error("commands would run as root; run the process as another user, or allow root")]
    Root,
    /// The system cannot enforce the restrictions that [`Sandbox::Required`](super::Sandbox::Required) needs.
    #[error("{0}")]
    NotConfined(String),
    /// There is neither `bash` nor `sh` in `PATH`.
    #[error("missing program `bash`; install it, or add its folder to PATH")]
    NoShell,
    /// The root is not a folder.
    #[error("{path}: {error}; expected the folder of the workspace")]
    RootFolder {
        /// Path of the root.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The folder for outputs cannot be used.
    #[error("{path}: {error}")]
    OutputFolder {
        /// Path of the folder.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

/// Session and client of a call.
#[derive(Debug)]
pub(super) struct Caller<'c> {
    pub(super) session: Option<&'c str>,
    client: Option<Box<str>>,
}

/// A command of a call.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) command: String,
    pub(super) folder: PathBuf,
    pub(super) time_limit: Duration,
}

impl Shell {
    /// Opens the output folder, ends commands that an earlier process has left with it, and finds the restrictions that the
    /// system supports.
    ///
    /// # Errors
    ///
    /// If the process belongs to root and root is not allowed, if a folder cannot be used, if another process uses the output
    /// folder, if the system has no shell, or if it cannot enforce the required restrictions.
    pub fn new(options: &ShellOptions) -> Result<Self, ShellError> {
        if geteuid().is_root() && !options.allow_root {
            return Err(ShellError::Root);
        }
        let root = options.root.canonicalize().and_then(|root| {
            let is_folder = root.metadata()?.is_dir();
            is_folder
                .then_some(root)
                .ok_or(io::ErrorKind::NotADirectory.into())
        });
        let root = root.map_err(|error| ShellError::RootFolder {
            path: options.root.clone(),
            error,
        })?;
        let program = program().ok_or(ShellError::NoShell)?;
        let confinement =
            Confinement::new(options, &root).map_err(|error| ShellError::NotConfined(error.to_string()))?;
        let output = OutputFolder::open(&options.output_dir).map_err(|error| ShellError::OutputFolder {
            path: options.output_dir.clone(),
            error,
        })?;
        Ok(Self(Arc::new(Inner {
            launcher: Arc::new(Launcher {
                program,
                environment: Environment::new(env::vars_os(), &options.variables),
                confinement,
            }),
            root,
            sessions: Mutex::default(),
            output,
            client: options.client,
        })))
    }

    /// Returns the restrictions that are enforced for each command.
    pub fn confinement(&self) -> &Confinement {
        &self.0.launcher.confinement
    }

    /// Returns the folder in which commands start.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Returns the folder with the outputs. An answer names the file if the answer has only a part of the output.
    pub fn output_dir(&self) -> &Path {
        self.0.output.path()
    }

    /// Returns whether the shell is `bash`. Otherwise it is `sh`.
    pub fn is_bash(&self) -> bool {
        self.0.launcher.program.ends_with("bash")
    }

    /// Returns the ids of the sessions that have run commands.
    pub fn sessions(&self) -> Vec<String> {
        let sessions = self.sessions_guard();
        sessions
            .keys()
            .filter_map(|id| id.as_deref().map(str::to_owned))
            .collect()
    }

    /// Returns the ids of the sessions that have no processes, and had no call for a time.
    pub fn idle_sessions(&self, time: Duration) -> Vec<String> {
        let sessions = self.sessions_guard();
        sessions
            .iter()
            .filter(|(_, session)| session.is_idle() && session.last_used.elapsed() >= time)
            .filter_map(|(id, _)| id.as_deref().map(str::to_owned))
            .collect()
    }

    /// Ends the commands of a session, and removes its output. `None` is the session of calls without a session.
    pub async fn end_session(&self, session: Option<&str>) {
        let removed = self.sessions_guard().remove(&session.map(Into::into));
        let Some(removed) = removed else {
            return;
        };
        removed
            .commands()
            .for_each(|command| command.stop(StopReason::SessionEnded));
        for command in removed.commands() {
            command.gone().await;
        }
        let folder = SessionFolder::new(self.output_dir(), &removed.key);
        // An error is the end of the runtime. The files are then removed after a day.
        let _ = blocking(move || folder.remove()).await;
    }

    /// Ends all commands, first with SIGTERM and after two seconds with SIGKILL. Blocks until they have ended.
    pub fn end(&self) {
        self.0.end(|command| command.stop(StopReason::SessionEnded));
    }

    /// Returns the session and the client of a call.
    pub(super) fn caller<'c>(&self, context: &'c Context) -> Caller<'c> {
        Caller {
            session: context.session(),
            client: (self.0.client)(context),
        }
    }

    /// Starts a command. Returns the id of a background command, too.
    pub(super) fn start(
        &self,
        caller: &Caller<'_>,
        start: Start,
        is_background: bool,
    ) -> Result<(Command, Option<String>), ToolError> {
        let mut sessions = self.sessions_guard();
        if is_background {
            caller.check_limits(&sessions)?;
        }
        let session = self.session(&mut sessions, caller.session)?;
        let number = session.next_number();
        let folder = SessionFolder::new(self.output_dir(), &session.key);
        let launch = Launch {
            command: start.command,
            folder: start.folder,
            scratch: folder.scratch(),
            output: folder.output(number),
            mark: self.0.output.mark(&session.key, number),
            time_limit: start.time_limit,
            is_background,
        };
        let command = Command::start(Arc::clone(&self.0.launcher), launch).map_err(not_started)?;
        // In the session at once, so that calls at the same time count the command.
        let id = if is_background {
            Some(session.add_background(command.clone(), caller.client.clone(), 0))
        } else {
            session.add(command.clone());
            None
        };
        Ok((command, id))
    }

    /// Makes the command of a call a background command, whose output from `position` on is new to the model. Returns its id, or the limit
    /// that is reached.
    pub(super) fn keep_running(
        &self,
        caller: &Caller<'_>,
        command: &Command,
        position: u64,
    ) -> Result<Result<String, BackgroundLimit>, ToolError> {
        let mut sessions = self.sessions_guard();
        if let Err(limit) = caller.check_limits(&sessions) {
            return Ok(Err(limit));
        }
        let session = self.session(&mut sessions, caller.session)?;
        Ok(Ok(session.add_background(
            command.clone(),
            caller.client.clone(),
            position,
        )))
    }

    /// Returns the background command with an id.
    pub(super) fn background(&self, session: Option<&str>, id: &str) -> Result<BackgroundCommand, ToolError> {
        let mut sessions = self.sessions_guard();
        let session = sessions.get_mut(&session.map(Into::into));
        let session = session.map(|session| {
            session.last_used = Instant::now();
            &*session
        });
        let known = session.map_or(&[][..], ShellSession::background);
        known
            .iter()
            .find(|background| background.id == id)
            .cloned()
            .ok_or_else(|| {
                let ids: Vec<_> = known.iter().map(|background| background.id.as_str()).collect();
                let excerpt: String = id.chars().take(32).collect();
                let expected = if ids.is_empty() {
                    "this session has no background commands".to_owned()
                } else {
                    format!("expected one of {}", ids.join(", "))
                };
                ToolError::new("not_found", format_args!("unknown id {excerpt:?}; {expected}"))
            })
    }

    /// Calls a function with a session, which is created if it is new.
    pub(super) fn with_session<T>(
        &self,
        session: Option<&str>,
        work: impl FnOnce(&mut ShellSession) -> T,
    ) -> Result<T, ToolError> {
        Ok(work(self.session(&mut self.sessions_guard(), session)?))
    }

    /// Returns a session, which is created if it is new.
    fn session<'s>(
        &self,
        sessions: &'s mut Sessions,
        session: Option<&str>,
    ) -> Result<&'s mut ShellSession, ToolError> {
        let id = session.map(Into::into);
        if !sessions.contains_key(&id) {
            let new = ShellSession::new().map_err(not_started)?;
            if sessions.len() >= MAX_SESSIONS {
                let idle = sessions.iter().find(|(_, session)| session.is_idle());
                let idle = idle.map(|(id, _)| id.clone());
                if let Some(removed) = idle.and_then(|id| sessions.remove(&id)) {
                    SessionFolder::new(self.output_dir(), &removed.key).remove();
                }
            }
            sessions.insert(id.clone(), new);
        }
        let session = sessions
            .get_mut(&id)
            .ok_or_else(|| not_started(io::ErrorKind::NotFound.into()))?;
        session.last_used = Instant::now();
        Ok(session)
    }

    fn sessions_guard(&self) -> MutexGuard<'_, Sessions> {
        self.0.sessions_guard()
    }
}

impl Caller<'_> {
    /// Returns the limit that a further background command would exceed as an error.
    fn check_limits(&self, sessions: &Sessions) -> Result<(), BackgroundLimit> {
        let session = sessions.get(&self.session.map(Into::into));
        let reached = BackgroundLimit::reached(sessions.values(), session, self.client.as_deref());
        reached.map_or(Ok(()), Err)
    }
}

impl fmt::Debug for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shell")
            .field("root", &self.0.root)
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn sessions_guard(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all commands, and removes the output of their sessions.
    fn end(&self, stop: impl Fn(&Command)) {
        let sessions = std::mem::take(&mut *self.sessions_guard());
        let commands = || sessions.values().flat_map(ShellSession::commands);
        commands().for_each(stop);
        let end = Instant::now() + END_TIME;
        while !commands().all(Command::is_gone) && Instant::now() < end {
            sleep(Duration::from_millis(2));
        }
        for session in sessions.values().filter(|session| session.is_idle()) {
            SessionFolder::new(self.output.path(), &session.key).remove();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end(Command::stop_now);
    }
}

/// Keeps other processes of the user from reading the memory and the environment of this process, which may have keys:
/// commands, and debuggers. The process writes no core dumps, either.
///
/// # Errors
///
/// Returns the error of the system.
pub fn forbid_dumps() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Into::into)
}

/// Runs work on a thread for blocking functions.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let runtime = tokio::runtime::Handle::try_current();
    let runtime = runtime.map_err(|error| not_started(io::Error::other(error)))?;
    let done = runtime.spawn_blocking(work).await;
    done.map_err(|error| not_started(io::Error::other(error)))
}

#[allow(clippy::needless_pass_by_value, reason = "`map_err` passes a value")]
pub(super) fn not_started(error: io::Error) -> ToolError {
    ToolError::new("io", format_args!("the command cannot be run: {error}"))
}

/// Finds `bash`, or else `sh`, in `PATH`.
fn program() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let found = |name: &str| {
        env::split_paths(&path)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    };
    found("bash").or_else(|| found("sh"))
}
