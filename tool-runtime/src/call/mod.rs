//! Calls: [`ToolCall`], and the pipeline from a call to its outcome.

mod similar;
pub(crate) mod explain;
pub(crate) mod deadline;
pub(crate) mod catch;
pub(crate) mod prepare;
pub(crate) mod edited;
pub(crate) mod tool_call;
pub(crate) mod trace;
pub(crate) mod handle;
#[doc(hidden)] // shown as `tool_runtime::layer`
pub mod layer;
pub(crate) mod batch;

#[doc(inline)]
pub use self::prepare::ToolCallRequest;
#[doc(inline)]
pub use self::tool_call::ToolCall;
#[doc(inline)]
pub use crate::wire::raw_arguments::RawArguments;
