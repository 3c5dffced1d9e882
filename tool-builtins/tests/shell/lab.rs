//! A workspace in a temporary folder, with the tools, and checks of the processes of its commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tool_builtins::shell::{self, Shell, ShellOptions};
use tool_runtime::{Context, ToolCall, ToolOutcome, ToolRegistry};

/// Time in which everything happens, even on a slow machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Lab {
    pub(crate) registry: ToolRegistry,
    pub(crate) shell: Option<Shell>,
    pub(crate) folder: PathBuf,
    /// Mark of all commands of the lab.
    mark: String,
    calls: Arc<AtomicUsize>,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with(|options| options.writable(true))
    }

    /// Creates a lab in a folder whose name has blanks and quotes.
    pub(crate) fn with(configure: impl FnOnce(ShellOptions) -> ShellOptions) -> Self {
        static LABS: AtomicUsize = AtomicUsize::new(0);
        let number = LABS.fetch_add(1, Ordering::SeqCst);
        let name = format!("tool shell's \"lab\" $HOME `x` {}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("work/sub folder")).unwrap();
        Self::open(folder.canonicalize().unwrap(), configure)
    }

    pub(crate) fn open(folder: PathBuf, configure: impl FnOnce(ShellOptions) -> ShellOptions) -> Self {
        let options = ShellOptions::new(folder.join("work"), folder.join("output")).allow_root(true);
        let shell = Shell::new(&configure(options)).unwrap();
        let registry = ToolRegistry::new().with_state(shell.clone());
        let registry = registry.with_tools(shell::tools(&shell)).unwrap();
        let mark = fs::read_to_string(folder.join("output/lock")).unwrap();
        Self {
            registry,
            shell: Some(shell),
            folder,
            mark,
            calls: Arc::default(),
        }
    }

    pub(crate) fn shell(&self) -> &Shell {
        self.shell.as_ref().unwrap()
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    pub(crate) fn call(&self, name: &str, input: Value) -> ToolCall {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        ToolCall::new(format!("toolu_{number}"), name, input)
    }

    pub(crate) async fn run(&self, name: &str, input: Value, context: Context) -> ToolOutcome {
        self.registry
            .call(self.call(name, input).with_context(context))
            .await
    }

    /// Runs a command in a session, and returns the answer.
    pub(crate) async fn bash_in(&self, session: &str, command: &str) -> String {
        let context = Context::new().with_session(session);
        let outcome = self.run("Bash", json!({ "command": command }), context).await;
        outcome.result.text().unwrap().to_owned()
    }

    /// Runs a command, and returns the answer.
    pub(crate) async fn bash(&self, command: &str) -> String {
        self.bash_with(json!({ "command": command })).await
    }

    pub(crate) async fn bash_with(&self, input: Value) -> String {
        self.text("Bash", input).await
    }

    pub(crate) async fn text(&self, name: &str, input: Value) -> String {
        let outcome = self.run(name, input, Context::new()).await;
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
        outcome.result.text().unwrap().to_owned()
    }

    /// Returns the running processes of the lab, and the zombies of this process.
    pub(crate) fn processes(&self) -> Vec<String> {
        processes(&self.mark)
    }

    /// Waits until no process is left, since the kernel ends killed processes soon, but not at once.
    pub(crate) fn assert_no_processes(&self) {
        let end = Instant::now() + LONG;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "processes are left: {left:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns whether the output folder has files.
    pub(crate) fn outputs(&self) -> Vec<PathBuf> {
        let sessions = fs::read_dir(self.folder.join("output")).unwrap();
        let sessions = sessions
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir());
        let files = sessions.flat_map(|session| fs::read_dir(session).unwrap());
        files
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.registry = ToolRegistry::new();
        self.shell = None;
        if !std::thread::panicking() {
            self.assert_no_processes();
            fs::remove_dir_all(&self.folder).unwrap();
        }
    }
}

/// Returns running processes with a mark, and zombies that are children of this process.
pub(crate) fn processes(mark: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap();
    let ids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<_> = fields.split_ascii_whitespace().collect();
        let is_zombie = fields[0] == "Z" && fields[1] == std::process::id().to_string();
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let prefix = format!("TOOL_SHELL_MARK={mark}-");
        let is_marked = environment
            .split(|byte| *byte == 0)
            .any(|variable| variable.starts_with(prefix.as_bytes()));
        (is_zombie || is_marked).then_some(stat)
    })
    .collect()
}

/// Waits until a condition holds.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < end, "the condition was not satisfied in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn has_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}
