//! A framework that re-exports the runtime under another name.

#![deny(warnings)]

pub use tool_runtime as tools;

pub mod prelude {
    pub use tool_runtime::{ToolRegistry, tool, tools};
}

/// A macro of the framework that creates a tool at its call site.
#[macro_export]
macro_rules! constant {
    ($name:ident, $about:literal, $type:ty, $value:expr) => {
        #[doc = $about]
        #[$crate::tools::tool(crate = $crate::tools)]
        pub async fn $name(
            /// Factor.
            #[arg(default = 1)]
            times: $type,
        ) -> $type {
            let constant: $type = $value;
            constant * times
        }
    };
}
