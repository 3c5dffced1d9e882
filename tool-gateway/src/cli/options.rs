//! The commands of the program, and its `--help`.

use clap::Subcommand;
use tool_cli::Program;

pub(crate) const PROGRAM: Program = Program {
    name: "tool-gateway",
    version: env!("CARGO_PKG_VERSION"),
    about: "Serve tools to language models; repair and check what they send as tool calls",
    examples: EXAMPLES,
    tip: "the commands are `serve`, `tools`, `call`, `repair` and `check`; to serve, write `tool-gateway serve`",
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Local(tool_cli::Command),
    /// Serve the Messages API: run the gateway's tools, and return the client's calls to the client
    #[command(long_about = super::server_options::ABOUT_SERVE, after_long_help = super::server_options::SERVE_EXAMPLES)]
    Serve(super::server_options::ServeOptions),
    /// Print the definitions of the gateway's tools
    Tools(super::server_options::ToolsOptions),
    /// Call one of the gateway's tools, and print its `tool_result`
    #[command(long_about = super::server_options::ABOUT_CALL)]
    Call(super::server_options::CallOptions),
}

const EXAMPLES: &str = "\
Examples:
  echo \"{'done': True}\" | tool-gateway repair
  tool-gateway repair --explain answer.txt > answer.json
  tool-gateway repair --jsonl answers.jsonl > repaired.jsonl
  tool-gateway check --jsonl calls.jsonl > report.jsonl

`--help` after a command says everything about it, for example `tool-gateway repair --help`.";
