#![doc = include_str!("../README.md")]

// Floors, bottom up: a file imports only from those above it in this list.
pub mod issue;
pub mod policy;
pub mod message;
pub mod result;
pub mod context;
mod depth;
pub mod call;
pub mod definition;
pub mod state;
mod absent;
mod variants;
mod host;
mod schema;
pub mod format;
mod param;
mod parameter;
mod fits;
mod facets;
mod params;
mod output;
mod declaration;
mod arguments;
mod tool;
mod registry_error;
mod registered;
mod tools;
mod isolate;
mod execute;
pub mod layer;
mod batch;
mod registry;
pub mod testing;
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

/// A list of annotated functions, for [`ToolRegistry::register_all`]: all are registered, or none.
///
/// ```
/// use tool_runtime::{ToolRegistry, tool, tool_set};
///
/// /// Add two numbers.
/// #[tool]
/// async fn add(
///     /// The first.
///     a: i64,
///     /// The second.
///     b: i64,
/// ) -> i64 {
///     a + b
/// }
///
/// /// Tell the time of the day.
/// #[tool]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// # fn main() -> Result<(), tool_runtime::RegistryError> {
/// let mut registry = ToolRegistry::new();
/// registry.register_all(tool_set![add, now])?;
/// assert_eq!(registry.tool_definitions().len(), 2);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! tool_set {
    ($($tool:ty),* $(,)?) => {
        $crate::__private::Vec::<$crate::__private::DeclaredTool>::from([
            $(<$tool as $crate::__private::Tool>::declare()),*
        ])
    };
}

pub use call::{RawArguments, ToolCall, ToolCallRequest};
pub use context::{CancellationToken, Context};
pub use definition::ToolDefinition;
pub use issue::Issue;
pub use output::{Answer, IntoOutput, ToolError};
pub use policy::Policy;
pub use registered::RegisteredTool;
pub use registry::ToolRegistry;
pub use registry_error::RegistryError;
pub use result::{Blocks, ToolOutcome, ToolOutput, ToolResult};
pub use state::State;
pub use tool::{IntoTools, Tool, ToolSet};
pub use tool_macros::{tool, tools};
pub use {schemars, serde, serde_json};
