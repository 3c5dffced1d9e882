//! Properties of the arguments of every call: on random schemas, types and arguments, on the seeds of the fuzz targets,
//! and on input that is made to break something.
//!
//! `PROPERTIES_LONG=1` tries many more.

mod coercion;
mod malformed_input;
mod exponential_schemas;
mod mutations;
mod typed;
mod fuzz_seeds;

// The files of the fuzz targets name each other by these names.
use tests as support;

#[path = "../../fuzz/arguments.rs"]
mod arguments;
#[path = "../../fuzz/definitions.rs"]
mod definitions;
#[path = "../../fuzz/everything.rs"]
mod everything;
#[path = "../definitions/subset.rs"]
mod subset;
