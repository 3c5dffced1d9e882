//! The command line: its options, and a file for each command.

// Dependencies first: a module uses only modules declared before it.
mod tools;
mod options;
mod log_lines;
mod connections;
mod collector;
#[cfg(not(feature = "otlp"))]
mod no_traces;
#[cfg(feature = "otlp")]
mod otlp_client;
#[cfg(feature = "otlp")]
mod traces;
mod log;
mod stop_signals;
mod serve;

use std::ffi::OsString;
use std::process::ExitCode;

use options::{Command, PROGRAM};

/// Runs the program with its arguments, the first of which is its name, and returns the exit status.
///
/// Exit status 0: success. 1: part of the input could not be repaired or read, as each command's help says.
/// 2: wrong usage, or an error of input or output; standard error has a message.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    PROGRAM.run(arguments, |command: &Command, terminal| match command {
        Command::Local(command) => command.run(terminal),
        Command::Serve(options) => serve::run(options, terminal),
        Command::Tools(options) => tools::print(options),
        Command::Call(options) => tools::call(options, terminal),
    })
}
