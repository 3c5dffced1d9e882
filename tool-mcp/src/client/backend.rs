//! [`Backend`]: the process of a server, or the task that sends messages to its URL.

use std::io;
use std::time::Duration;

use tokio::time::timeout;

use crate::client::process::{LastLines, Process};
use crate::client::settings::{CommandSettings, Endpoint, Settings};
use crate::client::wire::{WireEnds, WireLimits, WireTransport};

/// Maximum time for the end of standard error.
const DRAIN: Duration = Duration::from_millis(100);

/// Running server, apart from its connection.
#[derive(Debug)]
pub(crate) enum Backend {
    Process {
        process: Box<Process>,
        last_lines: LastLines,
    },
    #[cfg(feature = "http")]
    Url(tokio::task::JoinHandle<()>),
}

impl Backend {
    /// Starts the process, or the task, and connects the wire.
    ///
    /// # Errors
    ///
    /// Returns the fact, if the process cannot be started.
    pub(crate) fn start(
        endpoint: &Endpoint,
        settings: &Settings,
        ends: WireEnds,
    ) -> Result<(Self, WireTransport), String> {
        match endpoint {
            Endpoint::Command(command) => {
                let (process, pipes) = Process::spawn(&settings.name, command).map_err(|error| {
                    let program = command.program.display();
                    format!("cannot start `{program}`: {}", start_error(command, &error))
                })?;
                let limits = WireLimits {
                    write: settings.limits.call,
                    message_bytes: settings.limits.message_bytes,
                };
                let transport = ends.connect(pipes.stdin, pipes.stdout, limits);
                let last_lines = pipes.last_lines;
                let process = Box::new(process);
                Ok((Self::Process { process, last_lines }, transport))
            }
            #[cfg(feature = "http")]
            Endpoint::Url(url) => {
                let limit = settings.limits.message_bytes;
                let (transport, task) =
                    crate::client::streamable_http::task::connect(ends, std::sync::Arc::clone(url), limit);
                Ok((Self::Url(task), transport))
            }
        }
    }

    /// Waits for the end of the process, and returns the fact. A URL does not end.
    pub(crate) async fn ended(&mut self) -> String {
        match self {
            Self::Process { process, .. } => match process.ended().await {
                Ok(status) => format!("ended with {status}"),
                Err(error) => format!("ended: {error}"),
            },
            #[cfg(feature = "http")]
            Self::Url(_) => std::future::pending().await,
        }
    }

    /// Stops the process, or waits for the end of the session. The wire is already closed.
    pub(crate) async fn stop(self) {
        match self {
            Self::Process { process, .. } => process.stop().await,
            #[cfg(feature = "http")]
            Self::Url(task) => drop(task.await),
        }
    }

    /// Returns the last lines of standard error. Lines of a process that has ended may still be in the pipe.
    pub(crate) async fn last_lines(&self) -> String {
        match self {
            Self::Process { last_lines, .. } => {
                // A process that does not end has an open pipe.
                let _ = timeout(DRAIN, last_lines.complete()).await;
                last_lines.to_string()
            }
            #[cfg(feature = "http")]
            Self::Url(_) => String::new(),
        }
    }

    pub(crate) const fn is_process(&self) -> bool {
        matches!(self, Self::Process { .. })
    }
}

/// Returns the fact about a program that cannot be started. The system has one error for a missing program and a missing folder.
fn start_error(command: &CommandSettings, error: &io::Error) -> String {
    let is_missing = error.kind() == io::ErrorKind::NotFound && error.raw_os_error().is_some();
    let folder = command.directory.as_deref().filter(|folder| !folder.is_dir());
    match folder {
        Some(folder) if is_missing => format!("missing folder {}", folder.display()),
        None if is_missing && command.program.to_string_lossy().contains(' ') => {
            "unknown program; expected its name or path alone, and its arguments separately".to_owned()
        }
        None if is_missing => "unknown program; expected a path, or a name in `PATH`".to_owned(),
        _ => error.to_string(),
    }
}
