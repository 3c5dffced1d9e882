//! The program `tool-gateway`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tool_gateway::run(std::env::args_os())
}
