//! Names that the output uses itself, and raw identifiers.

#![allow(dead_code, non_snake_case, reason = "the names are the point")]
#![allow(
    clippy::used_underscore_binding,
    clippy::too_many_arguments,
    reason = "so are these"
)]

use tool_runtime::{RegistryError, ToolRegistry, tool};

pub(crate) const PARAMS: u8 = 7;

macro_rules! takes_everything {
    ($($name:ident)*) => {$(
        /// Take everything.
        #[tool]
        pub(crate) async fn $name(
            /// A.
            args: u8,
            /// B.
            rt: u8,
            /// C.
            call: u8,
            /// D.
            state: u8,
            /// E.
            r#type: u8,
            /// F.
            params: u8,
            /// G.
            declaration: u8,
            /// H.
            #[arg(name = "runtime")]
            __rt: u8,
            /// I.
            this: u8,
            /// J.
            $name: [u8; PARAMS as usize - 6],
            /// K.
            mut it: u8,
        ) -> u8 {
            it += args + rt + call + state + r#type + params + declaration + __rt + this;
            it + $name.iter().sum::<u8>()
        }
    )*};
}

takes_everything!(tool registry run declare function method Param Output);

macro_rules! named {
    ($($name:ident)*) => {$(
        /// Be called that.
        #[::tool_runtime::tool]
        pub(crate) async fn $name(
            /// Second parameter.
            $name: u8,
        ) -> u8 {
            $name
        }
    )*};
}

named!(args rt call state params declaration this State Context Tool Respond);

pub(crate) mod crates {
    named!(serde core alloc std tool_runtime tokio);
}

/// Raw.
#[tool]
pub(crate) async fn r#match() {}

/// Raw, and so is what it takes.
#[tool]
pub(crate) async fn r#type(
    /// A.
    r#async: u8,
    /// B.
    #[arg(default = 1, range = 0..)]
    r#fn: u8,
    /// C.
    r#gen: Option<u8>,
    r#static: tool_runtime::State<u8>,
) -> u8 {
    r#async + r#fn + r#gen.unwrap_or_default() + *r#static
}

/// Raw families.
#[derive(Debug)]
pub(crate) struct r#Struct;

#[tool_runtime::tools]
impl r#Struct {
    /// Raw.
    #[tool]
    async fn r#enum(
        &self,
        /// A.
        r#use: u8,
    ) -> u8 {
        r#use
    }
}

/// The alias itself.
#[tool]
pub(crate) async fn __rt(
    /// Nested name.
    #[arg(name = "rt")]
    __rt: u8,
) -> u8 {
    __rt
}

#[test]
fn every_definition_registers() -> Result<(), RegistryError> {
    let mut registry = ToolRegistry::new().with_state(1_u8);
    registry
        .register::<tool>()?
        .register::<Param>()?
        .register::<args>()?
        .register::<rt>()?
        .register::<call>()?
        .register::<state>()?
        .register::<crates::tool_runtime>()?
        .register::<r#match>()?
        .register::<r#type>()?
        .register_all(r#Struct)?
        .register::<__rt>()?;
    let definitions = registry.tool_definitions();
    let names: Vec<_> = definitions.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "tool",
            "Param",
            "args",
            "rt",
            "call",
            "state",
            "tool_runtime",
            "match",
            "type",
            "enum",
            "__rt",
        ],
    );
    Ok(())
}
