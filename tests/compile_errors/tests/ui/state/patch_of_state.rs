//! Mistake: a patch of what the host supplies.

use tool_runtime::{Patch, State, tool};

/// Change it.
#[tool]
async fn change(due: Patch<State<String>>) -> bool {
    due.is_keep()
}

fn main() {}
