//! Mistake: a default beside `Keep`.

use tool_runtime::{Patch, tool};

/// Change it.
#[tool]
async fn change(
    /// When it is due.
    #[arg(default = Patch::Clear)]
    due: Patch<String>,
) -> bool {
    due.is_keep()
}

fn main() {}
