//! [`ToolCall`], and the pipeline from a call to its outcome.

mod similar;
pub(crate) mod deadline;
pub(crate) mod catch;
pub(crate) mod request;
pub(crate) mod edited;
pub(crate) mod tool_call;
pub(crate) mod trace;
#[doc(hidden)] // shown as `tool_runtime::layer`
pub mod layer;
pub(crate) mod table;
pub(crate) mod explain;
pub(crate) mod prepare;
pub(crate) mod handle;
pub(crate) mod dispatch;
pub(crate) mod batch;

#[doc(inline)]
pub use self::request::ToolCallRequest;
#[doc(inline)]
pub use self::tool_call::ToolCall;
#[doc(inline)]
pub use crate::wire::raw_arguments::RawArguments;
