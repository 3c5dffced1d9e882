//! Any bytes as a stream, and any text as the arguments of a streamed call, in any pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target has its own")]
mod properties;
#[path = "../streams.rs"]
mod streams;

fuzz_target!(|input: &[u8]| streams::sse(input));
