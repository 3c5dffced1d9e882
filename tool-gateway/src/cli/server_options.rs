//! The words of the commands that need the server's part: `serve`, `tools`, `call`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::Deserialize;

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// The configuration; other options come before what it says
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Check the configuration and end
    #[arg(long, requires = "config")]
    pub(crate) check_config: bool,
    /// Where to listen [default: 127.0.0.1:8484]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// The server to ask; without it that of `ANTHROPIC_BASE_URL`, else Anthropic's
    #[arg(long, value_name = "URL", conflicts_with = "script")]
    pub(crate) upstream: Option<String>,
    /// What kind of upstream it is; without it `script` with --script, else `anthropic`
    #[arg(long, value_name = "KIND")]
    pub(crate) upstream_kind: Option<UpstreamKind>,
    /// The turns that the upstream `script` plays; without it a built-in conversation
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// The tools that the gateway has, with commas between them; without it all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) internal: Option<Vec<String>>,
    /// Where sessions are kept: `memory`, the default, or `file:PATH`, which outlives the program
    #[arg(long, value_name = "STORE", value_parser = str::parse::<StoreName>)]
    pub(crate) store: Option<StoreName>,
    /// Which of the gateway's tools take part in a turn [default: declared]
    #[arg(long, value_name = "WHICH")]
    pub(crate) offer: Option<OfferName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UpstreamKind {
    /// A server of the Messages API
    Anthropic,
    /// Answers from a file, or a built-in conversation: no key is needed
    Script,
}

/// An address with a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected an IP address and a port, such as 127.0.0.1:8484; names are not looked up".to_owned()
    })
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum StoreName {
    Memory,
    File(PathBuf),
}

impl TryFrom<String> for StoreName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for StoreName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            _ => Err("expected `memory` or `file:PATH`".to_owned()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OfferName {
    /// Those that the client declares
    Declared,
    /// All, whatever the client declares
    Always,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsOptions {
    /// Whose form the definitions have
    #[arg(long, value_name = "API", default_value = "anthropic")]
    pub(crate) format: Format,
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
}

pub(crate) const ABOUT_SERVE: &str = "\
Serve the Messages API.

A client that points its base URL here works as before. The gateway's own tools are run by the gateway: those that the
client declares by name (without a schema, or with the one that `tool-gateway tools` prints), or all with --offer always.
Calls of all other tools go back to the client, also in a message that has both.

Environment: ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY (then clients need none for the upstream; without it their own goes up),
TOOL_GATEWAY_CLIENT_KEYS (name=key, with commas between them: only clients with one of these keys are served, which is needed
beyond loopback), RUST_LOG=debug (more in the log), OTEL_EXPORTER_OTLP_ENDPOINT (a collector of spans, for a program that
was built with the feature `otlp`).

SIGTERM and Ctrl-C end it when the answers that are on their way have been sent and calls that must not be cut have ended, or after
a minute; a second one ends it at once. Meanwhile `/readyz` and new requests get 503.

Exit status: 0 ended; 2 wrong usage, or it could not start; standard error says what to do.";

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  tool-gateway serve --upstream-kind script --offer always
  ANTHROPIC_API_KEY=… tool-gateway serve
  curl -sN http://127.0.0.1:8484/v1/messages -H 'content-type: application/json' -d '{\"model\": \"demo\",
    \"max_tokens\": 1024, \"stream\": true, \"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}'";

pub(crate) const ABOUT_CALL: &str = "\
Call one of the gateway's tools, and print its `tool_result`; what was changed in the arguments goes to standard error.

Exit status: 0 the call succeeded; 1 the result is an error; 2 wrong usage.";
