//! Process of a server: its environment, its group, and its end.

mod group;
mod stderr;

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::client::process::group::Group;
pub(crate) use crate::client::process::stderr::LastLines;
use crate::client::settings::CommandSettings;

/// Time after each step of a stop: after stdin is closed, and after SIGTERM.
const STEP: Duration = Duration::from_secs(2);

/// Variables that a server receives without configuration. All others may be secrets, which are none of its business.
const INHERITED: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR",
];

/// Running server.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Group,
}

/// Pipes of a server.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) last_lines: LastLines,
}

impl Process {
    /// Starts the server in a separate process group, without a shell. `name` is its name in the log.
    ///
    /// # Errors
    ///
    /// Returns an error if a variable of [`CommandSettings::inherited`] is not set, or the program cannot be started.
    pub(crate) fn spawn(name: &str, settings: &CommandSettings) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(&settings.program);
        command
            .args(&settings.arguments)
            .env_clear()
            .envs(variables(settings, std::env::vars_os())?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        if let Some(directory) = &settings.directory {
            command.current_dir(directory);
        }
        let mut child = command.spawn()?;
        let group = Group::new(child.id());
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(io::Error::other("missing pipe"));
        };
        let last_lines = LastLines::default();
        tokio::spawn(stderr::log(stderr, name.to_owned(), last_lines.clone()));
        let pipes = Pipes {
            stdin,
            stdout,
            last_lines,
        };
        Ok((Self { child, group }, pipes))
    }

    /// Waits until the process exits. Other processes of its group are then killed.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        self.group.kill();
        status
    }

    /// Stops the process, whose stdin is already closed: after 2 s with SIGTERM, after another 2 s with SIGKILL, each to its group.
    pub(crate) async fn stop(mut self) {
        if timeout(STEP, self.child.wait()).await.is_err() {
            self.group.terminate();
            if timeout(STEP, self.child.wait()).await.is_err() {
                self.group.kill();
                drop(self.child.wait().await);
            }
        }
        self.group.kill();
    }
}

/// Returns the environment of a server.
fn variables(
    settings: &CommandSettings,
    own: impl Iterator<Item = (OsString, OsString)>,
) -> io::Result<Vec<(OsString, OsString)>> {
    let mut variables: Vec<_> = own
        .filter(|(name, _)| is_inherited(name) || settings.inherited.contains(name))
        .collect();
    for name in &settings.inherited {
        if !variables.iter().any(|(found, _)| found == name) {
            let text = format!("missing environment variable `{}`", name.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
    }
    // After the inherited ones: the last value of a name wins.
    variables.extend(settings.variables.iter().cloned());
    Ok(variables)
}

fn is_inherited(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| INHERITED.contains(&name) || name.starts_with("LC_"))
}
