//! Any JSON as the schema of a definition, in the format of every API.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../definitions.rs"]
mod definitions;
#[path = "../../tests/definitions/subset.rs"]
mod subset;

fuzz_target!(|input: &[u8]| definitions::definitions(input));
