//! [`start_log`]: the log of `serve`.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::{Layer, fmt, registry};

use crate::serve::log_lines::LogLines;

/// Starts the log on standard error: text on a terminal, JSON elsewhere. The layer `beside` the log has separate filters.
pub(super) fn start_log(beside: Option<Box<dyn Layer<Registry> + Send + Sync>>) {
    let level = match env::var("RUST_LOG").as_deref() {
        Ok("debug") => LevelFilter::DEBUG,
        Ok("trace") => LevelFilter::TRACE,
        Ok("warn") => LevelFilter::WARN,
        Ok("error") => LevelFilter::ERROR,
        _ => LevelFilter::INFO,
    };
    let shows = filter_fn(move |metadata| {
        // The log line of a turn has all fields of these spans, and formatting a span takes longer than all other work of a request.
        let is_costly = metadata.is_span() && metadata.name() == "chat";
        // The SDK of MCP logs each start and end of a server in its own terms.
        let is_of_sdk = metadata.target().starts_with("rmcp") && *metadata.level() > LevelFilter::WARN;
        level >= LevelFilter::DEBUG || !(is_costly || is_of_sdk)
    });
    let lines = LogLines::new(|line: &[u8]| {
        // The program continues if standard error is closed.
        let _ = io::stderr().write_all(line);
    });
    let is_terminal = io::stderr().is_terminal();
    // A second start in one process keeps the first log.
    let _ = if let Some(beside) = beside {
        let log = if is_terminal {
            fmt::layer().with_writer(io::stderr).with_target(false).boxed()
        } else {
            lines.boxed()
        };
        let log = log.with_filter(shows).with_filter(level);
        tracing::subscriber::set_global_default(registry().with(beside).with(log))
    } else if is_terminal {
        let log = fmt().with_max_level(level).with_writer(io::stderr);
        tracing::subscriber::set_global_default(log.with_target(false).finish().with(shows))
    } else {
        // One filter for all layers is faster than one filter for each.
        tracing::subscriber::set_global_default(registry().with(level).with(shows).with(lines))
    };
}
