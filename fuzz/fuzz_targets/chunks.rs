//! Any text in any pieces, with ordinary and with small limits.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target has its own")]
mod properties;

fuzz_target!(|input: &[u8]| properties::chunks(input));
