//! [`Command`]: a command with its processes, from the start to the end of the last one.
//!
//! Two threads belong to a command. One confines itself, starts the shell, which inherits the confinement, and waits for its
//! end. The other one watches time and output, and ends the processes. Both are independent of tokio, so that no command
//! outlives a runtime that was shut down.
//!
//! The shell is waited for without being reaped. Its number, which is also the number of its process group, thus remains
//! taken until all processes have ended, and a signal to the group reaches no other process.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::watch;

use super::confinement::Confinement;
use super::environment::Environment;
use super::output_file::{Excerpt, MAX_BYTES, OutputFile, Until, create_private_folder};
use super::processes::{Filter, Process};

/// Time between SIGTERM and SIGKILL.
const GRACE_PERIOD: Duration = Duration::from_secs(2);
/// Maximum time of background commands, and of the processes that other commands leave.
pub(super) const BACKGROUND_TIME: Duration = Duration::from_secs(30 * 60);
/// Interval in which the size of the output is checked.
const CHECK: Duration = Duration::from_millis(20);
/// Size up to which an output is read with the end of its command.
const SHORT_OUTPUT: u64 = 32 << 10;
/// Interval in which remaining processes are searched.
const SEARCH: Duration = Duration::from_millis(500);

/// Script of the shell. The command is an argument, so that its text is never part of a script. At the end, the script writes
/// the folder to the file in the second argument. The exit code is the command's.
///
/// The blank keeps `eval` from reading a command that begins with `-` as an option; not every `sh` has `eval --`.
///
/// The script has one line, so that the numbers of lines in error messages are the command's.
const SCRIPT: &str = concat!(
    "__shell_command=$1 __shell_folder=$2; shift 2; ",
    r#"trap 'pwd -P >"$__shell_folder" 2>/dev/null' EXIT; eval " $__shell_command""#,
);

/// Settings of all commands of a shell.
#[derive(Debug)]
pub(super) struct Launcher {
    /// Path of `bash` or `sh`.
    pub(super) program: PathBuf,
    pub(super) environment: Environment,
    pub(super) confinement: Confinement,
}

/// Input of a command.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) command: String,
    /// Folder in which the command starts.
    pub(super) folder: PathBuf,
    /// Folder for temporary files of the session.
    pub(super) scratch: PathBuf,
    pub(super) output: PathBuf,
    /// Value of the variable that marks the processes.
    pub(super) mark: String,
    pub(super) time_limit: Duration,
    pub(super) is_background: bool,
}

/// A running or ended command.
#[derive(Debug, Clone)]
pub(super) struct Command {
    state: watch::Receiver<CommandState>,
    events: Sender<Event>,
    output: Arc<OnceLock<OutputFile>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum CommandState {
    Starting,
    Running,
    /// The shell was not started, for this reason.
    Failed(String),
    Ended(Ended),
}

/// End of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    pub(super) end: End,
    /// Folder at the end, if the shell has written it.
    pub(super) folder: Option<PathBuf>,
    /// Processes that continue after the end of the shell.
    pub(super) remaining: Vec<Process>,
    /// The complete output, whose file was removed. Longer outputs, and outputs of background commands, are only in their files.
    pub(super) output: Option<Excerpt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Exited(i32),
    Signaled(i32),
    Stopped(StopReason),
}

/// Reason to end a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    TimedOut(Duration),
    TooMuchOutput,
    Cancelled,
    Killed,
    /// The session, or the process of the host, ends.
    SessionEnded,
}

#[derive(Debug)]
enum Event {
    ShellEnded(End),
    Stop(StopReason),
    /// Skips the grace period.
    StopNow,
}

impl Command {
    /// Starts a command.
    pub(super) fn start(launcher: Arc<Launcher>, launch: Launch) -> io::Result<Self> {
        let (events, received) = channel();
        let (sender, state) = watch::channel(CommandState::Starting);
        let output = Arc::new(OnceLock::new());
        let (files, waiter_events) = (Arc::clone(&output), events.clone());
        thread::Builder::new().name("shell".to_owned()).spawn(move || {
            let started = ShellProcess::start(&launcher, &launch, &files, waiter_events);
            match started {
                Ok(shell) => {
                    sender.send_replace(CommandState::Running);
                    let watcher = Watcher {
                        shell,
                        launch,
                        events: received,
                        state: sender,
                        output: files,
                    };
                    watcher.run();
                }
                Err(error) => _ = sender.send_replace(CommandState::Failed(error.to_string())),
            }
        })?;
        Ok(Self {
            state,
            events,
            output,
        })
    }

    pub(super) fn state(&self) -> CommandState {
        self.state.borrow().clone()
    }

    /// Returns whether another handle is for this command.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.output, &other.output)
    }

    /// Returns whether no process of the command is left.
    pub(super) fn is_gone(&self) -> bool {
        match &*self.state.borrow() {
            CommandState::Starting | CommandState::Running => false,
            CommandState::Failed(_) => true,
            CommandState::Ended(ended) => ended.remaining.is_empty(),
        }
    }

    /// Waits until the shell has started.
    pub(super) async fn started(&self) -> CommandState {
        self.until(|state| !matches!(state, CommandState::Starting)).await
    }

    /// Waits until the shell has ended.
    pub(super) async fn ended(&self) -> CommandState {
        self.until(|state| matches!(state, CommandState::Failed(_) | CommandState::Ended(_)))
            .await
    }

    /// Waits until no process of the command is left.
    pub(super) async fn gone(&self) {
        self.until(|state| match state {
            CommandState::Failed(_) => true,
            CommandState::Ended(ended) => ended.remaining.is_empty(),
            _ => false,
        })
        .await;
    }

    async fn until(&self, condition: impl Fn(&CommandState) -> bool) -> CommandState {
        let mut state = self.state.clone();
        let waited = state.wait_for(|state| condition(state)).await;
        // The channel closes after the last state.
        waited.map_or_else(|_| self.state(), |state| state.clone())
    }

    /// Ends all processes of the command, with SIGTERM and then SIGKILL.
    pub(super) fn stop(&self, reason: StopReason) {
        // Without a receiver, no process is left.
        let _ = self.events.send(Event::Stop(reason));
    }

    /// Ends all processes of the command with SIGKILL.
    pub(super) fn stop_now(&self) {
        self.stop(StopReason::SessionEnded);
        let _ = self.events.send(Event::StopNow);
    }

    /// Returns the output; `None` if the file was not created.
    pub(super) fn output(&self) -> Option<&OutputFile> {
        self.output.get()
    }
}

/// Process of the shell.
#[derive(Debug)]
struct ShellProcess {
    child: Child,
    id: Pid,
    started: Instant,
    filter: Filter,
}

impl ShellProcess {
    fn start(
        launcher: &Arc<Launcher>,
        launch: &Launch,
        output: &OnceLock<OutputFile>,
        events: Sender<Event>,
    ) -> io::Result<Self> {
        create_private_folder(&launch.scratch)?;
        let file = OutputFile::create(launch.output.clone())?;
        let (stdout, stderr) = (file.appender()?, file.appender()?);
        let output = output.get_or_init(|| file);
        let mut command = process::Command::new(&launcher.program);
        command
            .args(bash_arguments(&launcher.program))
            .args(["-c", SCRIPT, "bash", &launch.command])
            .arg(launch.folder_file())
            .current_dir(&launch.folder)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0);
        launcher
            .environment
            .apply(&mut command, &launch.scratch, &launch.mark);
        let confined = launcher.confinement.prepare(&launch.scratch, output.path())?;
        let started = Instant::now();
        let (sender, receiver) = channel();
        thread::Builder::new()
            .name("shell-waiter".to_owned())
            .spawn(move || {
                let spawned = confined.apply().and_then(|()| command.spawn());
                let id = spawned.as_ref().ok().and_then(pid);
                // The files of the command are closed here, so that only its processes have them.
                drop(command);
                let _ = sender.send(spawned);
                if let Some(id) = id {
                    // Without a receiver, the process was already reaped.
                    let _ = events.send(Event::ShellEnded(wait_for(id)));
                }
            })?;
        let child = receiver.recv().map_err(io::Error::other)??;
        let id = pid(&child).ok_or(io::ErrorKind::InvalidData)?;
        let filter = Filter::OfCommand {
            shell: id,
            mark: launch.mark.clone(),
        };
        Ok(Self {
            child,
            id,
            started,
            filter,
        })
    }

    /// Sends a signal to the group. All its processes may have ended.
    fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.id, signal);
    }

    /// Returns the processes that continue after the end of the shell.
    fn remaining(&self) -> Vec<Process> {
        if self.filter.may_match(self.started.elapsed()) {
            self.filter.find()
        } else {
            Vec::new()
        }
    }
}

impl Launch {
    /// Path of the file to which the shell writes its folder.
    fn folder_file(&self) -> PathBuf {
        let name = self.output.file_name().unwrap_or_default();
        self.scratch.join(format!(".folder-{}", name.display()))
    }

    /// Reads the file with the folder of the shell, and removes it. A command can replace the file.
    fn take_folder(&self) -> Option<PathBuf> {
        let path = self.folder_file();
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = fs::OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&path);
        let _ = fs::remove_file(&path);
        let file = file.ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut text = String::new();
        file.take(1 << 16).read_to_string(&mut text).ok()?;
        let folder = text.strip_suffix('\n')?;
        (!folder.is_empty()).then(|| folder.into())
    }
}

/// Returns arguments with which `bash` reads no files of the user.
fn bash_arguments(program: &Path) -> &'static [&'static str] {
    if program.ends_with("bash") {
        &["--noprofile", "--norc"]
    } else {
        &[]
    }
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(child.id().try_into().ok()?)
}

/// Waits for the end of a process, without reaping it.
fn wait_for(id: Pid) -> End {
    loop {
        match waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => {
                return match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => End::Exited(code),
                    (_, signal) => End::Signaled(signal.unwrap_or_default()),
                };
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            // The host ignores SIGCHLD, so that the system has reaped the process.
            Err(_) => return End::Exited(-1),
        }
    }
}

/// Watches a command, and publishes its states.
struct Watcher {
    shell: ShellProcess,
    launch: Launch,
    events: Receiver<Event>,
    state: watch::Sender<CommandState>,
    output: Arc<OnceLock<OutputFile>>,
}

impl Watcher {
    fn run(mut self) {
        let (end, mut has_shell_ended) = self.watch();
        if let End::Stopped(reason) = end {
            has_shell_ended = self.end_processes(has_shell_ended, reason);
        }
        let mut ended = Ended {
            end,
            folder: self.launch.take_folder(),
            remaining: if has_shell_ended {
                self.shell.remaining()
            } else {
                Vec::new()
            },
            output: None,
        };
        // The model can read the output of remaining processes later.
        let is_read_later = !ended.remaining.is_empty();
        if is_read_later {
            self.state.send_replace(CommandState::Ended(ended.clone()));
            if let Some(reason) = self.watch_remaining() {
                ended.end = End::Stopped(reason);
            }
            ended.remaining.clear();
        }
        if let Some(output) = self.output.get() {
            output.cut();
        }
        if !has_shell_ended {
            // The system cannot kill the process now, for example because of a network disk that hangs.
            self.state.send_replace(CommandState::Ended(ended.clone()));
            while !matches!(self.events.recv(), Ok(Event::ShellEnded(_)) | Err(_)) {}
        }
        // The group has no other process, so that its number may be free now.
        let _ = self.shell.child.wait();
        if !is_read_later {
            ended.output = self.take_short_output();
        }
        self.state.send_replace(CommandState::Ended(ended));
    }

    /// Returns the output of a command of a call, and removes its file, if an answer has all of the output. The call would otherwise wait
    /// for a thread that reads the file.
    fn take_short_output(&self) -> Option<Excerpt> {
        let output = self.output.get().filter(|_| !self.launch.is_background)?;
        if output.length() > SHORT_OUTPUT {
            return None;
        }
        let excerpt = output.excerpt(0, Until::End).ok()?;
        excerpt.is_complete.then(|| {
            output.remove();
            excerpt
        })
    }

    /// Waits until the shell ends, or must end. Returns whether the shell has ended.
    fn watch(&self) -> (End, bool) {
        let time_limit = self.launch.time_limit;
        loop {
            let time_left = time_limit.saturating_sub(self.shell.started.elapsed());
            let event = self.events.recv_timeout(CHECK.min(time_left));
            if self.has_too_much_output() {
                let has_ended = matches!(event, Ok(Event::ShellEnded(_)));
                return (End::Stopped(StopReason::TooMuchOutput), has_ended);
            }
            match event {
                Ok(Event::ShellEnded(end)) => return (end, true),
                Ok(Event::Stop(reason)) => return (End::Stopped(reason), false),
                Ok(Event::StopNow) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return (End::Stopped(StopReason::Cancelled), false),
            }
            if self.shell.started.elapsed() >= time_limit {
                return (End::Stopped(StopReason::TimedOut(time_limit)), false);
            }
        }
    }

    fn has_too_much_output(&self) -> bool {
        self.output
            .get()
            .is_some_and(|output| output.length() > MAX_BYTES)
    }

    /// Watches the processes that continue after the end of the shell, until the last one has ended. Returns the reason if they
    /// were ended.
    fn watch_remaining(&self) -> Option<StopReason> {
        let mut searched = Instant::now();
        let reason = loop {
            match self.events.recv_timeout(CHECK) {
                Ok(Event::Stop(reason)) => break reason,
                _ if self.has_too_much_output() => break StopReason::TooMuchOutput,
                _ if self.shell.started.elapsed() >= BACKGROUND_TIME => {
                    break StopReason::TimedOut(BACKGROUND_TIME);
                }
                _ if searched.elapsed() >= SEARCH => {
                    if self.shell.filter.find().is_empty() {
                        return None;
                    }
                    searched = Instant::now();
                }
                _ => {}
            }
        };
        self.end_processes(true, reason);
        Some(reason)
    }

    /// Ends all processes. Returns whether the shell has ended. A command with too much output has no grace period, in which it could
    /// write gigabytes.
    fn end_processes(&self, mut has_shell_ended: bool, reason: StopReason) -> bool {
        self.shell.signal_group(Signal::TERM);
        self.shell.filter.outside_of_group().signal(Signal::TERM);
        let grace_period = match reason {
            StopReason::TooMuchOutput => Duration::ZERO,
            _ => GRACE_PERIOD,
        };
        let end = Instant::now() + grace_period;
        let mut step = Duration::from_millis(1);
        while let Some(time_left) = end.checked_duration_since(Instant::now()) {
            match self.events.recv_timeout(step.min(time_left)) {
                Ok(Event::ShellEnded(_)) => has_shell_ended = true,
                Ok(Event::StopNow) => break,
                _ => step = (step * 2).min(Duration::from_millis(50)),
            }
            if has_shell_ended && self.shell.filter.find().is_empty() {
                return true;
            }
        }
        self.shell.signal_group(Signal::KILL);
        let end = Instant::now() + GRACE_PERIOD;
        self.shell.filter.kill_until(end);
        while !has_shell_ended {
            let time_left = end.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(time_left) {
                Ok(Event::ShellEnded(_)) => has_shell_ended = true,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        // A process may have been created after the search.
        self.shell.filter.kill_until(end);
        has_shell_ended
    }
}

impl End {
    /// Returns the line before the output; `None` after a success.
    pub(super) fn describe(self) -> Option<String> {
        (self != Self::Exited(0)).then(|| self.to_string())
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signaled(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "ended by signal {signal} ({name})"),
                None => write!(f, "ended by signal {signal}"),
            },
            Self::Stopped(StopReason::TimedOut(limit)) => {
                write!(
                    f,
                    "timed out: the command was ended after {} ms",
                    limit.as_millis()
                )
            }
            Self::Stopped(StopReason::TooMuchOutput) => {
                write!(
                    f,
                    "the command was ended, since its output exceeds {} MiB",
                    MAX_BYTES >> 20
                )
            }
            Self::Stopped(StopReason::Cancelled) => f.write_str("cancelled: the command was ended"),
            Self::Stopped(StopReason::Killed) => f.write_str("ended by KillShell"),
            Self::Stopped(StopReason::SessionEnded) => f.write_str("ended with its session"),
        }
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    let found = names.into_iter().find(|(named, _)| named.as_raw() == signal);
    found.map(|(_, name)| name)
}
