//! `#[tool]`, from annotated functions to what a registry makes of them.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use serde_json::json;
use tool_runtime::schemars::JsonSchema;
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::{CancellationToken, State, ToolRegistry, testing, tool, tools};

/// How to match.
#[derive(Deserialize, Serialize, JsonSchema)]
enum Mode {
    Glob,
    Exact,
}

struct Workspace(&'static str);

#[derive(Debug)]
struct SearchError;

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing there")
    }
}

/// Search the workspace for files that match a glob.
#[tool(read_only)]
async fn search_files(
    /// Glob pattern, for example `**/*.rs`.
    pattern: String,
    /// How to match.
    mode: Mode,
    /// The most results to return.
    #[arg(default = 100, range = 1..=10_000)]
    max_results: u32,
    #[arg(description = "Where to start.")] under: Option<String>,
    workspace: State<Workspace>,
    cancel: CancellationToken,
) -> Result<Vec<String>, SearchError> {
    assert!(!cancel.is_cancelled());
    let mode = match mode {
        Mode::Glob => "glob",
        Mode::Exact => "exact",
    };
    Ok(vec![
        pattern,
        mode.to_owned(),
        max_results.to_string(),
        format!("{under:?}"),
        workspace.0.to_owned(),
    ])
}

#[tokio::test]
async fn runs() {
    let mut registry = ToolRegistry::new().with_state(Workspace("here"));
    registry.register::<search_files>().unwrap();
    let result = registry
        .execute_tool("toolu_1", "search_files", r#"{"pattern":"*.rs","mode":"Exact"}"#)
        .await;
    assert_eq!(
        serde_json::to_value(&result).unwrap(),
        json!({
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": r#"["*.rs","exact","100","None","here"]"#,
        }),
    );
    assert!(registry.register::<search_files>().is_err());
    assert!(ToolRegistry::new().register::<search_files>().is_err());
}

struct Store(Mutex<BTreeMap<String, i64>>);

#[tools]
impl Store {
    const START: i64 = 0;

    fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Remember a number.
    #[tool(destructive, idempotent = true)]
    async fn put(
        &self,
        /// Under what.
        key: String,
        /// The number.
        #[arg(default = Self::START)]
        number: i64,
    ) {
        self.0.lock().unwrap().insert(key, number);
    }

    /// Tell a number.
    #[tool(name = "look_up")]
    async fn get(
        &self,
        /// Under what.
        key: String,
    ) -> Option<i64> {
        self.0.lock().unwrap().get(&key).copied()
    }

    /// Say hello.
    #[tool]
    async fn hello() -> &'static str {
        "hello"
    }
}

#[tokio::test]
async fn methods_share_their_value() {
    let mut registry = ToolRegistry::new();
    registry.register_all(Store::new()).unwrap();
    testing::run_in(&registry, "put", r#"{"key": "a", "number": 3}"#)
        .await
        .assert_text("");
    testing::run_in(&registry, "look_up", r#"{"key": "a"}"#)
        .await
        .assert_text("3");
    testing::run_in(&registry, "hello", "{}")
        .await
        .assert_text("hello");
}

#[tokio::test]
async fn sets_of_functions() {
    /// Add.
    #[tool]
    async fn add(
        /// One.
        a: i64,
        /// Two.
        add: i64,
    ) -> i64 {
        a + add
    }
    let mut registry = ToolRegistry::new();
    registry.register_all(tool_runtime::tool_set![add]).unwrap();
    testing::run_in(&registry, "add", r#"{"a": 2, "add": 40}"#)
        .await
        .assert_text("42");
}
