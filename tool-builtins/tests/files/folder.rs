//! [`TestFolder`]: a workspace in a temporary folder, with the session of a model.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tool_builtins::files;
use tool_builtins::workspace::WorkspaceOptions;
use tool_runtime::{Context, ToolCall, ToolOutcome, ToolRegistry};

/// A temporary folder, which is removed when dropped.
pub(crate) struct TestFolder {
    pub(crate) path: PathBuf,
    registry: ToolRegistry,
}

impl TestFolder {
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    /// Creates a folder with options of its workspace.
    pub(crate) fn with(options: impl FnOnce(WorkspaceOptions) -> WorkspaceOptions) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tool-builtins-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self::open(&path, options)
    }

    /// Uses an existing folder.
    pub(crate) fn at(path: &Path) -> Self {
        Self::open(path, |options| options)
    }

    /// Creates a folder with the tools that search, too.
    #[cfg(feature = "search")]
    pub(crate) fn searching() -> Self {
        Self::searching_with(|options| options)
    }

    #[cfg(feature = "search")]
    pub(crate) fn searching_with(options: impl FnOnce(WorkspaceOptions) -> WorkspaceOptions) -> Self {
        let mut folder = Self::with(options);
        folder
            .registry
            .register_all(tool_builtins::search::tools())
            .unwrap();
        folder
    }

    /// Uses an existing folder, with the tools that search, too.
    #[cfg(feature = "search")]
    pub(crate) fn searching_at(path: &Path) -> Self {
        let mut folder = Self::at(path);
        folder
            .registry
            .register_all(tool_builtins::search::tools())
            .unwrap();
        folder
    }

    #[cfg(feature = "search")]
    pub(crate) fn registry(&self) -> &ToolRegistry {
        &self.registry
    }

    fn open(path: &Path, options: impl FnOnce(WorkspaceOptions) -> WorkspaceOptions) -> Self {
        let workspace = options(WorkspaceOptions::new(path)).open().unwrap();
        let mut registry = ToolRegistry::new().with_state(workspace);
        registry.register_all(files::tools()).unwrap();
        Self {
            path: path.to_owned(),
            registry,
        }
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path.join(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// Returns the names of a folder, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Calls a tool in the session of the folder's model.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.call_in("s-1", tool, arguments).await
    }

    /// Calls a tool in a session.
    pub(crate) async fn call_in(&self, session: &'static str, tool: &str, arguments: Value) -> Answer {
        let call = ToolCall::new("toolu_1", tool, arguments);
        let outcome = self
            .registry
            .call(call.with_context(Context::new().with_session(session)))
            .await;
        Answer(outcome)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Outcome of a call.
#[derive(Debug)]
pub(crate) struct Answer(pub(crate) ToolOutcome);

impl Answer {
    pub(crate) fn text(&self) -> &str {
        self.0.result.text().unwrap()
    }

    /// Returns the text of a call that succeeded without a warning.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        assert!(!self.0.result.is_error, "{}", self.text());
        assert!(self.0.warnings.is_empty(), "{:?}", self.0.warnings);
        self.text()
    }

    /// Returns the code of a call that failed.
    #[track_caller]
    pub(crate) fn code(&self) -> &str {
        assert!(self.0.result.is_error, "no error: {}", self.text());
        self.text().split_once(": ").unwrap().0
    }
}
