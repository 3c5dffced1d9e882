//! The command line: its options, and a file for each command.

// Dependencies first: a module uses only modules declared before it.
mod server_options;
mod options;
mod config;
mod client_keys;
mod log_lines;
mod connections;
mod tools;
mod gateway_of_config;
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

use clap::Parser as _;
use tool_cli::{Ending, Failure, Terminal};

use options::{Command, Options};

/// Runs the program with its arguments, the first of which is its name, and says how it ended.
///
/// Exit status 0: done. 1: done, and something could not be repaired or read, as each command's help says.
/// 2: wrong usage, or input that could not be read or output that could not be written; standard error says
/// what to do.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let options = match Options::try_parse_from(arguments) {
        Ok(options) => options,
        Err(stop) => {
            let stop = options::advised(stop);
            // Help and version come this way, too. Where nobody reads them, there is nobody to tell.
            let _ = stop.print();
            return u8::try_from(stop.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    let terminal = Terminal::new(options.color);
    let ended = match &options.command {
        Command::Local(command) => command.run(terminal),
        Command::Serve(options) => serve::run(options, terminal),
        Command::Tools(options) => tools::print(options),
        Command::Call(options) => tools::call(options, terminal),
    };
    match ended {
        Ok(Ending::Fine) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Ok(Ending::WithErrors) => ExitCode::from(1),
        Err(Failure::Message(message)) => {
            terminal.fail(&message);
            ExitCode::from(2)
        }
    }
}
