//! A stream of an upstream of the gateway.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tool-gateway/tests/malformed/properties.rs"]
#[allow(dead_code, reason = "each target has its own")]
mod properties;

fuzz_target!(|input: &[u8]| {
    let _ = properties::upstream(input, true, true);
});
