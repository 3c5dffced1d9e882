//! Tools from definition to result: the definitions that models receive, calls in a registry, and the requirements. The suites are one
//! program, since each takes seconds to link.

mod definitions;
mod execution;
mod requirements;
