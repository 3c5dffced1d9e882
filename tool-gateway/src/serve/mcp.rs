//! `tool-gateway mcp`: serves the gateway's tools to the client of MCP that has started the program.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::Args;
use tool_cli::{Failure, Outcome};

use crate::server::http::mcp_endpoint::{call_context, served};
use crate::server::mcp::McpServers;
use crate::server::observe::audit::Audit;
use crate::settings::Settings;
use crate::settings::permissions::{PermissionRule, ToolAliases};
use crate::tools;

#[derive(Debug, Args)]
pub(crate) struct McpOptions {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) const ABOUT: &str = "\
Serve the gateway's tools over standard input and output, for a client of the Model Context Protocol (MCP) that starts this program.

The tools are those of `serve` with the same configuration: the program's own, and those of `[mcp.servers]`. Messages for the operator \
go to standard error.

Exit status: 0 the client has closed the input, or SIGTERM; 2 wrong usage.";

/// Serves the client until it closes the input, or SIGTERM.
pub(super) async fn serve(options: &McpOptions) -> Result<Outcome, Failure> {
    let (mut settings, mut mistakes) =
        Settings::load_file(options.config.as_deref()).map_err(Failure::Message)?;
    // No other machine can reach the program, so no client keys are required.
    settings.listen = (Ipv4Addr::LOCALHOST, 0).into();
    let aliases = ToolAliases::default();
    let unreadable = PermissionRule::unreadable(&settings.permissions);
    settings.workspace.deny.extend(unreadable);
    let root = settings.workspace.root.as_deref();
    let bash = &settings.tools.bash;
    let commands = bash.open(root, settings.workspace.write, &mut mistakes);
    let registry = tools::loaded(&settings.workspace, commands.as_ref(), &mut mistakes)?;
    let registry = settings.tools.select(registry, &mut mistakes);
    settings.check_tools(&registry, &settings.client_keys(&mut mistakes), &mut mistakes);
    settings.mcp.check(&mut mistakes);
    settings.mcp.check_addresses(settings.listen, &mut mistakes).await;
    mistakes
        .into_result()
        .map_err(|mistakes| Failure::Message(mistakes.to_string()))?;
    if let Some(commands) = &commands {
        commands.protect_process();
    }
    let registry = PermissionRule::apply(&settings.permissions, root, &aliases, registry).layer(Audit);
    let servers = McpServers::start(&settings, &aliases);
    let generations = servers.generations(registry, <_>::default());
    // Some clients read the list of tools only once.
    servers.first_lists(None).await;
    let (registry, mut changes) = generations.registry_and_changes();
    let server = settings.mcp.server(served(&settings.mcp, &registry, None));
    let follow = async {
        while changes.changed().await.is_ok() {
            let (registry, _) = generations.registry_and_changes();
            server.replace(served(&settings.mcp, &registry, None));
        }
        std::future::pending::<()>().await;
    };
    let end = tokio::select! {
        end = server.clone().serve_stdio_with(call_context()) => end,
        () = follow => Ok(()),
    };
    servers.stop().await;
    if let Some(commands) = commands {
        // An error is a panic, after which the commands are ended when they are dropped.
        let _ = tokio::task::spawn_blocking(move || commands.end()).await;
    }
    match end {
        Ok(()) => Ok(Outcome::Success),
        Err(error) => Err(Failure::Message(format!(
            "standard input or output cannot be used: {error}"
        ))),
    }
}
