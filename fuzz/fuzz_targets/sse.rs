//! Any bytes as a stream, and any text as the arguments of a call in one, in any pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target has its own")]
mod properties;
#[path = "../streams.rs"]
mod streams;

fuzz_target!(|input: &[u8]| streams::sse(input));
