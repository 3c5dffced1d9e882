//! `tool-gateway serve`: starts the server, and ends it in order.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tool_cli::{Failure, Outcome, Terminal};

use crate::cli::client_keys::ClientKey;
use crate::cli::config::{Config, LimitsConfig};
use crate::cli::connections;
use crate::cli::gateway_of_config::{anthropic, configured, registry, script, with_store};
use crate::cli::log::start_log;
#[cfg(not(feature = "otlp"))]
use crate::cli::no_traces::Traces;
use crate::cli::server_options::{ServeOptions, UpstreamKind};
use crate::cli::stop_signals::StopSignals;
#[cfg(feature = "otlp")]
use crate::cli::traces::Traces;
use crate::server::http::gateway::{Gateway, Turns};
use crate::upstream::script::ScriptUpstream;

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

/// How long threads that block may go on when all else has ended.
const LAST: Duration = Duration::from_secs(1);

/// Runs a future to its end, and the program with it: a runtime that is dropped would wait for threads of tools, or for a disk that hangs.
fn run_on<T>(runtime: Runtime, work: impl Future<Output = T>) -> T {
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LAST);
    done
}

async fn serve(options: &ServeOptions, traces: Option<&Traces>) -> Result<Outcome, Failure> {
    let config = settings(options)?;
    let listen = config
        .listen
        .unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 8484)));
    let keys = client_keys(&config, listen)?;
    let registry = registry(&config, options)?;
    let script = script(&config)?;
    if options.check_config {
        // Address and file may be in use: by the server whose next configuration this is.
        if script.is_none() {
            anthropic(&config, options, listen).await?;
        }
        configured(Gateway::new(registry, ScriptUpstream::embedded()), &config)?;
        print("the configuration is right");
        return Ok(Outcome::Success);
    }
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Failure::Message(format!(
            "{listen} cannot be listened on: {error}; choose another with --listen"
        ))
    })?;
    let address = listener.local_addr().unwrap_or(listen);
    let gateway = match script {
        Some(script) => Gateway::new(registry, script),
        None => Gateway::new(registry, anthropic(&config, options, address).await?),
    };
    let mut gateway = configured(gateway, &config)?;
    gateway.create_offload_directory().map_err(|error| {
        Failure::Message(format!(
            "offload.directory: {error}; name another, or change its permissions"
        ))
    })?;
    gateway = with_client_keys(with_store(gateway, &config)?, keys);
    // Who reads that it listens may stop it at once.
    let signals = StopSignals::listen()
        .map_err(|error| Failure::Message(format!("signals cannot be listened to: {error}")))?;
    print_start(address, &gateway, traces);
    let turns = gateway.turns();
    let router = match traces {
        Some(traces) => traces.traced(gateway.router()),
        None => gateway.router(),
    };
    serve_until_stopped(listener, router, turns, &config.limits, &signals).await;
    Ok(Outcome::Success)
}

/// The keys of the clients; without any, no other machine is served.
fn client_keys(config: &Config, listen: SocketAddr) -> Result<Vec<ClientKey>, Failure> {
    let keys = ClientKey::all(&config.clients)?;
    if !listen.ip().is_loopback() && keys.is_empty() {
        return Err(Failure::Message(format!(
            "{listen} can be reached from other machines, and there are no client keys: anyone could use the upstream and run tools; \
             set TOOL_GATEWAY_CLIENT_KEYS to name=key or configure [[clients]], or listen on 127.0.0.1"
        )));
    }
    Ok(keys)
}

fn with_client_keys(gateway: Gateway, keys: Vec<ClientKey>) -> Gateway {
    if keys.is_empty() {
        return gateway;
    }
    let gateway = keys.into_iter().fold(gateway, |gateway, key| key.add_to(gateway));
    gateway.with_any_host()
}

/// Tells the operator what is served.
fn print_start(address: SocketAddr, gateway: &Gateway, traces: Option<&Traces>) {
    let names = gateway.tool_names();
    let offload = gateway.offload_directory().map_or_else(String::new, |directory| {
        format!("\noffload: {}", directory.display())
    });
    let traces = Traces::describe(traces).map_or_else(String::new, |traces| format!("\ntraces: {traces}"));
    print(&format!(
        "listening on http://{address}\ntools: {}\nstore: {}\nupstream: {}{offload}{traces}",
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        },
        gateway.store_name(),
        gateway.upstream_name(),
    ));
}

/// Serves until a signal; then no more requests are admitted, and those that run have some time. A second signal ends that, too.
async fn serve_until_stopped(
    listener: TcpListener,
    router: Router,
    turns: Turns,
    limits: &LimitsConfig,
    signals: &StopSignals,
) {
    let close = async {
        signals.received(1).await;
        turns.close();
    };
    let served = async {
        connections::serve(listener, router, limits.client_idle(), close).await;
        // Calls that must not be cut go on without their clients.
        turns.ended().await;
    };
    let grace = Duration::from_secs(limits.shutdown_seconds.unwrap_or(60));
    tokio::select! {
        () = served => {}
        // What is left is interrupted; from a file of sessions, retries learn that.
        () = async { signals.received(1).await; tokio::time::sleep(grace).await } => {}
        () = signals.received(2) => {}
    }
}

/// The configuration, with the options of the command line in front of what it says.
fn settings(options: &ServeOptions) -> Result<Config, Failure> {
    let mut config = match &options.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    match (options.upstream_kind, &options.script, &options.upstream) {
        (Some(UpstreamKind::Anthropic), Some(_), _) => {
            return Err(Failure::Message(
                "--script is for --upstream-kind script; leave one of the two out".to_owned(),
            ));
        }
        (Some(UpstreamKind::Script), _, Some(_)) => {
            return Err(Failure::Message(
                "--upstream is for --upstream-kind anthropic; a script asks no server: leave one of the two out".to_owned(),
            ));
        }
        (Some(kind), ..) => config.upstream.kind = Some(kind),
        (None, Some(_), _) => config.upstream.kind = Some(UpstreamKind::Script),
        (None, None, Some(_)) => config.upstream.kind = Some(UpstreamKind::Anthropic),
        (None, None, None) => {}
    }
    if config.upstream.kind == Some(UpstreamKind::Anthropic) && options.upstream_kind.is_some() {
        config.upstream.script = None;
    }
    let upstream = &mut config.upstream;
    upstream.script = options.script.clone().or(upstream.script.take());
    upstream.url = options.upstream.clone().or(upstream.url.take());
    config.listen = options.listen.or(config.listen);
    config.store = options.store.clone().or(config.store);
    config.tools.names = options.internal.clone().or(config.tools.names);
    config.tools.offer = options.offer.or(config.tools.offer);
    Ok(config)
}

/// Tells the operator; that nobody reads it stops nothing.
fn print(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_program_ends_though_a_thread_does_not() {
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
