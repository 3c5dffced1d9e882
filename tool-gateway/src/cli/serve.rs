//! `tool-gateway serve`: starts the server, and ends it in order.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tool_runtime::permission::{Decision, Permission, PermissionRequest};
use tool_runtime::{CancellationToken, ToolRegistry};

use crate::cli::client_keys::ClientKey;
use crate::cli::config::{
    Config, DecisionName, OffloadConfig, OwnershipRule, PermissionConfig, SessionsConfig,
};
use crate::cli::ending::{Ending, Failure};
use crate::cli::log_lines::LogLines;
use crate::cli::server_options::{OfferName, ServeOptions, StoreName, UpstreamKind};
use crate::cli::terminal::Terminal;
use crate::cli::{connections, tools};
use crate::server::gateway::Gateway;
use crate::server::offload::{InvalidOffload, Offload};
use crate::server::unknown_tool::UnknownTool;
use crate::session::file::FileStore;
use crate::session::memory::MemoryStore;
use crate::session::store::StoreError;
use crate::turn::ownership::{Offer, Ownership};
use crate::upstream::anthropic::AnthropicUpstream;
use crate::upstream::script::ScriptUpstream;

pub(crate) fn run(options: &ServeOptions, _: Terminal) -> Result<Ending, Failure> {
    start_log();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Message(format!("no runtime can be started: {error}")))?;
    run_on(runtime, serve(options))
}

/// How long threads that block may go on when all else has ended.
const LAST: Duration = Duration::from_secs(1);

/// Runs a future to its end, and the program with it: a runtime that is dropped would wait for threads of tools, or for a disk that hangs.
fn run_on<T>(runtime: Runtime, work: impl Future<Output = T>) -> T {
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LAST);
    done
}

async fn serve(options: &ServeOptions) -> Result<Ending, Failure> {
    let config = settings(options)?;
    let listen = config
        .listen
        .unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 8484)));
    let keys = ClientKey::all(&config.clients)?;
    if !listen.ip().is_loopback() && keys.is_empty() {
        return Err(Failure::Message(format!(
            "{listen} can be reached from other machines, and there are no client keys: anyone could use the upstream and run tools; \
             set TOOL_GATEWAY_CLIENT_KEYS to name=key or configure [[clients]], or listen on 127.0.0.1"
        )));
    }
    let registry = registry(&config, options)?;
    let script = match upstream_kind(&config)? {
        UpstreamKind::Script => Some(script(&config)?),
        UpstreamKind::Anthropic => None,
    };
    if options.check_config {
        // Address and file may be in use: by the server whose next configuration this is.
        if script.is_none() {
            anthropic(&config, options, listen).await?;
        }
        configured(Gateway::new(registry, ScriptUpstream::embedded()), &config)?;
        print("the configuration is right");
        return Ok(Ending::Fine);
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
    gateway = with_store(gateway, &config)?;
    let is_public = !keys.is_empty();
    for key in keys {
        gateway = key.add_to(gateway);
    }
    if is_public {
        gateway = gateway.with_any_host();
    }
    let names = gateway.tool_names();
    let offload = gateway.offload_directory().map_or_else(String::new, |directory| {
        format!("\noffload: {}", directory.display())
    });
    print(&format!(
        "listening on http://{address}\ntools: {}\nstore: {}\nupstream: {}{offload}",
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        },
        gateway.store_name(),
        gateway.upstream_name(),
    ));
    let turns = Arc::new(gateway.turns());
    let closed = CancellationToken::new();
    let close = {
        let (turns, closed) = (Arc::clone(&turns), closed.clone());
        async move {
            stopped().await;
            turns.close();
            closed.cancel();
        }
    };
    let idle = config.limits.client_idle();
    let served = async {
        connections::serve(listener, gateway.router(), idle, close).await;
        // Calls that must not be cut go on without their clients.
        turns.ended().await;
        Ok(Ending::Fine)
    };
    let grace = Duration::from_secs(config.limits.shutdown_seconds.unwrap_or(60));
    tokio::select! {
        ended = served => ended,
        // What is left is interrupted; from a file of sessions, retries learn that.
        () = async { closed.cancelled().await; tokio::time::sleep(grace).await } => Ok(Ending::Fine),
        () = async { stopped().await; stopped().await } => Ok(Ending::Fine),
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

/// A gateway with what the configuration says of turns.
fn configured(mut gateway: Gateway, config: &Config) -> Result<Gateway, Failure> {
    if let Some(OffloadConfig {
        directory,
        threshold,
        exclude,
    }) = &config.offload
    {
        let mut offload = Offload::new(directory).excluding(exclude);
        if let Some(characters) = threshold {
            offload = offload.with_threshold(*characters);
        }
        gateway = gateway.with_offload(offload).map_err(|error| {
            let key = match error {
                InvalidOffload::UnknownTool(_) => "offload.exclude",
                InvalidOffload::Directory(_) | InvalidOffload::Registry(_) => "offload",
            };
            Failure::Message(format!("{key}: {error}"))
        })?;
    }
    let names = gateway.tool_names();
    config
        .permissions
        .iter()
        .try_for_each(|rule| rule.check(&names))?;
    let (tools, limits) = (&config.tools, &config.limits);
    let ownership = match tools.ownership {
        OwnershipRule::BySchema => Ownership::by_schema(),
        OwnershipRule::ByName => Ownership::by_name(),
    };
    let ownership = ownership
        .with_internal(&tools.internal)
        .with_external(&tools.external);
    let with_alias =
        |ownership: Ownership, (declared, own): (&String, &String)| ownership.with_alias(declared, own);
    let unknown = |key: &'static str| move |error: UnknownTool| Failure::Message(format!("{key}: {error}"));
    let mut gateway = gateway
        .with_ownership(tools.alias.iter().fold(ownership, with_alias))
        .map_err(unknown("tools.internal or tools.alias"))?
        .with_deferred(tools.deferred.iter().map(String::as_str))
        .map_err(unknown("tools.deferred"))?
        .with_offer(match tools.offer {
            None | Some(OfferName::Declared) => Offer::Declared,
            Some(OfferName::Always) => Offer::Always,
        });
    if let Some(rounds) = limits.rounds {
        gateway = gateway.with_max_rounds(rounds.get());
    }
    if let Some(seconds) = limits.seconds {
        gateway = gateway.with_max_time(Duration::from_secs(seconds.get()));
    }
    if let Some(tokens) = limits.tokens {
        gateway = gateway.with_max_tokens(tokens.get());
    }
    gateway = gateway
        .with_format_fixing(config.format_fixing.clone())
        .with_client_idle(limits.client_idle());
    if let Some(seconds) = limits.upstream_idle_seconds {
        gateway = gateway.with_upstream_idle(Duration::from_secs(seconds.get()));
    }
    if let Some(requests) = limits.client_concurrency {
        gateway = gateway.with_client_concurrency(requests.get());
    }
    if let Some(requests) = limits.client_requests_per_minute {
        gateway = gateway.with_client_rate(requests.get());
    }
    if let Some(megabytes) = limits.body_mb {
        gateway = gateway.with_max_body(megabytes.get().saturating_mul(1 << 20));
    }
    Ok(gateway)
}

/// Gives a gateway the store of the configuration.
fn with_store(gateway: Gateway, config: &Config) -> Result<Gateway, Failure> {
    let SessionsConfig {
        hours,
        mb,
        client_turns,
    } = config.sessions;
    let ttl = hours.map(|hours| Duration::from_secs(hours.get().saturating_mul(3600)));
    let bytes = mb.map(|mb| mb.get().saturating_mul(1 << 20));
    let Some(StoreName::File(path)) = &config.store else {
        let mut store = MemoryStore::new();
        store = ttl.into_iter().fold(store, MemoryStore::with_ttl);
        if let Some(bytes) = bytes {
            store = store.with_max_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        if let Some(turns) = client_turns {
            store = store.with_max_turns_per_client(usize::try_from(turns.get()).unwrap_or(usize::MAX));
        }
        return Ok(gateway.with_store(store));
    };
    let opened = FileStore::open(path).and_then(|store| {
        let secret = store.secret()?;
        Ok((store, secret))
    });
    let (mut store, secret) =
        opened.map_err(|StoreError(error)| Failure::Message(format!("--store: {error}")))?;
    store = ttl.into_iter().fold(store, FileStore::with_ttl);
    store = bytes.into_iter().fold(store, FileStore::with_max_bytes);
    if let Some(turns) = client_turns {
        store = store.with_max_turns_per_client(turns.get());
    }
    Ok(gateway.with_store(store).with_secret(secret))
}

/// The tools of the program, or those that were named, after the rules about calls.
fn registry(config: &Config, options: &ServeOptions) -> Result<ToolRegistry, Failure> {
    let mut registry = tools::loaded()?;
    if let Some(names) = &config.tools.names {
        let setting = options.internal.as_ref().map_or("tools.names", |_| "--internal");
        UnknownTool::check(&registry, names.iter().map(String::as_str))
            .map_err(|error| Failure::Message(format!("{setting}: {error}")))?;
        registry = registry.subset(names);
    }
    if config.permissions.is_empty() {
        return Ok(registry);
    }
    let rules = Arc::new(config.permissions.clone());
    Ok(registry.layer(Permission::new(move |request: PermissionRequest| {
        let rules = Arc::clone(&rules);
        async move { decide(&rules, request.definition().name.as_str()) }
    })))
}

/// What the first rule that matches says.
fn decide(rules: &[PermissionConfig], tool: &str) -> Decision {
    match rules.iter().find(|rule| rule.matches(tool)) {
        None => Decision::Allow,
        Some(rule) => match rule.decision {
            DecisionName::Allow => Decision::Allow,
            DecisionName::Deny => Decision::Deny(rule.message.clone().unwrap_or_default()),
            DecisionName::Ask => Decision::Interrupt,
        },
    }
}

/// What is asked.
fn upstream_kind(config: &Config) -> Result<UpstreamKind, Failure> {
    let upstream = &config.upstream;
    match (upstream.kind, &upstream.script) {
        (Some(UpstreamKind::Anthropic), Some(_)) => Err(Failure::Message(
            "upstream.script is for upstream.kind = \"script\"; leave one of the two out".to_owned(),
        )),
        (Some(kind), _) => Ok(kind),
        (None, Some(_)) => Ok(UpstreamKind::Script),
        (None, None) => Ok(UpstreamKind::Anthropic),
    }
}

fn script(config: &Config) -> Result<ScriptUpstream, Failure> {
    match &config.upstream.script {
        Some(file) => ScriptUpstream::from_file(file).map_err(|error| Failure::Message(error.to_string())),
        None => Ok(ScriptUpstream::embedded()),
    }
}

/// The server to ask. An error names the setting that its address or its key comes from.
async fn anthropic(
    config: &Config,
    options: &ServeOptions,
    listen: SocketAddr,
) -> Result<AnthropicUpstream, Failure> {
    let from_environment = env::var("ANTHROPIC_BASE_URL").ok().filter(|url| !url.is_empty());
    let (setting, url) = match (&config.upstream.url, from_environment) {
        (Some(url), _) if options.upstream.is_some() => ("--upstream", url.clone()),
        (Some(url), _) => ("upstream.url", url.clone()),
        (None, Some(url)) => ("ANTHROPIC_BASE_URL", url),
        (None, None) => ("upstream.url", "https://api.anthropic.com".to_owned()),
    };
    AnthropicUpstream::check(&url).map_err(|error| Failure::Message(format!("{setting}: {error}")))?;
    let variable = config.upstream.key_env.as_deref().unwrap_or("ANTHROPIC_API_KEY");
    let key = env::var(variable)
        .ok()
        .filter(|key| !key.is_empty())
        .map(SecretString::from);
    let upstream = AnthropicUpstream::new(&url, key)
        .map_err(|error| Failure::Message(format!("{variable}: {error}")))?;
    if upstream.connects_to(listen).await {
        return Err(Failure::Message(format!(
            "the upstream {url} is this gateway itself, which would ask itself for ever (clients set ANTHROPIC_BASE_URL, too); \
             name another with --upstream"
        )));
    }
    Ok(upstream)
}

/// Logs on standard error: for people on a terminal, else as JSON.
fn start_log() {
    use tracing_subscriber::filter::{LevelFilter, filter_fn};
    use tracing_subscriber::fmt;
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::registry;
    let level = match env::var("RUST_LOG").as_deref() {
        Ok("debug") => LevelFilter::DEBUG,
        Ok("trace") => LevelFilter::TRACE,
        Ok("warn") => LevelFilter::WARN,
        Ok("error") => LevelFilter::ERROR,
        _ => LevelFilter::INFO,
    };
    // What such a span says is in the line of its turn, and to format it takes longer than all else that a request takes.
    let shows = filter_fn(move |metadata| {
        level >= LevelFilter::DEBUG || !(metadata.is_span() && metadata.name() == "chat")
    });
    // A second start in one process keeps the first log.
    let _ = if io::stderr().is_terminal() {
        let log = fmt().with_max_level(level).with_writer(io::stderr);
        tracing::subscriber::set_global_default(log.with_target(false).finish().with(shows))
    } else {
        let lines = LogLines::new(|line: &[u8]| {
            // That nobody reads it stops nothing.
            let _ = io::stderr().write_all(line);
        });
        tracing::subscriber::set_global_default(registry().with(level).with(shows).with(lines))
    };
}

/// Tells the operator; that nobody reads it stops nothing.
fn print(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Waits for Ctrl-C or SIGTERM.
async fn stopped() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                () = interrupted => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    interrupted.await;
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
            tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_secs(30)));
            tokio::task::yield_now().await;
            5
        });
        assert_eq!(done, 5);
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    }
}
