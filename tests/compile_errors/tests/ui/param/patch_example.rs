//! Mistake: an example of what is not one JSON value.

use tool_runtime::{Patch, tool};

/// Change it.
#[tool]
async fn change(
    /// When it is due.
    #[arg(example = "Friday")]
    due: Patch<String>,
) -> bool {
    due.is_keep()
}

fn main() {}
