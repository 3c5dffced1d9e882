#![allow(unused, non_camel_case_types)]

use tool_runtime::tool;

struct act {}

/// Acts.
#[tool]
async fn act() {}

fn main() {
    let _ = act {};
}
