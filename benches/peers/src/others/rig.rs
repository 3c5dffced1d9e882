//! rig, whose `ToolSet` takes owned text as arguments.

use std::convert::Infallible;
use std::hint::black_box;

use rig_agent::tool::registry::ToolSet;
use rig_core::tool::ToolContext;
use serde_json::Value;

use crate::row::{BATCH, Row, again, each_with, runtime};
use crate::task::{JSON, answer};

/// Search files in the project.
#[rig_core::rig_tool]
pub async fn search_files(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    case_sensitive: Option<bool>,
    /// The most results to return.
    max_results: Option<i64>,
) -> Result<String, Infallible> {
    Ok(answer(
        &pattern,
        case_sensitive.unwrap_or(true),
        max_results.unwrap_or(100),
    ))
}

pub fn row() -> Row {
    let value: Value = serde_json::from_str(JSON).unwrap();
    let [by_text, by_value] = [(); 2].map(|()| ToolSet::from_tools(vec![SearchFiles]));
    let [mut for_text, mut for_value] = [(); 2].map(|()| ToolContext::new());
    Row {
        name: "rig-agent 0.44.0",
        from_text: again(async move || {
            let name = black_box("search_files");
            by_text
                .execute(name, black_box(JSON).to_owned(), &mut for_text)
                .await
        }),
        from_value: each_with(
            BATCH,
            move || value.clone(),
            async move |value| {
                let name = black_box("search_files");
                by_value.execute(name, value.to_string(), &mut for_value).await
            },
        ),
        conversions: ["text copied", "value written as text"],
    }
}

/// Panic.
#[rig_core::rig_tool]
async fn explode() -> Result<String, Infallible> {
    panic!("as it was told to")
}

/// Returns the answer to a call.
pub fn ask(name: &str, text: &str) -> String {
    let mut tools = ToolSet::from_tools(vec![SearchFiles]);
    tools.add_tool(Explode);
    let mut context = ToolContext::new();
    let answer = tools.execute(name, text.to_owned(), &mut context);
    let answer = runtime().block_on(answer);
    format!("{answer:?}, for the model: {}", answer.output().render())
}

/// Returns the effect of a second tool with an equal name.
pub fn register_twice() -> String {
    let tools = ToolSet::from_tools(vec![SearchFiles, SearchFiles]);
    format!("no error, a warning in the log; 2 tools became {}", tools.len())
}
