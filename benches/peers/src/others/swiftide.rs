//! swiftide, which has no registry for manual calls. Its agent looks up tools by name, like this code.

use std::collections::HashMap;
use std::hint::black_box;

use serde_json::Value;
use swiftide::chat_completion::{Tool, ToolCall, ToolOutput, errors::ToolError};
use swiftide::traits::AgentContext;

use crate::row::{BATCH, Row, again, each_with, runtime};
use crate::task::{JSON, answer};

#[swiftide::tool(
    description = "Search files in the project.",
    param(name = "pattern", description = "Glob pattern."),
    param(name = "case_sensitive", description = "Whether case matters."),
    param(name = "max_results", description = "The most results to return.")
)]
pub async fn search_files(
    _context: &dyn AgentContext,
    pattern: String,
    case_sensitive: Option<bool>,
    max_results: Option<i64>,
) -> Result<ToolOutput, ToolError> {
    let answer = answer(
        &pattern,
        case_sensitive.unwrap_or(true),
        max_results.unwrap_or(100),
    );
    Ok(ToolOutput::Text(answer))
}

pub fn tools() -> HashMap<String, Box<dyn Tool>> {
    HashMap::from([("search_files".to_owned(), search_files())])
}

pub fn call(arguments: String) -> ToolCall {
    let mut call = ToolCall::builder();
    call.id("toolu_01").name("search_files").args(arguments);
    call.build().unwrap()
}

pub fn row() -> Row {
    let value: Value = serde_json::from_str(JSON).unwrap();
    let (by_text, by_value) = (tools(), tools());
    Row {
        name: "swiftide 0.32.1",
        from_text: again(async move || {
            let call = call(black_box(JSON).to_owned());
            by_text
                .get(call.name())
                .unwrap()
                .invoke(&(), &call)
                .await
                .unwrap()
        }),
        from_value: each_with(
            BATCH,
            move || value.clone(),
            async move |value: Value| {
                let call = call(value.to_string());
                by_value
                    .get(call.name())
                    .unwrap()
                    .invoke(&(), &call)
                    .await
                    .unwrap()
            },
        ),
        conversions: ["text copied into a `ToolCall`", "value written as text into one"],
    }
}

#[swiftide::tool(description = "Panic.")]
async fn explode(_context: &dyn AgentContext) -> Result<ToolOutput, ToolError> {
    panic!("as it was told to")
}

/// Returns the answer to a call, with a look-up by name like its agent.
pub fn ask(name: &str, text: &str) -> String {
    let mut tools = tools();
    tools.insert("explode".to_owned(), explode());
    let Some(tool) = tools.get(name) else {
        return "its agent's business".to_owned();
    };
    format!(
        "{:?}",
        runtime().block_on(tool.invoke(&(), &call(text.to_owned())))
    )
}
