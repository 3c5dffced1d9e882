//! tools-rs, whose calls take a `Value`.

use std::hint::black_box;

use serde_json::Value;
use tools_rs::{FunctionCall, ToolCollection, collect_tools, tool};

use crate::row::{BATCH, Row, again, each_with, runtime};
use crate::task::{JSON, answer};

/// Search files in the project.
#[tool]
pub async fn search_files(pattern: String, case_sensitive: Option<bool>, max_results: Option<i64>) -> String {
    answer(
        &pattern,
        case_sensitive.unwrap_or(true),
        max_results.unwrap_or(100),
    )
}

/// Without an id: `FunctionCall::new` generates a random one, which takes longer.
pub fn call(arguments: Value) -> FunctionCall {
    FunctionCall {
        id: None,
        name: black_box("search_files").to_owned(),
        arguments,
    }
}

pub fn row() -> Row {
    let value: Value = serde_json::from_str(JSON).unwrap();
    let (by_text, by_value) = (collect_tools(), collect_tools());
    Row {
        name: "tools-rs 0.3.3",
        from_text: again(async move || {
            let arguments = serde_json::from_str(black_box(JSON)).unwrap();
            by_text.call(call(arguments)).await.unwrap()
        }),
        from_value: each_with(
            BATCH,
            move || value.clone(),
            async move |value| by_value.call(call(value)).await.unwrap(),
        ),
        conversions: ["text parsed into a `Value`", ""],
    }
}

/// Panic.
#[tool]
async fn explode() -> String {
    panic!("as it was told to")
}

/// Returns the answer to a call. The user would parse it.
pub fn ask(name: &str, text: &str) -> String {
    let Ok(arguments) = serde_json::from_str(text) else {
        return "the user parses the text".to_owned();
    };
    let mut call = call(arguments);
    call.name = name.to_owned();
    format!("{:?}", runtime().block_on(collect_tools().call(call)))
}

/// Returns the effect of a second, manually registered tool with an equal name. Of two annotated tools, the last linked one stays.
pub fn register_twice() -> String {
    let mut tools: ToolCollection = ToolCollection::new();
    let mut register = || {
        tools
            .register(
                "add",
                "Add.",
                |pair: (i64, i64)| async move { pair.0 + pair.1 },
                (),
            )
            .err()
    };
    format!("{:?}, {:?}", register(), register())
}
