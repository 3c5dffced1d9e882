//! tools-rs: its calls take a `Value`.

use std::hint::black_box;

use serde_json::Value;
use tools_rs::{FunctionCall, collect_tools, tool};

use crate::row::{BATCH, Row, again, each_with};
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

/// Without an id: with `FunctionCall::new`, which makes a random one, it takes longer.
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
