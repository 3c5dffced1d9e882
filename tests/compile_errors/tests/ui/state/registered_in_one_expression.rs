//! Mistake: a registry that is gone at the end of its line.

use tool_runtime::{RegistryError, ToolRegistry, tool};

/// Add one.
#[tool]
async fn inc(
    /// The number.
    n: i64,
) -> i64 {
    n + 1
}

fn main() -> Result<(), RegistryError> {
    let registry = ToolRegistry::new().register::<inc>()?;
    assert!(registry.get_tool("inc").is_some());
    Ok(())
}
