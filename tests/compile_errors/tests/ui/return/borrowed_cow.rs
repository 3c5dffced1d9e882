#![allow(unused)]

use std::borrow::Cow;
use tool_runtime::tool;

struct Store(String);

#[tool_runtime::tools]
impl Store {
    /// Acts.
    #[tool]
    async fn act(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

fn main() {}
