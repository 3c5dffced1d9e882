//! Mistake: a tool where the registry belongs.

use tool_runtime::{testing, tool};

/// Add one.
#[tool]
async fn inc(
    /// The number.
    n: i64,
) -> i64 {
    n + 1
}

fn main() {
    testing::assert_definitions!(inc, "tools.json");
}
