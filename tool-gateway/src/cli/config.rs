//! The configuration file of `serve`.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::{Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use tool_cli::Failure;
use tool_runtime::repair::FormatFixing;

use crate::cli::server_options::{OfferName, StoreName, UpstreamKind};
use crate::server::access::unknown_tool;
use crate::upstream::anthropic::AnthropicUpstream;

/// What the file may hold; `tool-gateway/gateway.toml` has every key with a comment. Secrets are not in it, but the names of
/// environment variables that are.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    #[serde(default, deserialize_with = "listen_address")]
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) store: Option<StoreName>,
    #[serde(default)]
    pub(crate) upstream: UpstreamConfig,
    #[serde(default)]
    pub(crate) tools: ToolsConfig,
    pub(crate) offload: Option<OffloadConfig>,
    #[serde(default)]
    pub(crate) sessions: SessionsConfig,
    #[serde(default)]
    pub(crate) limits: LimitsConfig,
    #[serde(default)]
    pub(crate) format_fixing: FormatFixing,
    #[serde(default)]
    pub(crate) clients: Vec<ClientConfig>,
    #[serde(default)]
    pub(crate) permissions: Vec<PermissionConfig>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpstreamConfig {
    pub(crate) kind: Option<UpstreamKind>,
    #[serde(default, deserialize_with = "upstream_url")]
    pub(crate) url: Option<String>,
    pub(crate) script: Option<PathBuf>,
    pub(crate) key_env: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsConfig {
    pub(crate) names: Option<Vec<String>>,
    pub(crate) offer: Option<OfferName>,
    #[serde(default)]
    pub(crate) ownership: OwnershipRule,
    #[serde(default)]
    pub(crate) internal: Vec<String>,
    #[serde(default)]
    pub(crate) external: Vec<String>,
    #[serde(default)]
    pub(crate) deferred: Vec<String>,
    #[serde(default)]
    pub(crate) alias: BTreeMap<String, String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OwnershipRule {
    #[default]
    BySchema,
    ByName,
}

/// An address with a port.
fn listen_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    struct Address;

    impl Visitor<'_> for Address {
        type Value = SocketAddr;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "an IP address and a port as `listen`, such as \"127.0.0.1:8484\"; names are not looked up",
            )
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SocketAddr, E> {
            text.parse()
                .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }

    deserializer.deserialize_str(Address).map(Some)
}

/// The base URL of a server.
fn upstream_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(deserializer)?;
    AnthropicUpstream::check(&url)
        .map_err(|error| D::Error::custom(format_args!("upstream.url: {error}")))?;
    Ok(Some(url))
}

/// Results are offloaded if it is there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OffloadConfig {
    pub(crate) directory: PathBuf,
    pub(crate) threshold: Option<usize>,
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
}

/// How much is kept of sessions, and how long.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionsConfig {
    pub(crate) hours: Option<NonZeroU64>,
    pub(crate) mb: Option<NonZeroU64>,
    pub(crate) client_turns: Option<NonZeroU64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    pub(crate) rounds: Option<NonZeroUsize>,
    pub(crate) seconds: Option<NonZeroU64>,
    pub(crate) tokens: Option<NonZeroU64>,
    pub(crate) body_mb: Option<NonZeroUsize>,
    pub(crate) shutdown_seconds: Option<u64>,
    pub(crate) client_idle_seconds: Option<NonZeroU64>,
    pub(crate) upstream_idle_seconds: Option<NonZeroU64>,
    pub(crate) client_concurrency: Option<NonZeroUsize>,
    pub(crate) client_requests_per_minute: Option<NonZeroU32>,
}

impl LimitsConfig {
    /// How long a client may send nothing where a request is expected, or in the middle of one.
    pub(crate) fn client_idle(&self) -> Duration {
        Duration::from_secs(self.client_idle_seconds.map_or(30, NonZeroU64::get))
    }
}

/// A client that is served.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientConfig {
    pub(crate) name: String,
    pub(crate) key_sha256: Option<Sha256>,
    pub(crate) key_env: Option<String>,
}

/// A SHA-256, written as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Sha256(pub(crate) [u8; 32]);

impl TryFrom<String> for Sha256 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits: Option<Vec<u8>> = text
            .chars()
            .map(|digit| Some(u8::try_from(digit.to_digit(16)?).unwrap_or_default()))
            .collect();
        let bytes = digits.unwrap_or_default();
        let bytes: Vec<u8> = bytes
            .chunks_exact(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect();
        // The text may be a key that was pasted here: it is not shown.
        let wanted = "expected the 64 hexadecimal digits that `printf %s \"$KEY\" | sha256sum` prints";
        match <[u8; 32]>::try_from(bytes) {
            Ok(bytes) if text.len() == 64 => Ok(Self(bytes)),
            _ => Err(wanted.to_owned()),
        }
    }
}

/// A rule about calls; the first whose pattern matches the tool's name counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PermissionConfig {
    pub(crate) tool: Spanned<String>,
    pub(crate) decision: DecisionName,
    pub(crate) message: Option<String>,
    /// File and line.
    #[serde(skip)]
    pub(crate) location: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionName {
    Allow,
    Deny,
    Ask,
}

impl Config {
    /// Reads a file. The error names file, line, and what to write instead.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::Message(format!(
                "{shown} cannot be read: {error}; name another file with --config"
            ))
        })?;
        let mut config = Self::parse(&text).map_err(|error| Failure::Message(format!("{shown}:{error}")))?;
        for rule in &mut config.permissions {
            rule.location = format!("{shown}:{}", line(&text, rule.tool.span().start));
        }
        Ok(config)
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line(text, span.start));
            let message = in_words_of_toml(error.message());
            let advice =
                nearest(&message).map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            format!("{line}: {message}{advice}")
        })
    }
}

/// What serde expects, without Rust's names of it.
fn in_words_of_toml(message: &str) -> String {
    let mut message = message.to_owned();
    for (rust, toml) in [
        (
            "map, expected a sequence",
            "table, expected a list: write its name in double brackets, [[…]]",
        ),
        ("sequence, expected a map", "list, expected a table"),
        ("expected a block with", "expected a table with"),
        ("a nonzero usize", "a whole number from 1"),
        ("a nonzero u64", "a whole number from 1"),
        ("a nonzero u32", "a whole number from 1"),
        ("expected usize", "expected a whole number from 0"),
        ("expected u64", "expected a whole number from 0"),
    ] {
        message = message.replace(rust, toml);
    }
    match message.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table"),
        None => message,
    }
}

/// The line of a byte of a text.
fn line(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// The expected name that is most like the unknown one in a message of serde's.
fn nearest(message: &str) -> Option<&str> {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next().filter(|_| message.starts_with("unknown "))?;
    unknown_tool::nearest(unknown, names)
}

impl PermissionConfig {
    pub(crate) fn matches(&self, name: &str) -> bool {
        matches(self.tool.get_ref(), name)
    }

    /// Refuses a rule that matches none of the gateway's tools: it would do nothing, and seem to. The client's own tools are run by the
    /// client, without a word of the gateway's, so a rule about one of them would do nothing either. `*` is for whatever there is.
    pub(crate) fn check(&self, tools: &[String]) -> Result<(), Failure> {
        let pattern = self.tool.get_ref();
        if pattern == "*" || tools.iter().any(|tool| self.matches(tool)) {
            return Ok(());
        }
        Err(Failure::Message(format!(
            "{}: permissions: no tool of the gateway is called `{pattern}`, so this rule does nothing; {} \
             (the client's own tools are not the gateway's to permit)",
            self.location,
            unknown_tool::advice(pattern, tools),
        )))
    }
}

/// Whether a name matches a pattern, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            let mut tails = ends.filter_map(|at| name.get(at..));
            tails.any(|tail| matches(rest, tail))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_line_expectation_and_the_nearest_key() {
        for (text, wanted) in [
            (
                "\nlisten = \"127.0.0.1:1\"\nlimit = 1",
                "3: unknown field `limit`, expected one of",
            ),
            (
                "\n\n[limits]\nround = 3",
                "4: unknown field `round`, expected one of `rounds`",
            ),
            ("[limits]\nround = 3", "did you mean `rounds`?"),
            (
                "limits.rounds = \"many\"",
                "1: invalid type: string \"many\", expected a whole number from 1",
            ),
            (
                "[limits]\nclient_idle_seconds = 0",
                "2: invalid value: integer `0`, expected a whole number from 1",
            ),
            (
                "[limits]\nshutdown_seconds = -1",
                "2: invalid value: integer `-1`, expected a whole number from 0",
            ),
            (
                "\n[clients]\nname = \"ada\"",
                "2: invalid type: table, expected a list: write its name in double brackets, [[…]]",
            ),
            ("limits = 5", "1: invalid type: integer `5`, expected a table"),
            (
                "listen = \"8080\"",
                "1: invalid value: string \"8080\", expected an IP address and a port as `listen`, such as \"127.0.0.1:8484\"",
            ),
            (
                "listen = 8080",
                "1: invalid type: integer `8080`, expected an IP address and a port as `listen`, such as",
            ),
            ("listen = \"localhost:80\"", "names are not looked up"),
            (
                "[upstream]\nurl = \"api.anthropic.com\"",
                "2: upstream.url: invalid base URL api.anthropic.com: missing scheme; expected for example https://",
            ),
            ("store = \"disk\"", "1: expected `memory` or `file:PATH`"),
            (
                "[tools]\noffer = \"alway\"",
                "2: unknown variant `alway`, expected `declared` or `always`; did you mean `always`?",
            ),
            ("[[clients]]\nkey_env = \"ADA\"", "1: missing field `name`"),
            (
                "[[clients]]\nname = \"ada\"\nkey_sha256 = \"secret\"",
                "3: expected the 64 hexadecimal digits that",
            ),
            ("[offload]\nthreshold = 9", "1: missing field `directory`"),
            (
                "[format_fixing]\ntarget_tool = [\"Edit\"]",
                "2: unknown field `target_tool`, expected one of `enabled`, `target_tools`, ",
            ),
            ("[format_fixing]\nenable = true", "did you mean `enabled`?"),
            (
                "[format_fixing]\n\nenabled = \"yes\"",
                "3: invalid type: string \"yes\", expected a boolean",
            ),
            (
                "[format_fixing]\ntarget_tools = \"Edit\"",
                "2: invalid value: string \"Edit\", expected a list of tool names, or \"*\" for every tool",
            ),
            (
                "[format_fixing]\ntarget_tools = [\"Todo*\"]",
                "2: name 1 of the list, \"Todo*\", is no tool's name: `*` means every tool",
            ),
            (
                "format_fixing = true",
                "1: invalid type: boolean `true`, expected a table with the keys `enabled`, `target_tools`, ",
            ),
            ("listen = ", "1: "),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.contains(wanted), "{error}\n{wanted}");
        }
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, is_match) in [
            ("TodoWrite", "TodoWrite", true),
            ("TodoWrite", "TodoWriter", false),
            ("Todo*", "TodoWrite", true),
            ("*", "", true),
            ("*Write", "TodoWrite", true),
            ("*o*i*", "TodoWrite", true),
            ("*x*", "TodoWrite", false),
            ("Todo*Read", "TodoWrite", false),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn sample_configuration_has_every_key() {
        let sample = include_str!("../../gateway.toml");
        let uncommented: String = sample
            .lines()
            .map(|line| line.strip_prefix("#: ").unwrap_or(line).to_owned() + "\n")
            .collect();
        Config::parse(sample).unwrap();
        let mut config = Config::parse(&uncommented).unwrap();
        // A client has one of two.
        let clients = std::mem::take(&mut config.clients);
        assert!(clients.iter().any(|client| client.key_sha256.is_some()));
        assert!(clients.iter().any(|client| client.key_env.is_some()));
        let shown = format!("{config:?}");
        assert!(!shown.contains("None"), "every key has a value: {shown}");
        assert!(!config.permissions.is_empty() && !config.tools.alias.is_empty());
    }
}
