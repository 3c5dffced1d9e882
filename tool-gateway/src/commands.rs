//! Commands of the program, and its `--help`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Subcommand;
use tool_cli::Program;

use crate::{serve, tools};

/// Runs the program with these arguments, the first of which is the program's name. Returns the exit status.
///
/// Exit status 0 is success; 1 means that a part of the input could not be repaired or read, as each command's help says; 2 means wrong
/// usage, or an error of input or output, with a message on standard error.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    PROGRAM.run(arguments, |command: &Command, terminal| match command {
        Command::Local(command) => command.run(terminal),
        Command::Serve(options) => serve::run(options, terminal),
        #[cfg(feature = "mcp")]
        Command::Mcp(options) => serve::run_mcp(options),
        Command::Tools(options) => tools::print(options, terminal),
        Command::Call(options) => tools::call(options, terminal),
    })
}

const PROGRAM: Program = Program {
    name: "tool-gateway",
    version: env!("CARGO_PKG_VERSION"),
    about: "Serve tools to language models; repair and check what they send as tool calls",
    examples: EXAMPLES,
    tip: "the commands are `serve`, `mcp`, `tools`, `call`, `repair`, `check` and `calls`; to serve, write `tool-gateway serve`",
};

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Local(tool_cli::Command),
    /// Serve the Messages API: run the gateway's tools, and return the client's calls to the client
    #[command(long_about = crate::settings::options::ABOUT_SERVE, after_long_help = crate::settings::options::SERVE_EXAMPLES)]
    Serve(crate::settings::options::ServeOptions),
    /// Serve the gateway's tools to a client of the Model Context Protocol (MCP), over standard input and output
    #[cfg(feature = "mcp")]
    #[command(long_about = serve::mcp::ABOUT)]
    Mcp(serve::mcp::McpOptions),
    /// Print the definitions of the gateway's tools
    Tools(tools::ToolsOptions),
    /// Call one of the gateway's tools, and print its `tool_result`
    #[command(long_about = tools::ABOUT_CALL)]
    Call(tools::CallOptions),
}

const EXAMPLES: &str = "\
Examples:
  echo \"{'done': True}\" | tool-gateway repair
  tool-gateway repair --explain answer.txt > answer.json
  tool-gateway repair --jsonl answers.jsonl > repaired.jsonl
  tool-gateway check --jsonl calls.jsonl > report.jsonl
  tool-gateway calls --jsonl answers.jsonl > calls.jsonl

`--help` after a command says everything about it, for example `tool-gateway repair --help`.";
