//! `tool-gateway serve`: starts the server, and ends it in order.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;

use secrecy::SecretString;
use tokio::net::TcpListener;
use tool_runtime::ToolRegistry;

use crate::cli::ending::{Ending, Failure};
use crate::cli::server_options::{OfferName, ServeOptions, StoreName, UpstreamKind};
use crate::cli::terminal::Terminal;
use crate::cli::tools;
use crate::server::gateway::Gateway;
use crate::server::unknown_tool::UnknownTool;
use crate::session::file::FileStore;
use crate::session::store::StoreError;
use crate::turn::ownership::Offer;
use crate::upstream::anthropic::AnthropicUpstream;
use crate::upstream::script::ScriptUpstream;

pub(crate) fn run(options: &ServeOptions, _: Terminal) -> Result<Ending, Failure> {
    start_log();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Message(format!("no runtime can be started: {error}")))?;
    runtime.block_on(serve(options))
}

async fn serve(options: &ServeOptions) -> Result<Ending, Failure> {
    let keys = client_keys()?;
    if !options.listen.ip().is_loopback() && keys.is_empty() {
        return Err(Failure::Message(format!(
            "{} can be reached from other machines, and there are no client keys: anyone could use the upstream and run tools; \
             set TOOL_GATEWAY_CLIENT_KEYS to name=key, or listen on 127.0.0.1",
            options.listen
        )));
    }
    let kind = upstream_kind(options)?;
    let store = store(options)?;
    let registry = registry(options)?;
    let names: Vec<_> = registry
        .tool_definitions()
        .into_iter()
        .map(|tool| tool.name.clone())
        .collect();
    let listener = TcpListener::bind(options.listen).await.map_err(|error| {
        Failure::Message(format!(
            "{} cannot be listened on: {error}; choose another with --listen",
            options.listen
        ))
    })?;
    let address = listener.local_addr().unwrap_or(options.listen);
    let offer = match options.offer {
        OfferName::Declared => Offer::Declared,
        OfferName::Always => Offer::Always,
    };
    let gateway = match kind {
        UpstreamKind::Script => Gateway::new(registry, script(options)?),
        UpstreamKind::Anthropic => Gateway::new(registry, anthropic(options, address).await?),
    };
    let mut gateway = gateway.with_offer(offer);
    if let Some((store, secret)) = store {
        gateway = gateway.with_store(store).with_secret(secret);
    }
    let is_public = !keys.is_empty();
    for (name, key) in keys {
        gateway = gateway.with_client_key(name, key);
    }
    if is_public {
        gateway = gateway.with_any_host();
    }
    print(&format!(
        "listening on http://{address}\ntools: {}\nstore: {}\nupstream: {}",
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        },
        gateway.store_name(),
        gateway.upstream_name(),
    ));
    let turns = gateway.turns();
    let served = axum::serve(listener, gateway.router()).with_graceful_shutdown(stopped());
    served
        .await
        .map_err(|error| Failure::Message(format!("the server stopped: {error}")))?;
    // Calls that must not be cut go on without their clients; a second signal ends them, too.
    tokio::select! {
        () = turns.ended() => {}
        () = stopped() => {}
    }
    Ok(Ending::Fine)
}

/// The file with the sessions, and its secret; `None` if they are kept in memory.
fn store(options: &ServeOptions) -> Result<Option<(FileStore, [u8; 32])>, Failure> {
    let StoreName::File(path) = &options.store else {
        return Ok(None);
    };
    let opened = FileStore::open(path).and_then(|store| {
        let secret = store.secret()?;
        Ok((store, secret))
    });
    opened
        .map(Some)
        .map_err(|StoreError(error)| Failure::Message(format!("--store: {error}")))
}

/// The tools of the program, or those that were named.
fn registry(options: &ServeOptions) -> Result<ToolRegistry, Failure> {
    let all = tools::loaded()?;
    let Some(names) = &options.internal else {
        return Ok(all);
    };
    UnknownTool::check(&all, names.iter().map(String::as_str))
        .map_err(|error| Failure::Message(format!("--internal: {error}")))?;
    Ok(all.subset(names))
}

/// What is asked for, or follows from the other options.
fn upstream_kind(options: &ServeOptions) -> Result<UpstreamKind, Failure> {
    match (options.upstream_kind, &options.script, &options.upstream) {
        (Some(UpstreamKind::Anthropic), Some(_), _) => Err(Failure::Message(
            "--script is for --upstream-kind script; leave one of the two out".to_owned(),
        )),
        (Some(UpstreamKind::Script), _, Some(_)) => Err(Failure::Message(
            "--upstream is for --upstream-kind anthropic; a script asks no server: leave one of the two out"
                .to_owned(),
        )),
        (Some(kind), _, _) => Ok(kind),
        (None, Some(_), _) => Ok(UpstreamKind::Script),
        (None, None, _) => Ok(UpstreamKind::Anthropic),
    }
}

fn script(options: &ServeOptions) -> Result<ScriptUpstream, Failure> {
    match &options.script {
        Some(file) => ScriptUpstream::from_file(file).map_err(|error| Failure::Message(error.to_string())),
        None => Ok(ScriptUpstream::embedded()),
    }
}

async fn anthropic(options: &ServeOptions, listen: SocketAddr) -> Result<AnthropicUpstream, Failure> {
    let from_environment = env::var("ANTHROPIC_BASE_URL").ok().filter(|url| !url.is_empty());
    let url = options
        .upstream
        .clone()
        .or(from_environment)
        .unwrap_or_else(|| "https://api.anthropic.com".to_owned());
    let key = env::var("ANTHROPIC_API_KEY")
        .ok()
        .filter(|key| !key.is_empty())
        .map(SecretString::from);
    let upstream = AnthropicUpstream::new(&url, key).map_err(|error| Failure::Message(error.to_string()))?;
    if upstream.connects_to(listen).await {
        return Err(Failure::Message(format!(
            "the upstream {url} is this gateway itself, which would ask itself for ever (clients set ANTHROPIC_BASE_URL, too); \
             name another with --upstream"
        )));
    }
    Ok(upstream)
}

/// The keys of `TOOL_GATEWAY_CLIENT_KEYS`.
fn client_keys() -> Result<Vec<(String, String)>, Failure> {
    let text = match env::var("TOOL_GATEWAY_CLIENT_KEYS") {
        Ok(text) => text,
        Err(env::VarError::NotPresent) => return Ok(Vec::new()),
        // Not "no keys": that would serve everyone.
        Err(env::VarError::NotUnicode(_)) => {
            return Err(Failure::Message(
                "TOOL_GATEWAY_CLIENT_KEYS is not UTF-8; write name=key".to_owned(),
            ));
        }
    };
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let keys = entries
        .enumerate()
        .map(|(place, entry)| match entry.split_once('=') {
            Some((name, key)) if !name.is_empty() && !key.is_empty() => Ok((name.to_owned(), key.to_owned())),
            // The entry itself may be a key.
            _ => Err(Failure::Message(format!(
                "TOOL_GATEWAY_CLIENT_KEYS: entry {} is not name=key, with commas between entries",
                place + 1
            ))),
        });
    keys.collect()
}

/// Logs on standard error: for people on a terminal, else as JSON.
fn start_log() {
    use tracing_subscriber::filter::LevelFilter;
    use tracing_subscriber::fmt;
    let level = match env::var("RUST_LOG").as_deref() {
        Ok("debug") => LevelFilter::DEBUG,
        Ok("trace") => LevelFilter::TRACE,
        Ok("warn") => LevelFilter::WARN,
        Ok("error") => LevelFilter::ERROR,
        _ => LevelFilter::INFO,
    };
    let log = fmt().with_max_level(level).with_writer(io::stderr);
    // A second start in one process keeps the first log.
    let _ = if io::stderr().is_terminal() {
        tracing::subscriber::set_global_default(log.with_target(false).finish())
    } else {
        tracing::subscriber::set_global_default(log.json().flatten_event(true).finish())
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
