//! Ready-made tools for [`tool_runtime`]: ordinary annotated functions, one family to a file.
//!
//! - [`mod@todo`]: `TodoWrite` and `TodoRead`, a model's task list, and the place to learn from how a tool is made.
//! - [`offload`]: long results go to files and leave a pointer; by hand, as a tool, or around every call.

pub mod offload;
pub mod todo;
