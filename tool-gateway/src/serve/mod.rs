//! `tool-gateway serve`: starts the server, and shuts it down gracefully.

// A module uses only modules that are declared before it.
mod log_lines;
mod log;
mod client_stream;
mod command_sessions;
mod connections;
mod waiting;
mod otlp;
mod stop_signals;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tool_cli::{Failure, Outcome, Terminal};

use self::connections::ClientTimes;
use self::log::start_log;
#[cfg(feature = "mcp")]
use self::mcp::McpOptions;
use self::otlp::Traces;
use self::stop_signals::StopSignals;
use crate::server::http::gateway::Gateway;
use crate::server::http::running_turns::Turns;
use crate::server::mcp::McpServers;
use crate::server::observe::audit::Audit;
use crate::session::store::StoreError;
use crate::settings::Settings;
use crate::settings::bash::Commands;
use crate::settings::limits::Limits;
use crate::settings::mistakes::Mistakes;
use crate::settings::options::ServeOptions;
use crate::settings::permissions::{PermissionRule, ToolAliases};
use crate::settings::unknown_tool::KnownTools;
use crate::settings::upstream::ChatSections;
use crate::tools;

pub(crate) fn run(options: &ServeOptions, _: Terminal) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Message(format!("no runtime can be started: {error}")))?;
    let traces = Traces::from_environment(runtime.handle())?;
    start_log(traces.as_ref().map(Traces::layer));
    run_on(runtime, async {
        let served = serve(options, traces.as_ref()).await;
        if let Some(traces) = traces {
            traces.end().await;
        }
        served
    })
}

/// Runs `tool-gateway mcp`.
#[cfg(feature = "mcp")]
pub(crate) fn run_mcp(options: &McpOptions) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Message(format!("no runtime can be started: {error}")))?;
    start_log(None);
    run_on(runtime, mcp::serve(options))
}

/// Time for blocked threads after all other work has ended.
const LAST: Duration = Duration::from_secs(1);

/// Runs a future to its end, and then shuts down the runtime. The drop of a runtime would wait for blocked threads, such as a hanging disk.
fn run_on<T>(runtime: Runtime, work: impl Future<Output = T>) -> T {
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LAST);
    done
}

async fn serve(options: &ServeOptions, traces: Option<&Traces>) -> Result<Outcome, Failure> {
    let (settings, mut mistakes) = Settings::load(options).map_err(Failure::Message)?;
    let (listen, limits) = (settings.listen, settings.limits.clone());
    let aliases = ToolAliases::default();
    let Configured { gateway, commands } = configured(&settings, &aliases, &mut mistakes).await?;
    mistakes
        .into_result()
        .map_err(|mistakes| Failure::Message(mistakes.to_string()))?;
    if options.check_config {
        // The address and the session file are not opened, since a running server may use them.
        print("the configuration is valid");
        return Ok(Outcome::Success);
    }
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Failure::Message(format!(
            "cannot listen on {listen}: {error}; choose another address with --listen"
        ))
    })?;
    let address = listener.local_addr().unwrap_or(listen);
    gateway.create_offload_directory().map_err(|error| {
        Failure::Message(format!(
            "offload.directory: {error}; name another directory, or change its permissions"
        ))
    })?;
    let store = settings.sessions.open(&settings.store);
    let store = store.map_err(|StoreError(error)| Failure::Message(format!("--store: {error}")))?;
    if let Some(commands) = &commands {
        commands.protect_process();
    }
    let servers = McpServers::start(&settings, &aliases);
    let gateway = gateway
        .with_shared_store(Arc::clone(&store))
        .with_mcp_servers(servers.clone());
    // The signal handlers are installed first, since a process that reads the start message may send a signal at once.
    let signals = StopSignals::listen()
        .map_err(|error| Failure::Message(format!("the signal handlers cannot be installed: {error}")))?;
    let base_path = settings.base_path.as_str();
    let metrics = metrics_listener(settings.metrics.listen).await?;
    let started = Started {
        address: format!("{address}{base_path}"),
        metrics: metrics.as_ref().and_then(|metrics| metrics.local_addr().ok()),
        key: settings.upstream.describe_key(),
        workspace: settings.workspace.describe(),
        commands: commands.as_ref().map(Commands::to_string),
    };
    started.print(&gateway, &servers, traces);
    let listeners = waiting::Listeners {
        clients: &listener,
        base_path,
        metrics: metrics.as_ref(),
        times: ClientTimes::new(&limits),
    };
    tokio::select! {
        // A signal that arrives between the start message and this line does not end the program before the drain time.
        biased;
        () = waiting::wait_for_store(&store, listeners) => {}
        () = signals.received(1) => return Ok(Outcome::Success),
    }
    let turns = gateway.turns();
    let (mut router, metrics_router) = gateway.routers();
    if !base_path.is_empty() {
        router = Router::new().nest(base_path, router);
    }
    if let Some(traces) = traces {
        router = traces.traced(router);
    }
    if let Some(metrics) = metrics {
        // The listener for metrics ends with the program, so that the last values can be read.
        let times = ClientTimes::new(&limits);
        tokio::spawn(connections::serve(
            metrics,
            metrics_router,
            times,
            std::future::pending(),
        ));
    }
    let sweep = commands.clone().map(|commands| {
        let turns = turns.clone();
        tokio::spawn(async move { command_sessions::sweep(commands, store, &turns).await })
    });
    serve_until_stopped(listener, router, turns, &limits, &signals).await;
    if let Some(sweep) = sweep {
        sweep.abort();
    }
    if let Some(commands) = commands {
        // An error is a panic, after which the commands are ended when they are dropped.
        let _ = tokio::task::spawn_blocking(move || commands.end()).await;
    }
    tokio::select! {
        () = servers.stop() => {}
        // The processes are killed when the servers are dropped.
        () = signals.received(2) => {}
    }
    Ok(Outcome::Success)
}

/// Opens the listener for metrics.
async fn metrics_listener(listen: Option<SocketAddr>) -> Result<Option<TcpListener>, Failure> {
    let Some(listen) = listen else {
        return Ok(None);
    };
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Failure::Message(format!(
            "metrics.listen: {listen} cannot be listened on: {error}; choose another"
        ))
    })?;
    Ok(Some(listener))
}

/// A gateway without its store, and its commands.
struct Configured {
    gateway: Gateway,
    commands: Option<Commands>,
}

/// Builds a gateway with these settings, except for the store. Adds all mistakes in the settings.
async fn configured(
    settings: &Settings,
    aliases: &ToolAliases,
    mistakes: &mut Mistakes,
) -> Result<Configured, Failure> {
    let keys = settings.client_keys(mistakes);
    let mut workspace = settings.workspace.clone();
    workspace
        .deny
        .extend(PermissionRule::unreadable(&settings.permissions));
    let workspace = &workspace;
    let root = workspace.root.as_deref();
    let commands = settings.tools.bash.open(root, workspace.write, mistakes);
    let registry = tools::loaded(workspace, commands.as_ref(), mistakes)?;
    settings.workspace.check(&keys, settings.store.reach(), mistakes);
    let registry = settings.tools.select(registry, mistakes);
    let registry = PermissionRule::apply(&settings.permissions, root, aliases, registry).layer(Audit);
    let chat = ChatSections {
        models: &settings.models,
        text_calls: &settings.text_calls,
        format_fixing: settings.chat_format_fixing(),
    };
    let upstream = settings.upstream.build(&chat, settings.listen, mistakes).await;
    let mut gateway = Gateway::with_settings(registry, upstream, settings.clone());
    if let Some(offload) = settings.offload.clone() {
        offload.check(settings.store.reach(), mistakes);
        let known = KnownTools {
            registry: gateway.registry(),
            may_have: &|name| settings.mcp.owns(name),
        };
        mistakes.check_names(known, ["offload", "exclude"], offload.excluded());
        if mistakes.is_correct("offload")
            && let Err(error) = gateway.set_offload(offload)
        {
            mistakes.add(&["offload", "directory"], error);
        }
    }
    settings.check_tools(gateway.registry(), &keys, mistakes);
    settings.metrics.check(mistakes);
    settings.sessions.check(&settings.store, mistakes);
    settings.mcp.check(mistakes);
    settings.mcp.check_addresses(settings.listen, mistakes).await;
    for client in &settings.clients {
        if let Some(tools) = &client.tools {
            // Unknown names are already recorded as mistakes.
            gateway.set_client_tools(&client.name, tools.iter().cloned().collect());
        }
    }
    if !keys.is_empty() {
        gateway = gateway.with_client_keys(keys).with_any_host();
    }
    Ok(Configured { gateway, commands })
}

/// Addresses that are printed at the start.
struct Started {
    /// Address with the base path.
    address: String,
    /// Address of the listener for metrics.
    metrics: Option<SocketAddr>,
    /// Source of the upstream's key.
    key: String,
    /// The folder of the tools for files, and whether they may write.
    workspace: Option<String>,
    /// Confinement of commands.
    commands: Option<String>,
}

impl Started {
    /// Prints the addresses and the settings.
    fn print(&self, gateway: &Gateway, servers: &McpServers, traces: Option<&Traces>) {
        let names = gateway.tool_names();
        let servers = servers.names();
        let servers = if servers.is_empty() {
            String::new()
        } else {
            format!("\nmcp servers: {}", servers.join(", "))
        };
        let offload = gateway.offload_directory().map_or_else(String::new, |directory| {
            format!("\noffload: {}", directory.display())
        });
        let workspace = self
            .workspace
            .as_ref()
            .map_or_else(String::new, |workspace| format!("\nworkspace: {workspace}"));
        let commands = self
            .commands
            .as_ref()
            .map_or_else(String::new, |confinement| format!("\nsandbox: {confinement}"));
        let metrics = self.metrics.map_or_else(String::new, |metrics| {
            format!("\nmetrics: http://{metrics}/metrics")
        });
        let traces =
            Traces::describe(traces).map_or_else(String::new, |traces| format!("\ntraces: {traces}"));
        print(&format!(
            "listening on http://{}\ntools: {}{servers}\nstore: {}\nupstream: {}{}{offload}{workspace}{commands}{metrics}{traces}",
            self.address,
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            },
            gateway.store_name(),
            gateway.upstream_name(),
            self.key,
        ));
    }
}

/// Serves until a signal. After the signal, no more requests are admitted, and running requests have `limits.shutdown` to end. The listener
/// stays open for this time, so that a load balancer reads 503. A second signal ends the program at once.
async fn serve_until_stopped(
    listener: TcpListener,
    router: Router,
    turns: Turns,
    limits: &Limits,
    signals: &StopSignals,
) {
    let stop = async {
        signals.received(1).await;
        if !limits.drain.is_zero() {
            turns.drain();
            tokio::time::sleep(limits.drain).await;
        }
        turns.close();
        // Calls that must not be interrupted continue without their clients.
        turns.ended().await;
        turns.answered().await;
    };
    let times = ClientTimes::new(limits);
    let leases = turns.clone();
    tokio::select! {
        () = connections::serve(listener, router, times, stop) => {}
        // The remaining calls are interrupted. A store in a file reports the interruption to a retry.
        () = async { signals.received(1).await; tokio::time::sleep(limits.drain.saturating_add(limits.shutdown)).await } => {}
        () = signals.received(2) => {}
    }
    // Other gateways continue the turns that were cut.
    leases.release().await;
}

/// Prints a message for the operator. The program continues if standard error is closed.
fn print(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn program_ends_beside_a_blocked_thread() {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let began = Instant::now();
        let done = run_on(runtime, async {
            tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_secs(120)));
            tokio::task::yield_now().await;
            5
        });
        assert_eq!(done, 5);
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    }
}
