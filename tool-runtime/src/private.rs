//! What the macros' output names; not API. The macro crate is pinned to exactly this version.

pub use std::sync::Arc;
pub use std::time::Duration;
pub use std::vec::Vec;

pub use serde_json::json;

pub use crate::declaration::Declaration;
pub use crate::output::{Output, Respond};
pub use crate::param::{IntoDefault, Param};
pub use crate::tool::{Call, DeclaredTool, Handled, Tool, ToolSet};
