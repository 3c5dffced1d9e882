//! Mistake: a limit that the patched type does not have.

use tool_runtime::{Patch, tool};

/// Change it.
#[tool]
async fn change(
    /// When it is due.
    #[arg(range = 1..=5)]
    due: Patch<String>,
) -> bool {
    due.is_keep()
}

fn main() {}
