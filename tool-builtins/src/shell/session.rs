//! [`ShellSession`]: the commands of a session, and their outputs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Instant;

use super::command::Command;
use super::output_file::{Excerpt, LineFilter, Until};
use super::random_name::random_name;

/// Number of ended commands whose output is kept.
const MAX_KEPT: usize = 32;

/// Commands of a session.
#[derive(Debug)]
pub(super) struct ShellSession {
    /// Name of the session's folder, which other sessions cannot guess.
    pub(super) key: String,
    /// Commands of calls that run, or whose output is kept.
    foreground: Vec<Command>,
    background: Vec<BackgroundCommand>,
    last_number: usize,
    last_background: usize,
    has_explained_sandbox: bool,
    /// Time of the last call.
    pub(super) last_used: Instant,
}

/// Command that a model can look up by its id.
#[derive(Debug, Clone)]
pub(super) struct BackgroundCommand {
    pub(super) id: String,
    pub(super) command: Command,
    /// Client of the call that has started the command, if the host distinguishes clients.
    pub(super) client: Option<Box<str>>,
    /// Position after the output that the model has read.
    position: Arc<Mutex<u64>>,
}

impl ShellSession {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            key: random_name()?,
            foreground: Vec::new(),
            background: Vec::new(),
            last_number: 0,
            last_background: 0,
            has_explained_sandbox: false,
            last_used: Instant::now(),
        })
    }

    /// Returns the number of a new command.
    pub(super) fn next_number(&mut self) -> usize {
        self.last_number += 1;
        self.last_number
    }

    /// Returns whether the session has no processes.
    pub(super) fn is_idle(&self) -> bool {
        self.commands().all(Command::is_gone)
    }

    /// Returns whether the model was not informed before that commands are always confined.
    pub(super) fn explains_sandbox(&mut self) -> bool {
        !std::mem::replace(&mut self.has_explained_sandbox, true)
    }

    pub(super) fn commands(&self) -> impl Iterator<Item = &Command> {
        let background = self.background.iter().map(|background| &background.command);
        self.foreground.iter().chain(background)
    }

    /// Returns the background commands that run.
    pub(super) fn running(&self) -> impl Iterator<Item = &BackgroundCommand> {
        self.background
            .iter()
            .filter(|background| !background.command.is_gone())
    }

    /// Adds the command of a call.
    pub(super) fn add(&mut self, command: Command) {
        self.foreground.push(command);
        let ended = self.foreground.iter().filter(|command| command.is_gone()).count();
        if ended > MAX_KEPT
            && let Some(oldest) = self.foreground.iter().position(Command::is_gone)
        {
            remove_output(&self.foreground.remove(oldest));
        }
    }

    /// Removes the command of a call, whose output is not needed any more.
    pub(super) fn remove(&mut self, command: &Command) {
        self.foreground.retain(|other| !other.is_same(command));
    }

    /// Adds a background command, and returns its id. The output from `position` on is new to the model.
    pub(super) fn add_background(
        &mut self,
        command: Command,
        client: Option<Box<str>>,
        position: u64,
    ) -> String {
        self.remove(&command);
        let ended = self
            .background
            .iter()
            .filter(|background| background.command.is_gone());
        if ended.count() >= MAX_KEPT
            && let Some(oldest) = self
                .background
                .iter()
                .position(|background| background.command.is_gone())
        {
            remove_output(&self.background.remove(oldest).command);
        }
        self.last_background += 1;
        let id = format!("bash_{}", self.last_background);
        self.background.push(BackgroundCommand {
            id: id.clone(),
            command,
            client,
            position: Arc::new(Mutex::new(position)),
        });
        id
    }

    pub(super) fn background(&self) -> &[BackgroundCommand] {
        &self.background
    }
}

impl BackgroundCommand {
    /// Reads the output that the model has not read yet, and the number of bytes that remain. Blocks while the file is read.
    ///
    /// While another call reads the output, the error is [`io::ErrorKind::ResourceBusy`]: waiting calls would hold a thread each.
    pub(super) fn read_new(&self, filter: Option<LineFilter<'_>>) -> io::Result<(Excerpt, u64)> {
        let is_gone = self.command.is_gone();
        let mut position = match self.position.try_lock() {
            Ok(position) => position,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::ResourceBusy.into()),
        };
        let Some(output) = self.command.output() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let (excerpt, rest) = match filter {
            Some(filter) => output.filtered(*position, !is_gone, filter)?,
            None if is_gone => (output.excerpt(*position, Until::End)?, 0),
            None => (output.excerpt(*position, Until::Character)?, 0),
        };
        *position = excerpt.end;
        Ok((excerpt, rest))
    }
}

/// Paths of a session below the output folder.
#[derive(Debug, Clone)]
pub(super) struct SessionFolder(PathBuf);

impl SessionFolder {
    pub(super) fn new(output: &Path, key: &str) -> Self {
        Self(output.join(key))
    }

    pub(super) fn scratch(&self) -> PathBuf {
        self.0.join("tmp")
    }

    pub(super) fn output(&self, number: usize) -> PathBuf {
        self.0.join(format!("{number}.txt"))
    }

    /// Removes the files of an ended session.
    pub(super) fn remove(&self) {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(folder = %self.0.display(), %error, "the output of a session was not removed");
            }
            _ => {}
        }
    }
}

fn remove_output(command: &Command) {
    if let Some(output) = command.output() {
        output.remove();
    }
}
