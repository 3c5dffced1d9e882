//! Cost of an equal call that is written by hand, without a registry.

use std::collections::HashMap;
use std::hint::black_box;
use std::pin::Pin;

use serde::Deserialize;
use serde_json::{Error, Value};

use crate::row::{BATCH, Row, again, each_with};
use crate::task::{JSON, answer, hundred, yes};

/// Arguments of `search_files`.
#[derive(Deserialize)]
pub struct Args {
    pub pattern: String,
    #[serde(default = "yes")]
    pub case_sensitive: bool,
    #[serde(default = "hundred")]
    pub max_results: i64,
}

pub async fn search_files(pattern: String, case_sensitive: bool, max_results: i64) -> String {
    answer(&pattern, case_sensitive, max_results)
}

pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<String, Error>> + Send + 'a>>;

/// A tool that is called through a pointer, as in every registry.
pub trait Handler: Send + Sync {
    fn from_text<'a>(&'a self, text: &'a str) -> Answer<'a>;
    fn from_value(&self, value: Value) -> Answer<'_>;
}

struct SearchFiles;

impl Handler for SearchFiles {
    fn from_text<'a>(&'a self, text: &'a str) -> Answer<'a> {
        Box::pin(async move { Ok(call(serde_json::from_str(text)?).await) })
    }

    fn from_value(&self, value: Value) -> Answer<'_> {
        Box::pin(async move { Ok(call(serde_json::from_value(value)?).await) })
    }
}

async fn call(args: Args) -> String {
    search_files(args.pattern, args.case_sensitive, args.max_results).await
}

/// Builds handlers by name: `search_files`, and `others` further ones.
pub fn handlers(others: usize) -> HashMap<String, Box<dyn Handler>> {
    let others = (0..others).map(|number| format!("other_{number}"));
    others
        .chain(["search_files".to_owned()])
        .map(|name| (name, Box::new(SearchFiles) as Box<dyn Handler>))
        .collect()
}

/// Reads the arguments and calls the function, without a look-up and without a pointer.
pub fn direct() -> Row {
    let value: Value = serde_json::from_str(JSON).unwrap();
    Row {
        name: "floor: `from_str::<Args>`, direct call",
        from_text: again(async || call(serde_json::from_str(black_box(JSON)).unwrap()).await),
        from_value: each_with(
            BATCH,
            move || value.clone(),
            async |value| call(serde_json::from_value(value).unwrap()).await,
        ),
        conversions: ["", ""],
    }
}

/// Calls a handwritten handler through a `HashMap<String, Box<dyn Handler>>`.
pub fn behind_a_map(others: usize) -> Row {
    let value: Value = serde_json::from_str(JSON).unwrap();
    let by_text = handlers(others);
    let by_value = handlers(others);
    Row {
        name: "floor: `HashMap<String, Box<dyn Handler>>`",
        from_text: again(async move || {
            let handler = by_text.get(black_box("search_files")).unwrap();
            handler.from_text(black_box(JSON)).await.unwrap()
        }),
        from_value: each_with(
            BATCH,
            move || value.clone(),
            async move |value| {
                let handler = by_value.get(black_box("search_files")).unwrap();
                handler.from_value(value).await.unwrap()
            },
        ),
        conversions: ["", ""],
    }
}
