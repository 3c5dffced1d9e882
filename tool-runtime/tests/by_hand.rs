//! The expansion of `#[tool]`, written by hand: what the macro has to produce.

use tool_runtime::schemars::JsonSchema;
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::{CancellationToken, State, ToolRegistry};

/// How to match.
#[derive(Deserialize, Serialize, JsonSchema)]
enum Mode {
    Glob,
    Exact,
}

struct Workspace(&'static str);

#[derive(Debug)]
struct SearchError;

impl std::fmt::Display for SearchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nothing there")
    }
}

/// Search the workspace for files that match a glob.
pub async fn search_files(
    pattern: String,
    mode: Mode,
    max_results: u32,
    under: Option<String>,
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

/// The tool made from the function of the same name.
#[allow(non_camel_case_types)]
pub struct search_files {}

const _: () = {
    use ::tool_runtime::__private::{self as __rt, Respond as _};

    impl search_files {
        const PARAMS: (
            __rt::Param<String>,
            __rt::Param<Mode>,
            __rt::Param<u32>,
            __rt::Param<Option<String>>,
            __rt::Param<State<Workspace>>,
            __rt::Param<CancellationToken>,
        ) = (
            __rt::Param::of("pattern", "Glob pattern, for example `**/*.rs`."),
            __rt::Param::of("mode", "How to match."),
            __rt::Param::of("max_results", "The most results to return.")
                .default(|| __rt::IntoDefault::into_default(100))
                .refine(|it| {
                    it.range(1..=10_000);
                }),
            __rt::Param::of("under", "Where to start."),
            __rt::Param::undescribed("workspace"),
            __rt::Param::undescribed("cancel"),
        );
    }

    #[automatically_derived]
    impl __rt::Tool for search_files {
        fn declare() -> __rt::Declaration {
            __rt::Declaration::new(
                "search_files",
                "Search the workspace for files that match a glob.",
                &Self::PARAMS,
            )
            .read_only(true)
        }

        fn call(call: __rt::Call<'_>) -> __rt::Handled {
            call.run(
                &Self::PARAMS,
                |(pattern, mode, max_results, under, workspace, cancel)| async move {
                    __rt::Output(search_files(pattern, mode, max_results, under, workspace, cancel).await)
                        .respond()
                },
            )
        }
    }
};

#[tokio::test]
async fn runs() {
    let mut registry = ToolRegistry::new().with_state(Workspace("here"));
    registry.register::<search_files>().unwrap();
    println!(
        "{}",
        serde_json::to_string_pretty(&registry.tool_definitions()).unwrap()
    );
    let result = registry
        .execute_tool("toolu_1", "search_files", r#"{"pattern":"*.rs","mode":"Exact"}"#)
        .await;
    assert_eq!(
        serde_json::to_value(&result).unwrap(),
        serde_json::json!({
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": r#"["*.rs","exact","100","None","here"]"#,
        }),
    );
    assert!(registry.register::<search_files>().is_err());
    assert!(ToolRegistry::new().register::<search_files>().is_err());
}
