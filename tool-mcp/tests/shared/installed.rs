//! Programs and packages that others wrote.
//!
//! `SDK_PYTHON` is an interpreter with the packages of `tests/sdks/requirements.txt`, `SDK_NODE` a folder with the `node_modules` of
//! `tests/sdks/package.json`; `.ci/run programs` creates both. Without them, the tests are ignored with a message, or fail if
//! `REPAIR_TESTS=required` is set.
//!
//! Further peers are tested with `MCP_PEERS=1`. Their packages are added to copies of both folders:
//!
//! ```text
//! pip install fastmcp==4.1.6 mcp-server-git mcp-server-fetch
//! npm install @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/inspector@2.12.0 \
//!     @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31
//! ```

use std::path::PathBuf;

/// Returns the path of an installed program, or `None` with a message.
pub(crate) fn installed(path: Option<PathBuf>, name: &str) -> Option<PathBuf> {
    let path = path.filter(|path| path.exists());
    if path.is_none() {
        eprintln!("IGNORED: `{name}` is missing; `.ci/run programs` installs it");
        assert!(
            std::env::var_os("REPAIR_TESTS").is_none_or(|wanted| wanted != "required"),
            "`{name}` is missing"
        );
    }
    path
}

/// Returns a peer that is not installed by default, or `None` without `MCP_PEERS`.
pub(crate) fn optional<T>(find: impl FnOnce() -> Option<T>) -> Option<T> {
    std::env::var_os("MCP_PEERS").and_then(|_| find())
}

/// Returns the interpreter of Python.
pub(crate) fn python() -> Option<PathBuf> {
    installed(variable("SDK_PYTHON"), "SDK_PYTHON")
}

/// Returns a program beside the interpreter of Python.
pub(crate) fn python_program(name: &str) -> Option<PathBuf> {
    let path = variable("SDK_PYTHON").and_then(|python| Some(python.parent()?.join(name)));
    installed(path, name)
}

/// Returns the folder that has the folder `node_modules`.
pub(crate) fn node_folder() -> Option<PathBuf> {
    installed(variable("SDK_NODE"), "SDK_NODE")
}

/// Returns a file in the folder `node_modules`.
pub(crate) fn node_module(path: &str) -> Option<PathBuf> {
    let folder = variable("SDK_NODE").map(|folder| folder.join("node_modules"));
    installed(folder.map(|folder| folder.join(path)), path)
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}
