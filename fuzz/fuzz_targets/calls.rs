//! Any text as an answer with calls, in any pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target has its own")]
mod properties;
#[path = "../text_calls.rs"]
mod text_calls;

fuzz_target!(|input: &[u8]| {
    text_calls::calls(input);
});
