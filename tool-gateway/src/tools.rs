//! Tools of the program: their registry, and the commands `tools` and `call`, which need no server.

use std::io::{self, Write as _};

use clap::{Args, ValueEnum};
use serde_json::Value;
use tool_builtins::todo::{todo_read, todo_write};
use tool_cli::{Failure, Outcome, Terminal, visible};
use tool_runtime::format::{anthropic, mcp, openai};
use tool_runtime::{RegistryError, ToolCall, ToolRegistry};

use crate::settings::mistakes::Mistakes;
use crate::settings::unknown_tool::UnknownTool;
use crate::settings::workspace::{WorkspaceArgs, WorkspaceSettings};

#[derive(Debug, Args)]
pub(crate) struct ToolsOptions {
    /// API whose form the definitions have
    #[arg(long, value_name = "API", default_value = "anthropic")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Anthropic's Messages, as `GET /v1/tools` has them
    Anthropic,
    /// OpenAI's Chat Completions
    Openai,
    /// The Model Context Protocol
    Mcp,
}

#[derive(Debug, Args)]
pub(crate) struct CallOptions {
    /// The tool
    pub(crate) name: String,
    /// Its arguments, as a model writes them
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) arguments: String,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArgs,
}

pub(crate) const ABOUT_CALL: &str = "\
Call one of the gateway's tools, and print its `tool_result`; what was changed in the arguments goes to standard error.

Exit status: 0 the call succeeded; 1 the result is an error; 2 wrong usage.";

/// Creates a registry with the program's tools that need no configuration.
pub(crate) fn registry() -> Result<ToolRegistry, RegistryError> {
    let mut registry = ToolRegistry::new();
    registry.register::<todo_write>()?.register::<todo_read>()?;
    Ok(registry)
}

/// Returns the registry with the tools of a workspace, or the failure of the program.
pub(crate) fn loaded(
    workspace: &WorkspaceSettings,
    mistakes: &mut Mistakes,
) -> Result<ToolRegistry, Failure> {
    registry()
        .and_then(|registry| workspace.install(registry, mistakes))
        .map_err(|error| Failure::Message(format!("the tools cannot be registered: {error}")))
}

/// Returns the registry of a command without a configuration file.
fn command_registry(options: &WorkspaceArgs) -> Result<ToolRegistry, Failure> {
    let (mut workspace, mut mistakes) = (WorkspaceSettings::default(), Mistakes::default());
    workspace.set_options(options, &mut mistakes);
    let registry = loaded(&workspace, &mut mistakes)?;
    let checked = mistakes.into_result();
    checked.map_err(|mistakes| Failure::Message(mistakes.to_string()))?;
    Ok(registry)
}

pub(crate) fn print(options: &ToolsOptions) -> Result<Outcome, Failure> {
    let registry = command_registry(&options.workspace)?;
    let definitions = registry.tool_definitions();
    let forms: Vec<Value> = match options.format {
        Format::Anthropic => definitions.into_iter().map(anthropic::tool).collect(),
        Format::Openai => definitions.into_iter().map(openai::chat::tool).collect(),
        Format::Mcp => definitions.into_iter().map(mcp::tool).collect(),
    };
    let text = serde_json::to_string_pretty(&forms).unwrap_or_default();
    writeln!(io::stdout(), "{text}").map_err(|error| Failure::writing(&error))?;
    Ok(Outcome::Success)
}

pub(crate) fn call(options: &CallOptions, terminal: Terminal) -> Result<Outcome, Failure> {
    let registry = command_registry(&options.workspace)?;
    UnknownTool::check(&registry, [options.name.as_str()])
        .map_err(|error| Failure::Message(visible(&error.to_string())))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Message(format!("no runtime can be started: {error}")))?;
    let call = ToolCall::new("toolu_cli", &options.name, options.arguments.as_str());
    let outcome = runtime.block_on(registry.call(call));
    for warning in &outcome.warnings {
        terminal.print(&format!("{}\n", visible(&warning.to_string())));
    }
    let result = serde_json::to_string(&outcome.result).unwrap_or_default();
    writeln!(io::stdout(), "{result}").map_err(|error| Failure::writing(&error))?;
    Ok(Outcome::success_if(!outcome.result.is_error))
}
