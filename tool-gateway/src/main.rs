//! The program `tool-gateway`.

use std::process::ExitCode;

/// Memory of a request is often allocated by one thread and freed by another. The C library's allocator makes threads wait for each other
/// then, which took a third of the time of a request.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tool_gateway::run(std::env::args_os())
}
