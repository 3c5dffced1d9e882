//! llm-tool, with and without its search for control tokens in results.

use std::hint::black_box;

use llm_tool::{OutputSanitization, ToolContext, ToolRegistry, llm_tool};
use serde_json::Value;

use crate::row::{BATCH, Row, again, each_with, runtime};
use crate::task::{JSON, answer};

/// Search files in the project.
#[llm_tool]
pub async fn search_files(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    case_sensitive: Option<bool>,
    /// The most results to return.
    max_results: Option<i64>,
) -> String {
    answer(
        &pattern,
        case_sensitive.unwrap_or(true),
        max_results.unwrap_or(100),
    )
}

mod unsanitized {
    use super::{answer, llm_tool};

    /// Search files in the project.
    #[llm_tool(sanitization = "none")]
    pub async fn search_files(
        /// Glob pattern.
        pattern: String,
        /// Whether case matters.
        case_sensitive: Option<bool>,
        /// The most results to return.
        max_results: Option<i64>,
    ) -> String {
        answer(
            &pattern,
            case_sensitive.unwrap_or(true),
            max_results.unwrap_or(100),
        )
    }
}

pub fn as_it_comes() -> Row {
    row("llm-tool 0.10.5", || ToolRegistry::new().with_tool(SearchFiles))
}

pub fn unsanitized() -> Row {
    row("llm-tool 0.10.5, sanitizing off", || {
        ToolRegistry::new()
            .with_output_floor(OutputSanitization::None)
            .with_tool(unsanitized::SearchFiles)
    })
}

fn row(name: &'static str, registry: fn() -> ToolRegistry) -> Row {
    let value: Value = serde_json::from_str(JSON).unwrap();
    let (by_text, by_value) = (registry(), registry());
    let [for_text, for_value] = [ToolContext::new(), ToolContext::new()];
    Row {
        name,
        from_text: again(async move || {
            let name = black_box("search_files");
            by_text
                .dispatch_str(name, black_box(JSON), &for_text)
                .await
                .unwrap()
        }),
        from_value: each_with(
            BATCH,
            move || value.clone(),
            async move |value| {
                let name = black_box("search_files");
                by_value.dispatch(name, value, &for_value).await.unwrap()
            },
        ),
        conversions: ["", ""],
    }
}

/// Panic.
#[llm_tool]
async fn explode() -> String {
    // `panic!` alone does not compile.
    assert!(black_box(false), "as it was told to");
    String::new()
}

/// Returns the answer to a call.
pub fn ask(name: &str, text: &str) -> String {
    let registry = ToolRegistry::new().with_tool(SearchFiles).with_tool(Explode);
    let context = ToolContext::new();
    let answer = registry.dispatch_str(name, text, &context);
    format!(
        "{:?}",
        runtime().block_on(answer).map(|output| output.into_content())
    )
}

/// Returns the effect of a second tool with an equal name.
pub fn register_twice() -> String {
    let registry = ToolRegistry::new()
        .with_tool(SearchFiles)
        .with_tool(unsanitized::SearchFiles);
    format!("no error; 2 tools became {}", registry.definitions().len())
}
