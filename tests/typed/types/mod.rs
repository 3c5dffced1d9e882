//! Types of every form that serde knows, each as the parameter of a tool.

/// Declares tools of one parameter, `name: type;`, and lists them.
macro_rules! probes {
    ($($name:ident: $type:ty;)*) => {
        pub fn probes() -> Vec<crate::probe::Probe> {
            vec![$({
                /// Answers with its argument, and with who read it.
                #[tool_runtime::tool]
                async fn $name(
                    /// The argument.
                    it: $type,
                    /// Tells who reads.
                    reader: crate::probe::Reader,
                ) -> String {
                    crate::probe::answer(&it, reader)
                }
                crate::probe::Probe::new::<$name, $type>(stringify!($name))
            }),*]
        }
    };
}

mod enums;
mod own;
mod scalars;
mod structs;
pub mod swallowing;
mod top;

use crate::probe::Probe;

/// All of them that tell what they refuse.
pub fn probes() -> Vec<Probe> {
    [
        scalars::probes,
        structs::probes,
        enums::probes,
        own::probes,
        top::probes,
    ]
    .into_iter()
    .flat_map(|probes| probes())
    .collect()
}
