//! Mistake: the reference that `register` returns in place of the registry.

use tool_runtime::{RegistryError, ToolRegistry, tool};

/// Add one.
#[tool]
async fn inc(
    /// The number.
    n: i64,
) -> i64 {
    n + 1
}

fn registry() -> Result<ToolRegistry, RegistryError> {
    Ok(ToolRegistry::new().register::<inc>()?)
}

fn main() {
    let _ = registry();
}
