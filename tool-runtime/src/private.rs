//! The items that the macros' output uses; not API. The macro crate is pinned to exactly this version.

pub use std::sync::Arc;
pub use std::time::Duration;
pub use std::vec::Vec;

pub use serde_json::json;

pub use crate::param::declared::Param;
pub use crate::param::into_param::IntoParam;
pub use crate::testing::definitions::check_definitions;
pub use crate::tool::blocking::blocking;
pub use crate::tool::declaration::Declaration;
pub use crate::tool::output::convert::{Output, Respond};
pub use crate::tool::tool_trait::{DeclaredTool, OneToolsBlockPerType, Tool, WithOutputSchema};

// The output does not name these items, but they are part of signatures that the output uses.
pub use crate::host::state::States;
pub use crate::host::{Host, HostError};
pub use crate::param::constraints::{AsJson, HasLength, Limits, Numeric, StringType, ToJson};
pub use crate::param::parameter::Parameter;
pub use crate::param::params::{ArgumentSource, Field, ParamSpec, Params};
pub use crate::param::source::{
    ByHost, ByModel, ExtensionType, FromHost, Inner, Never, ParamSource, SessionStateType, StateType,
    Unwrapped, Wrapped,
};
pub use crate::testing::definitions::AsRegistry;
pub use crate::tool::output::causes::{ErrorText, Fallible, HandlerError, WithSources};
pub use crate::tool::output::convert::{OutputOf, WithCauses};
pub use crate::tool::tool_trait::{DeclaredOf, Invocation, Shared, Started};
