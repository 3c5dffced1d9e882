//! The program `tool-gateway`.

use std::process::ExitCode;

/// Memory of a request is often allocated by one thread and freed by another. The C library's allocator makes threads wait for each other
/// then, which took a third of the time of a request. Background threads of jemalloc return free pages to the system after ten seconds, also
/// from an idle program.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Allocator of systems on which jemalloc has no background threads. An idle program keeps free pages.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tool_gateway::run(std::env::args_os())
}
