use std::path::Path;

use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// The file.
    path: &Path,
) {
    let _ = path;
}

fn main() {}
