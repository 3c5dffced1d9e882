//! Annotated functions that echo their arguments, one for each schema of the table that a Rust type can have. The name of a function is the
//! name of its schema.

/// Declares echoing tools with one parameter `x`: `name(attributes type)`. `register` registers these tools.
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
    };
}

/// Declares the tools of [`echo`], and `register_nested`, which registers tools of the same names with the parameter deep inside.
macro_rules! echo_nested {
    ($($name:ident($(#[$arg:meta])* $type:ty);)*) => {
        echo! { $($name($(#[$arg])* $type);)* }

        pub fn register_nested(
            registry: &mut tool_runtime::ToolRegistry,
        ) -> Result<(), tool_runtime::RegistryError> {
            $(register_nested!(registry $name $(#[$arg])* $type);)*
            Ok(())
        }
    };
}

/// Registers an echoing tool whose `x` is at `nesting::PLACE`. `#[arg]` attributes apply only to parameters.
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

/// Registers all typed tools.
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

/// Registers the tools whose parameter has no attributes, with a nested parameter. Scalars are left out, since the other
/// families contain scalars, and each tool takes a tenth of a second to compile.
pub fn nested() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    let families = [
        lists::register_nested,
        composed::register_nested,
        unions::register_nested,
    ];
    for register in families {
        register(&mut registry).expect("the tool is sound");
    }
    registry
}

/// Nests a type like `nesting::schema` nests a schema.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Deep<T> {
    /// Nested value.
    inner: Inner<T>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Inner<T> {
    /// The argument.
    x: T,
}

/// Writes an argument as JSON text, since a `Value` would lose numbers beyond 64 bits.
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
