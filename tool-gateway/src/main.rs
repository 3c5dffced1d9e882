//! The program `tool-gateway`.

use std::process::ExitCode;

/// A request's memory is often given back by another thread than the one that took it. The C library's allocator has threads wait
/// for each other there, which took a third of the time of a request.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tool_gateway::run(std::env::args_os())
}
