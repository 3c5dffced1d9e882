//! A schema and arguments that the bytes generate.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../arguments.rs"]
#[allow(dead_code, reason = "each target has its own")]
mod arguments;
#[path = "../everything.rs"]
mod everything;
#[path = "../../tests/support/lib.rs"]
#[allow(dead_code, reason = "the tests have more use for it")]
mod support;

fuzz_target!(|input: &[u8]| arguments::dynamic(input));
