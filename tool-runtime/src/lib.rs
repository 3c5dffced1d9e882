#![doc = "[coercion]: crate::coercion"] // rustdoc uses the first definition of a link, not the README's, which is a path in the repository
#![doc = "[guide]: crate::guide"]
#![doc = "[faults]: crate::faults"]
#![doc = "[arguments]: crate::guide::_2_arguments"]
#![doc = "[sloppy]: crate::guide::_3_sloppy_calls"]
#![doc = "[formats]: crate::guide::_9_formats"]
#![doc = "[repair]: crate::guide::_13_repair"]
#![doc = "[keys]: macro@crate::tool"]
#![doc = include_str!("../README.md")]

// Dependencies first: a module uses only modules declared before it.
mod wire;
mod host;
mod schema;
mod param;
mod arguments;
mod tool;
pub mod call;
mod allow_rules;
pub mod permission;
#[cfg(feature = "formats")]
pub mod format;
mod registry;
#[cfg(feature = "calls")]
mod declared_tools;
pub mod testing;
pub mod coercion;
pub mod faults;
#[cfg(doc)] // documentation and its tests only
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

// Public modules, re-exported without their folders.
#[doc(inline)]
pub use arguments::policy;
#[doc(inline)]
pub use call::layer;
#[doc(inline)]
pub use host::{context, session_values, state};
#[doc(inline)]
pub use wire::{definition, issue, message, result};

// Re-exported for the first page of the documentation.
#[doc(inline)]
pub use arguments::policy::Policy;
#[doc(inline)]
pub use call::{RawArguments, ToolCall, ToolCallRequest};
#[cfg(feature = "calls")]
pub use declared_tools::DeclaredTools;
#[doc(inline)]
pub use host::context::{CancellationToken, Context};
#[doc(inline)]
pub use host::extension::Extension;
#[cfg(feature = "calls")]
#[doc(inline)]
pub use host::from_text::FromText;
#[doc(inline)]
pub use host::progress::{Progress, ProgressReport};
#[doc(inline)]
pub use host::session_state::{SessionState, SessionStateGuard};
#[doc(inline)]
pub use host::session_store::SessionStateStore;
#[doc(inline)]
pub use host::session_values::SessionValues;
#[doc(inline)]
pub use host::state::State;
#[doc(inline)]
pub use param::not_blank::NotBlank;
#[doc(inline)]
pub use param::patch::Patch;
pub use registry::ToolRegistry;
pub use tool::entry::RegisteredTool;
pub use tool::left_out::LeftOut;
pub use tool::output::convert::{HandlerOutput, IntoToolOutput};
pub use tool::output::structured::Structured;
pub use tool::registry_error::RegistryError;
pub use tool::tool_error::ToolError;
pub use tool::tool_trait::{DeclaredTool, IntoTools, Tool, ToolSet};
#[doc(inline)]
pub use tool_repair as repair;
#[cfg(feature = "stream")]
#[doc(inline)]
pub use tool_repair::sse;
#[doc = include_str!("docs/guide_links.md")]
#[doc = ""]
#[doc = include_str!("docs/tool.md")]
///
/// Items: [`Blocks`], [`CancellationToken`], [`Context`],
/// [`Context::with_extension`], [`Context::with_progress`],
/// [`Extension`], [`Patch`], [`Progress`],
/// [`SessionState`], [`State`], [`ToolError::retry`],
/// [`ToolOutput`],
/// [`ToolRegistry::with_defaults_in_schemas`],
/// [`ToolRegistry::with_state`],
/// [`format::anthropic::strict_tool`].
pub use tool_runtime_macros::tool;
#[doc = include_str!("docs/guide_links.md")]
#[doc = ""]
#[doc = include_str!("docs/tools.md")]
///
/// Items: [`ToolRegistry::register_all`], [`ToolSet`].
pub use tool_runtime_macros::tools;
#[doc(inline)]
pub use wire::definition::ToolDefinition;
#[doc(inline)]
pub use wire::issue::Issue;
#[doc(inline)]
pub use wire::result::{Blocks, ToolOutcome, ToolOutput, ToolResult};
pub use {schemars, serde, serde_json};
