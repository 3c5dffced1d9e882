#![doc = "[coercion]: crate::coercion"] // the first definition of a link counts: not the README's path in the repository
#![doc = "[guide]: crate::guide"]
#![doc = "[faults]: crate::faults"]
#![doc = "[arguments]: crate::guide::_2_arguments"]
#![doc = "[sloppy]: crate::guide::_3_sloppy_calls"]
#![doc = "[answers]: crate::guide::_4_answers"]
#![doc = "[host]: crate::guide::_5_host"]
#![doc = "[family]: crate::guide::_6_family"]
#![doc = "[layers]: crate::guide::_7_around_calls"]
#![doc = "[turn]: crate::guide::_8_a_turn"]
#![doc = "[formats]: crate::guide::_9_formats"]
#![doc = "[dynamic]: crate::guide::_10_dynamic"]
#![doc = "[testing]: crate::guide::_11_testing"]
#![doc = "[expansion]: crate::guide::_12_expansion"]
#![doc = "[repair]: crate::guide::_13_repair"]
#![doc = "[keys]: macro@crate::tool"]
#![doc = include_str!("../README.md")]

// Floors, bottom up: a file imports only from those above it in this list.
pub mod issue;
pub mod policy;
pub mod message;
pub mod result;
pub mod context;
mod depth;
mod raw_arguments;
pub mod definition;
pub mod state;
mod absent;
mod variants;
mod host;
mod schema;
mod param;
mod parameter;
mod supplied;
mod fits;
mod facets;
mod text;
mod params;
mod causes;
mod output;
mod declaration;
mod arguments;
mod tool;
mod registry_error;
mod registered;
mod tools;
mod similar;
mod explain;
mod prepare;
pub mod call;
#[cfg(feature = "formats")]
pub mod format;
mod catch;
mod trace;
mod handle;
pub mod layer;
mod batch;
mod registry;
pub mod testing;
pub mod coercion;
pub mod faults;
#[cfg(doc)] // prose and its tests: whoever compiles the crate does not even read it
pub mod guide;
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[doc = include_str!("docs/tool_set.md")]
#[macro_export]
macro_rules! tool_set {
    ($($tool:ty),* $(,)?) => {
        $crate::__private::Vec::<$crate::__private::DeclaredTool>::from([
            $(<$tool as $crate::__private::Tool>::declare()),*
        ])
    };
}

// Where they are defined as well; here they are found by whoever looks at the crate's first page.
#[doc(inline)]
pub use call::{RawArguments, ToolCall, ToolCallRequest};
#[doc(inline)]
pub use context::{CancellationToken, Context};
#[doc(inline)]
pub use definition::ToolDefinition;
#[doc(inline)]
pub use issue::Issue;
pub use output::{Answer, IntoOutput, ToolError};
#[doc(inline)]
pub use policy::Policy;
pub use registered::RegisteredTool;
pub use registry::ToolRegistry;
pub use registry_error::RegistryError;
#[doc(inline)]
pub use result::{Blocks, ToolOutcome, ToolOutput, ToolResult};
#[doc(inline)]
pub use state::State;
pub use tool::{IntoTools, Tool, ToolSet};
#[doc(inline)]
pub use tool_repair as repair;
#[cfg(feature = "stream")]
#[doc(inline)]
pub use tool_repair::sse;
#[doc = include_str!("docs/tool.md")]
pub use tool_runtime_macros::tool;
#[doc = include_str!("docs/tools.md")]
pub use tool_runtime_macros::tools;
pub use {schemars, serde, serde_json};
