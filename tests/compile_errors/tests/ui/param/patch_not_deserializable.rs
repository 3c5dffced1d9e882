//! Mistake: a patch of a type that the model cannot supply.

use tool_runtime::{Patch, tool};

struct Day;

/// Change it.
#[tool]
async fn change(
    /// When it is due.
    due: Patch<Day>,
) -> bool {
    due.is_keep()
}

fn main() {}
