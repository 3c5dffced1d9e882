//! Tools of the program: their registry, and the commands `tools` and `call`, which need no gateway.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::Value;
use tokio::runtime::Runtime;
use tool_builtins::todo::{todo_read, todo_write};
use tool_cli::{Failure, Outcome, Terminal, visible};
use tool_runtime::format::{anthropic, mcp, openai};
use tool_runtime::{RegistryError, ToolCall, ToolOutcome, ToolRegistry};

use crate::server::mcp::McpServers;
use crate::server::mcp::listed_tools::ListedTools;
use crate::settings::Settings;
use crate::settings::bash::Commands;
#[cfg(feature = "mcp")]
use crate::settings::mcp::pins::Pins;
use crate::settings::mistakes::Mistakes;
use crate::settings::unknown_tool::UnknownTool;
use crate::settings::workspace::{WorkspaceArgs, WorkspaceSettings};

#[derive(Debug, Args)]
pub(crate) struct ToolsOptions {
    /// API whose form the definitions have
    #[arg(long, value_name = "API", default_value = "anthropic")]
    pub(crate) format: Format,
    /// The configuration file, whose MCP servers are started and stopped
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Write the definitions of the MCP servers' tools into the file `mcp.pins`, and print the differences
    #[cfg(feature = "mcp")]
    #[arg(long, requires = "config")]
    pub(crate) pin: bool,
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
    /// The configuration file, whose MCP servers are started and stopped
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
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

/// Returns the registry with the tools of a workspace and of commands, or the failure of the program.
pub(crate) fn loaded(
    workspace: &WorkspaceSettings,
    commands: Option<&Commands>,
    mistakes: &mut Mistakes,
) -> Result<ToolRegistry, Failure> {
    registry()
        .and_then(|registry| workspace.install(registry, commands, mistakes))
        .and_then(|registry| match commands {
            Some(commands) => commands.install(registry),
            None => Ok(registry),
        })
        .map_err(|error| Failure::Message(format!("the tools cannot be registered: {error}")))
}

/// Returns the settings of a command's configuration file.
fn command_settings(config: Option<&Path>, workspace: &WorkspaceArgs) -> Result<CommandTools, Failure> {
    let (mut settings, mut mistakes) = Settings::load_file(config).map_err(Failure::Message)?;
    settings.workspace.set_options(workspace, &mut mistakes);
    let root = settings.workspace.root.as_deref();
    let bash = &settings.tools.bash;
    let commands = bash.open(root, settings.workspace.write, &mut mistakes);
    if let Some(commands) = &commands {
        commands.protect_process();
    }
    let registry = loaded(&settings.workspace, commands.as_ref(), &mut mistakes)?;
    let registry = settings.tools.select(registry, &mut mistakes);
    settings.mcp.check(&mut mistakes);
    let checked = mistakes.into_result();
    checked.map_err(|mistakes| Failure::Message(mistakes.to_string()))?;
    Ok(CommandTools { settings, registry })
}

/// Tools of a command, and the settings of its servers.
struct CommandTools {
    settings: Settings,
    registry: ToolRegistry,
}

fn runtime() -> Result<Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::Message(format!("no runtime can be started: {error}")))
}

/// Writes the pins of all tools, and prints the differences to the pins before.
#[cfg(feature = "mcp")]
fn pin(options: &ToolsOptions, terminal: Terminal) -> Result<Outcome, Failure> {
    let (mut settings, mut mistakes) =
        Settings::load_file(options.config.as_deref()).map_err(Failure::Message)?;
    let Some(path) = settings.mcp.take_pins() else {
        return Err(Failure::Message(
            "missing key `mcp.pins` in the configuration; expected the path of a file".to_owned(),
        ));
    };
    settings.mcp.check(&mut mistakes);
    let checked = mistakes.into_result();
    checked.map_err(|mistakes| Failure::Message(mistakes.to_string()))?;
    let before = if path.exists() {
        Pins::read(&path).map_err(Failure::Message)?
    } else {
        Pins::default()
    };
    let (failures, after) = runtime()?.block_on(async {
        let servers = McpServers::start_for(&settings, None);
        let listed = servers.listed(ToolRegistry::new()).await;
        let pins = servers.current_pins();
        servers.stop().await;
        (listed.failures, pins)
    });
    if let Some(failure) = failures.first() {
        // The pins of this server would be lost.
        return Err(Failure::Message(format!(
            "no pins were written: {}",
            visible(failure)
        )));
    }
    for line in before.differences(&after) {
        terminal.print(&format!("{}\n", visible(&line)));
    }
    after.write(&path).map_err(Failure::Message)?;
    Ok(Outcome::Success)
}

pub(crate) fn print(options: &ToolsOptions, terminal: Terminal) -> Result<Outcome, Failure> {
    #[cfg(feature = "mcp")]
    if options.pin {
        return pin(options, terminal);
    }
    let CommandTools { settings, registry } =
        command_settings(options.config.as_deref(), &options.workspace)?;
    let ListedTools {
        registry,
        left_out,
        failures,
        stderr,
    } = runtime()?.block_on(async {
        let servers = McpServers::start_for(&settings, None);
        let listed = servers.listed(registry).await;
        servers.stop().await;
        listed
    });
    for line in left_out.iter().chain(&failures).chain(&stderr) {
        terminal.print(&format!("{}\n", visible(line)));
    }
    let definitions = registry.tool_definitions();
    let forms: Vec<Value> = match options.format {
        Format::Anthropic => definitions.into_iter().map(anthropic::tool).collect(),
        Format::Openai => definitions.into_iter().map(openai::chat::tool).collect(),
        Format::Mcp => definitions.into_iter().map(mcp::tool).collect(),
    };
    let text = serde_json::to_string_pretty(&forms).unwrap_or_default();
    writeln!(io::stdout(), "{text}").map_err(|error| Failure::writing(&error))?;
    Ok(Outcome::success_if(failures.is_empty()))
}

async fn call_tool(
    registry: &ToolRegistry,
    options: &CallOptions,
    settings: &Settings,
) -> Result<ToolOutcome, Failure> {
    UnknownTool::check(registry, [options.name.as_str()]).map_err(|error| {
        let mut text = error.to_string();
        let starts = settings.mcp.name_starts();
        // The servers were not started, so that the list does not have their tools.
        if !starts.is_empty() && !starts.iter().any(|start| options.name.starts_with(start)) {
            text = format!(
                "{text}; names of tools of MCP servers begin with {}",
                starts.join(", ")
            );
        }
        Failure::Message(visible(&text))
    })?;
    let call = ToolCall::new("toolu_cli", &options.name, options.arguments.as_str());
    Ok(registry.call(call).await)
}

pub(crate) fn call(options: &CallOptions, terminal: Terminal) -> Result<Outcome, Failure> {
    let CommandTools { settings, registry } =
        command_settings(options.config.as_deref(), &options.workspace)?;
    let outcome = runtime()?.block_on(async {
        if registry.get_tool(&options.name).is_some() {
            return call_tool(&registry, options, &settings).await;
        }
        let servers = McpServers::start_for(&settings, Some(&options.name));
        let listed = servers.listed(registry).await;
        let outcome = match listed.failures.first() {
            Some(failure) if listed.registry.get_tool(&options.name).is_none() => {
                Err(Failure::Message(visible(failure)))
            }
            _ => call_tool(&listed.registry, options, &settings).await,
        };
        servers.stop().await;
        outcome
    })?;
    for warning in &outcome.warnings {
        terminal.print(&format!("{}\n", visible(&warning.to_string())));
    }
    let result = serde_json::to_string(&outcome.result).unwrap_or_default();
    writeln!(io::stdout(), "{result}").map_err(|error| Failure::writing(&error))?;
    Ok(Outcome::success_if(!outcome.result.is_error))
}
