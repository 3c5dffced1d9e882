//! The words of the command line, and what `--help` says of them.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use tool_cli::When;

/// Serve tools to language models; repair and check what they send as tool calls.
#[derive(Debug, Parser)]
#[command(name = "tool-gateway", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Colour standard error: `auto`, `always` or `never`
    ///
    /// `auto` colours on a terminal, unless `NO_COLOR` is set.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        display_order = 100
    )]
    pub(crate) color: When,
}

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

/// Says what to write where clap has no idea.
pub(crate) fn advised(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::InvalidSubcommand && error.get(ContextKind::SuggestedSubcommand).is_none() {
        let tip = "the commands are `serve`, `tools`, `call`, `repair` and `check`; to serve, write `tool-gateway serve`";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

const EXAMPLES: &str = "\
Examples:
  echo \"{'done': True}\" | tool-gateway repair
  tool-gateway repair --explain answer.txt > answer.json
  tool-gateway repair --jsonl answers.jsonl > repaired.jsonl
  tool-gateway check --jsonl calls.jsonl > report.jsonl

`--help` after a command says everything about it, for example `tool-gateway repair --help`.";
