//! What `serve` logs, and how.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{fmt, registry};

use crate::cli::log_lines::LogLines;

/// Logs on standard error: for people on a terminal, else as JSON.
pub(super) fn start_log() {
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
