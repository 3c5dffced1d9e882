//! Annotated functions that echo their arguments, one for each schema of the table that a Rust type has. A function's
//! name is the schema's name.

/// Declares echoing tools of one parameter `x`: `name(attributes type)`. `register` takes them as they are,
/// `register_nested` takes tools of the same names with the parameter deep inside.
macro_rules! echo {
    ($($name:ident($(#[$arg:meta])* $type:ty);)*) => {
        $(
            /// Echoes its argument.
            #[tool_runtime::tool]
            pub async fn $name(
                /// The argument.
                $(#[$arg])*
                x: $type,
            ) -> String {
                crate::coercion::typed::echoed(&[("x", crate::coercion::typed::json(&x))])
            }
        )*

        pub fn register(registry: &mut tool_runtime::ToolRegistry) -> Result<(), tool_runtime::RegistryError> {
            $(registry.register::<$name>()?;)*
            Ok(())
        }

        pub fn register_nested(
            registry: &mut tool_runtime::ToolRegistry,
        ) -> Result<(), tool_runtime::RegistryError> {
            $(register_nested!(registry $name $(#[$arg])* $type);)*
            Ok(())
        }
    };
}

/// Registers an echoing tool whose `x` stands at `nesting::PLACE`. Attributes in `#[arg]` are for parameters alone.
macro_rules! register_nested {
    ($registry:ident $name:ident #[$($arg:tt)*] $type:ty) => {};
    ($registry:ident $name:ident $type:ty) => {{
        /// Echoes its argument.
        #[tool_runtime::tool]
        async fn $name(
            /// The arguments, deep inside.
            deep: Vec<crate::coercion::typed::Deep<$type>>,
        ) -> String {
            crate::coercion::typed::echoed(&[("deep", crate::coercion::typed::json(&deep))])
        }
        $registry.register::<$name>()?;
    }};
}

mod composed;
mod lists;
mod scalars;
mod several;
mod unions;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::ToolRegistry;

/// All of them.
pub fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    let families = [
        scalars::register,
        lists::register,
        composed::register,
        unions::register,
        several::register,
    ];
    for register in families {
        register(&mut registry).expect("the tool is sound");
    }
    registry
}

/// Tools whose parameter has a type and no attributes, with the parameter deep inside.
pub fn nested() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    let families = [
        scalars::register_nested,
        lists::register_nested,
        composed::register_nested,
        unions::register_nested,
    ];
    for register in families {
        register(&mut registry).expect("the tool is sound");
    }
    registry
}

/// What `nesting::schema` does to a schema, done to a type.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Deep<T> {
    /// What stands deep inside.
    inner: Inner<T>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Inner<T> {
    /// The argument.
    x: T,
}

/// An argument as JSON text: a `Value` would lose what is beyond 64 bits.
fn json(argument: &impl Serialize) -> String {
    serde_json::to_string(argument).expect("an argument is JSON")
}

fn echoed(arguments: &[(&str, String)]) -> String {
    let fields: Vec<_> = arguments
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", fields.join(","))
}
