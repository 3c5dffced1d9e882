//! [`ShellOptions`]: folders, environment and confinement of commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tool_runtime::Context;

/// Folders, environment and confinement of the commands of a [`Shell`](super::Shell).
///
/// ```
/// use tool_builtins::shell::{Sandbox, ShellOptions};
///
/// let options = ShellOptions::new("/srv/checkout", "/var/lib/agent/shell")
///     .writable(true)
///     .sandbox(Sandbox::Required)
///     .variable("CARGO_HOME", "/srv/cargo");
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "independent permissions")]
pub struct ShellOptions {
    pub(super) root: PathBuf,
    pub(super) output_dir: PathBuf,
    pub(super) writable: bool,
    pub(super) sandbox: Sandbox,
    pub(super) network: bool,
    pub(super) unix_sockets: bool,
    pub(super) readable: Option<Vec<PathBuf>>,
    pub(super) allow_root: bool,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) client: fn(&Context) -> Option<Box<str>>,
}

/// Requirement on the confinement of commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// Enforces as much as the system supports. [`Shell::confinement`](super::Shell::confinement) lists the parts.
    #[default]
    Auto,
    /// Enforces everything. [`Shell::new`](super::Shell::new) fails on a system that cannot.
    Required,
    /// Enforces nothing: a command may do whatever the process may.
    Off,
}

impl ShellOptions {
    /// Creates options for commands that start in `root`. Their output is in files below `output_dir`, which belongs to one
    /// process at a time, with mode 0700. Commands cannot write in `root`, have no network, and are confined as far as the
    /// system supports it.
    pub fn new(root: impl Into<PathBuf>, output_dir: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            output_dir: output_dir.into(),
            writable: false,
            sandbox: Sandbox::default(),
            network: false,
            unix_sockets: false,
            readable: None,
            allow_root: false,
            variables: Vec::new(),
            client: |_| None,
        }
    }

    /// Sets whether commands may write in the root, if they are confined.
    #[must_use]
    pub fn writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    /// Sets the requirement on the confinement.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Sets whether confined commands have a network, and Unix sockets with it.
    #[must_use]
    pub fn network(mut self, network: bool) -> Self {
        self.network = network;
        self
    }

    /// Sets whether confined commands without a network may connect to Unix sockets. The sockets of Docker and of agents for
    /// keys are Unix sockets, through which a command leaves its confinement.
    #[must_use]
    pub fn unix_sockets(mut self, unix_sockets: bool) -> Self {
        self.unix_sockets = unix_sockets;
        self
    }

    /// Limits reading to the root, the scratch folder and these paths, which must contain the programs and their libraries.
    /// By default, confined commands can read every file that the process can read.
    #[must_use]
    pub fn readable(mut self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.readable = Some(paths.into_iter().map(Into::into).collect());
        self
    }

    /// Sets whether a process of the user root may run commands.
    #[must_use]
    pub fn allow_root(mut self, allow_root: bool) -> Self {
        self.allow_root = allow_root;
        self
    }

    /// Adds a variable to the environment of commands, or replaces one. Variables of the process are inherited only if they
    /// are harmless, such as `PATH` and `LANG`.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets the function that returns the client of a call, for a host with several clients: each one runs at most half of the 64
    /// background commands of all clients. By default, clients are not distinguished.
    ///
    /// ```
    /// use tool_builtins::shell::ShellOptions;
    ///
    /// #[derive(Clone)]
    /// struct User(String);
    ///
    /// let options = ShellOptions::new("/srv/checkout", "/var/lib/agent/shell")
    ///     .client(|context| Some(context.extension::<User>()?.0.as_str().into()));
    /// # let _ = options;
    /// ```
    #[must_use]
    pub fn client(mut self, client: fn(&Context) -> Option<Box<str>>) -> Self {
        self.client = client;
        self
    }

    /// Returns the folder in which commands start.
    pub fn root(&self) -> &Path {
        &self.root
    }
}
