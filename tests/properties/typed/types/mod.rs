//! Types of all forms in serde's data model, each as the parameter of a tool.

/// Declares and lists tools with one parameter, `name: type;`.
macro_rules! probes {
    ($($name:ident: $type:ty;)*) => {
        pub fn probes() -> Vec<crate::properties::typed::probe::Probe> {
            vec![$({
                /// Answers with its argument, and with who read it.
                #[tool_runtime::tool]
                async fn $name(
                    /// The argument.
                    it: $type,
                    /// Records the deserializer.
                    reader: crate::properties::typed::probe::Reader,
                ) -> String {
                    crate::properties::typed::probe::answer(&it, reader)
                }
                crate::properties::typed::probe::Probe::new::<$name, $type>(stringify!($name))
            }),*]
        }
    };
}

mod enums;
mod custom;
mod scalars;
mod structs;
pub mod ignored_errors;
mod parameters;

use crate::properties::typed::probe::Probe;

/// Returns all tools that report rejected values.
pub fn probes() -> Vec<Probe> {
    [
        scalars::probes,
        structs::probes,
        enums::probes,
        custom::probes,
        parameters::probes,
    ]
    .into_iter()
    .flat_map(|probes| probes())
    .collect()
}
