#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[cfg_attr(unix, arg(default = 1))]
    a: u8,
) {
}

fn main() {}
