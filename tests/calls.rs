//! Tools from definition to result: what models are shown, what a registry does around a call, and the requirements. One
//! program, since each takes seconds to link.

mod definitions;
mod execution;
mod requirements;
