//! A user who denies all lints, and has no dependency on serde or schemars.

#![forbid(unsafe_code)]
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    missing_copy_implementations,
    unreachable_pub,
    unnameable_types,
    unused_qualifications,
    unused_results,
    elided_lifetimes_in_paths,
    let_underscore_drop,
    rust_2018_idioms,
    rust_2024_compatibility,
    single_use_lifetimes,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::cargo
)]
#![deny(
    clippy::allow_attributes_without_reason,
    clippy::default_numeric_fallback,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_docs_in_private_items,
    clippy::panic,
    clippy::print_stdout,
    clippy::shadow_reuse,
    clippy::shadow_unrelated,
    clippy::todo,
    clippy::unwrap_used,
    clippy::wildcard_imports
)]
#![allow(clippy::cargo_common_metadata, reason = "this is not published")]
#![allow(clippy::multiple_crate_versions, reason = "not this crate's choice")]

use std::fmt;
use std::sync::Mutex;

use tool_runtime::schemars::JsonSchema;
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::{CancellationToken, Context, Issue, State, tool, tools};

/// Searched items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
#[schemars(crate = "tool_runtime::schemars")]
pub enum Kind {
    /// Search files.
    Files,
    /// Search folders.
    Folders,
}

/// Error of a search without results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotFound;

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing was found")
    }
}

/// The lines that are searched.
#[derive(Debug)]
pub struct Workspace(pub Vec<String>);

/// Counter of mistakes.
fn counted(issues: &[Issue]) -> String {
    format!("{} mistakes", issues.len())
}

/// Search the workspace.
///
/// # Errors
///
/// If no item matches.
#[tool(
    title = "Search",
    rename_all = "camelCase",
    read_only,
    timeout = "30s",
    errors = counted,
    input_examples = [{ "pattern": "*.rs", "kind": "files" }]
)]
pub async fn search(
    /// A glob.
    #[arg(not_blank, length = 1..=100, pattern = ".", example = "*.rs")]
    pattern: String,
    /// Searched items.
    #[arg(default = Kind::Files, case_sensitive)]
    kind: Kind,
    /// The most to find.
    #[arg(default = 100, range = 1..=10_000, strict)]
    max_results: u32,
    /// Order of the results.
    #[arg(values = ["name", "size"])]
    order: Option<String>,
    workspace: State<Workspace>,
    context: Context,
    cancel: CancellationToken,
) -> Result<Vec<String>, NotFound> {
    if cancel.is_cancelled() || context.session().is_some() || order.is_some() || kind == Kind::Folders {
        return Err(NotFound);
    }
    let found = workspace
        .0
        .iter()
        .filter(|name| name.ends_with(pattern.trim_start_matches('*')));
    Ok(found.take(max_results as usize).cloned().collect())
}

/// Say nothing.
#[tool]
pub async fn nothing() {}

/// Repeat a text.
#[must_use]
#[tool]
#[deprecated = "say nothing"]
pub async fn what() -> &'static str {
    "what"
}

/// Numbers by their names.
#[derive(Debug, Default)]
pub struct Store(Mutex<Vec<(String, i64)>>);

#[tools]
impl Store {
    /// Remember a number.
    #[tool(destructive, idempotent)]
    pub async fn put(
        &self,
        /// Under what.
        key: String,
        /// The number.
        #[arg(default = 0)]
        number: i64,
    ) {
        if let Ok(mut numbers) = self.0.lock() {
            numbers.push((key, number));
        }
    }

    /// Say hello.
    #[tool]
    #[deprecated = "say nothing"]
    async fn hello() -> String {
        "hello".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Store, Workspace, nothing, search};
    use tool_runtime::{RegistryError, ToolRegistry};

    #[tokio::test]
    async fn tools_register_and_run() -> Result<(), RegistryError> {
        let mut registry = ToolRegistry::new().with_state(Workspace(vec!["a.rs".to_owned()]));
        registry
            .register::<search>()?
            .register::<nothing>()?
            .register_all(Store::default())
            .map(drop)?;
        let found = registry
            .execute_tool("1", "search", r#"{"pattern":"*.rs"}"#)
            .await;
        assert_eq!(found.text(), Some(r#"["a.rs"]"#));
        let hello = registry.execute_tool("2", "hello", "{}").await;
        assert_eq!(hello.text(), Some("hello"));
        Ok(())
    }
}
