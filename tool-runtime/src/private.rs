//! What the macros' output names; not API. The macro crate is pinned to exactly this version.

pub use std::sync::Arc;
pub use std::time::Duration;
pub use std::vec::Vec;

pub use serde_json::json;

pub use crate::declaration::Declaration;
pub use crate::fits::Fits;
pub use crate::output::{Output, Respond};
pub use crate::param::Param;
pub use crate::tool::{DeclaredTool, OneToolsBlockPerType, Tool};

// Not named by the output, but part of the signatures of what is.
pub use crate::causes::{ErrorText, Fallible, HandlerError, WithSources};
pub use crate::facets::{AsJson, Limits, Measured, Ranged, Shown, Textual};
pub use crate::host::Host;
pub use crate::output::WithCauses;
pub use crate::parameter::Parameter;
pub use crate::params::{Field, Lookup, ParamSpec, Params};
pub use crate::state::States;
pub use crate::supplied::{Around, Bare, ByHost, ByModel, Core, FromHost, Nothing, Sharable, Supplied};
pub use crate::tool::{Invocation, Shared, Started};
