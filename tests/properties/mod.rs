//! Properties of the arguments of every call: with random schemas, types and arguments, with the seeds of the fuzz targets, and with
//! malicious input.
//!
//! `PROPERTIES_LONG=1` tests many more.

mod coercion;
#[cfg(feature = "jsonschema")]
mod valid_arguments;
mod malformed_input;
mod exponential_schemas;
mod mutations;
mod typed;
mod fuzz_seeds;

// The files of the fuzz targets use these module names.
use tests as support;

#[path = "../../fuzz/arguments.rs"]
mod arguments;
#[path = "../../fuzz/definitions.rs"]
mod definitions;
#[path = "../../fuzz/everything.rs"]
mod everything;
#[path = "../definitions/subset.rs"]
mod subset;
