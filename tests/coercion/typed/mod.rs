//! Annotated functions that echo their arguments, one for each schema of the table that a Rust type has. A function's
//! name is the schema's name.

/// Declares echoing tools of one parameter `x`: `name(attributes type)`.
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
                crate::typed::echoed(&[("x", crate::typed::json(&x))])
            }
        )*

        pub fn register(registry: &mut tool_runtime::ToolRegistry) -> Result<(), tool_runtime::RegistryError> {
            $(registry.register::<$name>()?;)*
            Ok(())
        }
    };
}

mod composed;
mod lists;
mod scalars;
mod several;
mod unions;

use serde::Serialize;
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
