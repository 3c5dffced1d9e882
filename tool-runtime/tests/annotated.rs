//! `#[tool]`, from annotated functions to what a registry makes of them.

use std::fmt;

use serde_json::json;
use tool_runtime::schemars::JsonSchema;
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::{CancellationToken, State, ToolRegistry, tool};

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
