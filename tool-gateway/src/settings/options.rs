//! [`ServeOptions`]: the command-line options of `serve`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tool_runtime::repair::calls::Format;

use super::listen::{ADDRESS, parse_address};
use super::text_calls::parse_format;
use super::tools::OfferName;
use super::upstream::UpstreamKind;
use super::workspace::WorkspaceArgs;

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// The configuration file; other options have precedence over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Check the configuration and exit
    #[arg(long, requires = "config")]
    pub(crate) check_config: bool,
    /// Address to listen on [default: 127.0.0.1:8484]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// URL of the upstream [default: `ANTHROPIC_BASE_URL`, or else Anthropic's server; needed for `openai`]
    #[arg(long, value_name = "URL", conflicts_with = "script")]
    pub(crate) upstream: Option<String>,
    /// Kind of the upstream [default: `script` with --script, or else `anthropic`]
    #[arg(long, value_name = "KIND")]
    pub(crate) upstream_kind: Option<UpstreamKind>,
    /// File with the turns of the upstream `script` [default: a built-in conversation]
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Serve the gateway's tools to clients of the Model Context Protocol (MCP), too, at `/mcp`
    #[cfg(feature = "mcp")]
    #[arg(long)]
    pub(crate) mcp: bool,
    /// Names of the gateway's tools, separated by commas [default: all tools]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// The former name of `--tools`. Its value is rejected with a message that names `--tools`.
    #[arg(long = "internal", value_name = "NAMES", hide = true, value_parser = renamed)]
    _internal: Option<Infallible>,
    /// Store of the sessions: `memory`, `file:PATH` to keep sessions after the program ends, or `redis://HOST:PORT` to share them between gateways [default: memory]
    // Parsed with the file: errors of the command line contain the value, which may have a password.
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
    /// Formats of tool calls that are recovered from text, separated by commas: tags, json, python
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', value_parser = parse_format)]
    pub(crate) text_calls: Option<Vec<Format>>,
    /// Tools of the gateway that the model can call in a turn [default: declared]
    #[arg(long, value_name = "WHICH")]
    pub(crate) offer: Option<OfferName>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArgs,
}

fn renamed(names: &str) -> Result<Infallible, String> {
    Err(format!(
        "the option is called `--tools` now; write --tools {names}"
    ))
}

/// Parses an IP address with a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    parse_address(text).ok_or_else(|| format!("expected {ADDRESS}"))
}

pub(crate) const ABOUT_SERVE: &str = "\
Serve the Messages API.

A client that points its base URL here works as before. The gateway's own tools are run by the gateway: those that the
client declares by name (without a schema, or with the one that `tool-gateway tools` prints), or all with --offer always.
Calls of all other tools go back to the client, also in a message that has both.

Environment: ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY (then clients need none for the upstream; without it their own goes up),
ANTHROPIC_AUTH_TOKEN (a key that goes up as `authorization: Bearer`), OPENAI_API_KEY (the key of an upstream `openai`, which
uses none of the variables before), HTTPS_PROXY, HTTP_PROXY and NO_PROXY (a proxy to the upstream),
SSL_CERT_FILE (certificates that are trusted beside Mozilla's, instead of the system's),
TOOL_GATEWAY_CLIENT_KEYS (name=key, with commas between them: only clients with one of these keys are served, which is needed
beyond loopback), RUST_LOG=debug (more in the log), OTEL_EXPORTER_OTLP_ENDPOINT (a collector of spans, for a program that
was built with the feature `otlp`).

SIGTERM and Ctrl-C end it when the answers that are on their way have been sent and calls that must not be cut have ended, or after
a minute; a second one ends it at once. Meanwhile `/readyz` and new requests get 503, these after `limits.drain_seconds`.

Exit status: 0 ended; 2 wrong usage, or it could not start; standard error says what to do.";

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  tool-gateway serve --upstream-kind script --offer always
  tool-gateway serve --workspace . --write --offer always
  ANTHROPIC_API_KEY=… tool-gateway serve
  curl -sN http://127.0.0.1:8484/v1/messages -H 'content-type: application/json' -d '{\"model\": \"demo\",
    \"max_tokens\": 1024, \"stream\": true, \"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}'";
