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
    #[command(long_about = crate::settings::options::ABOUT_SERVE, after_long_help = crate::settings::options::SERVE_EXAMPLES)]
    Serve(crate::settings::options::ServeOptions),
    /// Print the definitions of the gateway's tools
    Tools(super::tools::ToolsOptions),
    /// Call one of the gateway's tools, and print its `tool_result`
    #[command(long_about = super::tools::ABOUT_CALL)]
    Call(super::tools::CallOptions),
}

const EXAMPLES: &str = "\
Examples:
  echo \"{'done': True}\" | tool-gateway repair
  tool-gateway repair --explain answer.txt > answer.json
  tool-gateway repair --jsonl answers.jsonl > repaired.jsonl
  tool-gateway check --jsonl calls.jsonl > report.jsonl

`--help` after a command says everything about it, for example `tool-gateway repair --help`.";
