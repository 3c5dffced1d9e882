#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool(rename_all = "camelCase")]
async fn act(
    /// A.
    user_name: String,
    /// B.
    user__name: String,
) {
}

fn main() {}
