//! [`McpServerSettings`]: one MCP server, with its tools and limits.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};
use tool_mcp::{McpClient, McpCommand, McpUrl, MessageKind, Protocol};
use tool_runtime::{Context, Policy};

use super::import::ImportedServer;
use super::url_headers::{ConfiguredHeaders, HeaderVariables, HeadersFromClient, RequestHeaders};
use crate::name_pattern::matches;
use crate::settings::mistakes::Mistakes;
use crate::settings::variable_name::VariableName;
use crate::settings::{units, values};
use crate::upstream::tool_server::ToolServer;

/// Maximum length of a key and of a prefix, so that half of a tool's name is its own.
const MAX_LENGTH: usize = 32;

/// Sets name, revision and limits of a builder for a command or a URL.
macro_rules! with_limits {
    ($builder:expr, $settings:expr, $hooks:expr) => {
        $builder
            .on_message($hooks.on_message)
            .call_meta($hooks.call_meta)
            .name(&$settings.key)
            .trust_hints($settings.trust_hints)
            .protocol(match $settings.protocol {
                ProtocolName::Auto => Protocol::Auto,
                ProtocolName::Modern => Protocol::Modern,
                ProtocolName::Legacy => Protocol::Legacy,
            })
            .start_timeout($settings.start_time)
            .call_timeout($settings.call_time)
            .max_call_duration($settings.max_time)
            .max_calls($settings.max_calls)
            .max_tools($settings.max_tools)
            .max_message_bytes($settings.max_message_bytes)
            .max_result_chars($settings.max_result_chars)
    };
}

/// A table `[mcp.servers.KEY]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpServerSettings {
    /// Key of the table, which is the name of the server in the log.
    #[serde(skip)]
    pub(crate) key: String,
    /// Whether only the file of another program has the server, where its mistakes are.
    #[serde(skip)]
    pub(super) is_imported: bool,
    command: Option<String>,
    url: Option<String>,
    args: Vec<String>,
    cwd: Option<PathBuf>,
    env: Variables,
    env_from: Vec<VariableName>,
    headers: ConfiguredHeaders,
    headers_env: HeaderVariables,
    headers_from_client: HeadersFromClient,
    prefix: Option<String>,
    /// Text before each description.
    describe: String,
    /// Patterns of the server's names of tools that are offered.
    tools: Vec<String>,
    /// Patterns of the names that are not offered.
    except: Vec<String>,
    /// Patterns of the names that only read, in the operator's word.
    read_only: Vec<String>,
    /// Patterns of the names whose calls wait for the client's results.
    deferred: Vec<String>,
    trust_hints: bool,
    #[serde(deserialize_with = "values::name")]
    pub(crate) scope: Scope,
    #[serde(rename = "idle_seconds", deserialize_with = "units::seconds")]
    pub(crate) idle_time: Duration,
    #[serde(deserialize_with = "values::name")]
    start: StartName,
    pub(crate) required: bool,
    #[serde(deserialize_with = "values::name")]
    protocol: ProtocolName,
    #[serde(deserialize_with = "values::name")]
    policy: PolicyName,
    #[serde(rename = "start_seconds", deserialize_with = "units::seconds")]
    pub(crate) start_time: Duration,
    #[serde(rename = "call_seconds", deserialize_with = "units::seconds")]
    call_time: Duration,
    #[serde(rename = "max_seconds", deserialize_with = "units::seconds")]
    max_time: Duration,
    #[serde(deserialize_with = "units::count")]
    max_calls: usize,
    #[serde(deserialize_with = "units::count")]
    max_tools: usize,
    #[serde(rename = "max_message_mb", deserialize_with = "units::mebibytes")]
    max_message_bytes: usize,
    #[serde(deserialize_with = "units::count")]
    max_result_chars: usize,
}

/// Environment variables with their values, which are often secrets.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
struct Variables(BTreeMap<String, String>);

impl TryFrom<BTreeMap<String, String>> for Variables {
    type Error = String;

    fn try_from(variables: BTreeMap<String, String>) -> Result<Self, String> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(is_word);
        // The parser's form of a date, which is no table, has an invalid name, too.
        if variables.keys().all(|name| is_name(name)) {
            return Ok(Self(variables));
        }
        Err("expected a table with names and values of environment variables".to_owned())
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Function that returns members of `_meta` of a call.
type CallMeta = Box<dyn Fn(&Context) -> Map<String, Value> + Send + Sync>;

/// Functions that a started client calls.
pub(crate) struct McpHooks {
    /// Observes messages that answer no running request.
    pub(crate) on_message: Box<dyn Fn(MessageKind) + Send + Sync>,
    pub(crate) call_meta: CallMeta,
}

/// Callers that share a process of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// All callers.
    #[default]
    Shared,
    /// Callers with one client key, or with one credential.
    Principal,
    /// The calls of one session.
    Session,
}

/// Time of the first start of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StartName {
    /// With the gateway.
    #[default]
    Eager,
    /// At the first call; the definitions are from the pins.
    Lazy,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ProtocolName {
    #[default]
    Auto,
    Modern,
    Legacy,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PolicyName {
    #[default]
    Lenient,
    Lossless,
    Strict,
}

impl Default for McpServerSettings {
    fn default() -> Self {
        Self {
            key: String::new(),
            is_imported: false,
            command: None,
            url: None,
            args: Vec::new(),
            cwd: None,
            env: Variables::default(),
            env_from: Vec::new(),
            headers: ConfiguredHeaders::default(),
            headers_env: HeaderVariables::default(),
            headers_from_client: HeadersFromClient::default(),
            prefix: None,
            describe: String::new(),
            tools: vec!["*".to_owned()],
            except: Vec::new(),
            read_only: Vec::new(),
            deferred: Vec::new(),
            trust_hints: false,
            scope: Scope::Shared,
            idle_time: Duration::from_secs(600),
            start: StartName::Eager,
            required: false,
            protocol: ProtocolName::Auto,
            policy: PolicyName::Lenient,
            start_time: Duration::from_secs(30),
            call_time: Duration::from_secs(60),
            max_time: Duration::from_secs(600),
            max_calls: 8,
            max_tools: 500,
            max_message_bytes: 16 << 20,
            max_result_chars: 400_000,
        }
    }
}

impl McpServerSettings {
    /// Creates the default settings of a server of another program.
    pub(super) fn imported(key: String) -> Self {
        Self {
            key,
            is_imported: true,
            ..Self::default()
        }
    }

    /// Adds the values of an imported server. Values of the configuration have precedence.
    ///
    /// # Errors
    ///
    /// Returns the reason if a variable or a header is invalid.
    pub(super) fn extend(&mut self, imported: ImportedServer) -> Result<(), String> {
        if self.command.is_none() && self.url.is_none() {
            self.command = imported.command;
            self.url = imported.url;
        }
        if self.command.is_some() {
            if self.args.is_empty() {
                self.args = imported.args;
            }
            self.cwd = self.cwd.take().or(imported.cwd.map(PathBuf::from));
            let mut variables = imported.env;
            variables.extend(std::mem::take(&mut self.env.0));
            self.env = Variables::try_from(variables)?;
        } else {
            let mut headers = imported.headers;
            headers.extend(std::mem::take(&mut self.headers.0));
            self.headers = ConfiguredHeaders::try_from(headers)?;
        }
        Ok(())
    }

    /// Returns the prefix of the names of the server's tools, without the separator; empty if the tools keep their names.
    pub(crate) fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or(&self.key)
    }

    /// Returns whether a tool of this server may have this name.
    pub(crate) fn owns(&self, name: &str) -> bool {
        let prefix = self.prefix();
        let rest = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix("__"));
        !prefix.is_empty() && rest.is_some_and(|rest| !rest.is_empty())
    }

    /// Returns whether a pattern may match a tool of this server.
    pub(super) fn may_match(&self, pattern: &str) -> bool {
        // Any name is possible without a prefix.
        if self.prefix().is_empty() {
            return true;
        }
        let (literal, is_open) = pattern
            .split_once('*')
            .map_or((pattern, false), |(literal, _)| (literal, true));
        [format!("{}__", self.prefix()), self.alias("")]
            .iter()
            .any(|start| {
                let is_longer = literal.len() > start.len() && literal.starts_with(start);
                is_longer || is_open && start.starts_with(literal)
            })
    }

    /// Returns the name of a tool in the form of Claude Code's permission rules.
    pub(crate) fn alias(&self, own_name: &str) -> String {
        format!("mcp__{}__{own_name}", self.key)
    }

    /// Returns whether a tool with this name of the server is offered.
    pub(crate) fn offers(&self, own_name: &str) -> bool {
        is_in(&self.tools, own_name) && !is_in(&self.except, own_name)
    }

    /// Returns the patterns that match none of the server's names, with their settings.
    pub(crate) fn patterns_without_match(&self, names: &[String]) -> Vec<(String, &str)> {
        let lists = [
            ("tools", &self.tools),
            ("except", &self.except),
            ("read_only", &self.read_only),
            ("deferred", &self.deferred),
        ];
        let all = lists
            .into_iter()
            .flat_map(|(setting, patterns)| patterns.iter().map(move |pattern| (setting, pattern)));
        let has_match = |pattern: &str| pattern == "*" || names.iter().any(|name| matches(pattern, name));
        all.filter(|(_, pattern)| !has_match(pattern))
            .map(|(setting, pattern)| {
                let setting = format!("mcp.servers.{}.{setting}", self.key);
                (setting, pattern.as_str())
            })
            .collect()
    }

    /// Returns whether a tool only reads, in the operator's word.
    pub(crate) fn is_read_only(&self, own_name: &str) -> bool {
        is_in(&self.read_only, own_name)
    }

    /// Returns whether the calls of a tool wait for the client's results.
    pub(crate) fn is_deferred(&self, own_name: &str) -> bool {
        is_in(&self.deferred, own_name)
    }

    /// Returns the description of a tool for the model.
    pub(crate) fn description(&self, description: &str) -> String {
        let texts = [self.describe.as_str(), description];
        let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        texts.join(" ")
    }

    /// Returns whether the server starts at the first call.
    pub(crate) fn is_lazy(&self) -> bool {
        self.start == StartName::Lazy
    }

    /// Starts the server with the gateway, whatever the file says.
    pub(super) fn set_eager(&mut self) {
        self.start = StartName::Eager;
    }

    /// Returns whether the operator trusts the server's hints.
    pub(crate) fn trusts_hints(&self) -> bool {
        self.trust_hints
    }

    pub(crate) fn policy(&self) -> Policy {
        match self.policy {
            PolicyName::Lenient => Policy::Lenient,
            PolicyName::Lossless => Policy::Lossless,
            PolicyName::Strict => Policy::Strict,
        }
    }

    /// Returns whether the server is at a URL.
    pub(crate) fn has_url(&self) -> bool {
        self.url.is_some()
    }

    /// Returns the headers of a client's request that calls need.
    pub(crate) fn client_headers(&self) -> impl Iterator<Item = &HeaderName> {
        self.headers_from_client.sources()
    }

    /// Starts the server, or connects to its URL, in the background. Returns `None` if the settings are invalid.
    pub(crate) fn start(&self, hooks: McpHooks) -> Option<McpClient> {
        match &self.url {
            Some(url) => self.at_url(url, hooks)?.start().ok(),
            None => Some(self.command(hooks)?.start()),
        }
    }

    fn at_url(&self, url: &str, hooks: McpHooks) -> Option<McpUrl> {
        let server = ToolServer::new(url).ok()?;
        let mut server = with_limits!(McpClient::url(url, server), self, hooks);
        for (name, value) in &self.headers.0 {
            server = server.header(name, value);
        }
        for (name, variable) in &self.headers_env.0 {
            server = server.header(name, variable.value()?);
        }
        let from_client = self.headers_from_client.clone();
        Some(server.call_headers(move |context| {
            let request = context.extension::<RequestHeaders>();
            let (all, named) = request.map_or_else(Default::default, |request| {
                (request.all.clone(), request.named.clone())
            });
            let mut headers = all;
            from_client.insert(&named, &mut headers)?;
            Ok(headers)
        }))
    }

    fn command(&self, hooks: McpHooks) -> Option<McpCommand> {
        let command = McpClient::command(self.command.as_ref()?);
        let mut command = with_limits!(command, self, hooks).args(&self.args);
        if let Some(directory) = &self.cwd {
            command = command.current_dir(directory);
        }
        for (name, value) in &self.env.0 {
            command = command.env(name, value);
        }
        for name in &self.env_from {
            command = command.env_from(name.to_string());
        }
        Some(command)
    }

    /// Checks that the URL of the server is not an address of this gateway.
    pub(super) async fn check_address(&self, listen: SocketAddr, mistakes: &mut Mistakes) {
        let server = self.url.as_ref().and_then(|url| ToolServer::new(url).ok());
        if let Some(server) = server
            && server.connects_to(listen).await
        {
            mistakes.add(
                &["mcp", "servers", &self.key, "url"],
                "the server is this gateway itself, which would call itself for ever; name another URL",
            );
        }
    }

    /// Checks the settings, without a start of the server.
    pub(super) fn check(&self, mistakes: &mut Mistakes) {
        let table = ["mcp", "servers", &self.key];
        let [section, servers, key] = table;
        let at = |name| [section, servers, key, name];
        if !is_name(&self.key, "-") || self.key.is_empty() {
            mistakes.add(
                &table,
                format_args!(
                    "invalid name; expected 1 to {MAX_LENGTH} of the characters a-z, A-Z, 0-9 and -; `prefix` may have other characters"
                ),
            );
        }
        match (&self.command, &self.url) {
            // A misspelt key is already recorded.
            (None, None) if mistakes.is_correct_in(&table) => {
                mistakes.add(&table, "missing key `command` or `url`");
            }
            (Some(_), Some(_)) => {
                mistakes.add(&at("url"), "`command` is set, too; leave one of the two out");
            }
            (None, Some(url)) => {
                if let Err(error) = ToolServer::check(url) {
                    mistakes.add(&at("url"), error);
                }
            }
            (_, None) => {}
        }
        self.check_transport(mistakes);
        if let Some(prefix) = &self.prefix
            && !is_name(prefix, "_-")
        {
            mistakes.add(
                &at("prefix"),
                format_args!(
                    "invalid prefix {prefix:?}; expected at most {MAX_LENGTH} of the characters a-z, A-Z, 0-9, _ and -"
                ),
            );
        }
        for name in &self.env_from {
            if env::var_os(name.to_string()).is_none() {
                mistakes.add(
                    &at("env_from"),
                    format_args!("the variable {name} is not set; set it in the gateway's environment"),
                );
            }
        }
        for (name, variable) in &self.headers_env.0 {
            match variable.value() {
                None => mistakes.add(
                    &at("headers_env"),
                    format_args!("the variable {variable} is not set; set it in the gateway's environment"),
                ),
                Some(value) if HeaderValue::from_str(&value).is_err() => mistakes.add(
                    &at("headers_env"),
                    format_args!(
                        "the variable {variable} has no value for the header `{name}`; look for a line break at its end"
                    ),
                ),
                Some(_) => {}
            }
        }
        if let Some(directory) = self.cwd.as_ref().filter(|directory| !directory.is_dir()) {
            mistakes.add(
                &at("cwd"),
                format_args!("missing directory {}", directory.display()),
            );
        }
    }
}

impl McpServerSettings {
    /// Checks that no key of the other transport is set, which would have no effect.
    fn check_transport(&self, mistakes: &mut Mistakes) {
        let default = Self::default();
        let of_command = [
            ("args", self.args != default.args),
            ("cwd", self.cwd != default.cwd),
            ("env", self.env != default.env),
            ("env_from", self.env_from != default.env_from),
        ];
        let of_url = [
            ("headers", self.headers != default.headers),
            ("headers_env", self.headers_env != default.headers_env),
            (
                "headers_from_client",
                self.headers_from_client != default.headers_from_client,
            ),
        ];
        let (keys, other): (&[_], _) = match (&self.command, &self.url) {
            (None, Some(_)) => (&of_command, "command"),
            (Some(_), None) => (&of_url, "url"),
            _ => return,
        };
        for (name, _) in keys.iter().filter(|(_, is_set)| *is_set) {
            mistakes.add(
                &["mcp", "servers", &self.key, name],
                format_args!("no effect without `{other}`"),
            );
        }
    }
}

fn is_in(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// Returns whether a text has at most [`MAX_LENGTH`] letters, digits and characters of `others`.
fn is_name(text: &str, others: &str) -> bool {
    text.len() <= MAX_LENGTH
        && text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || others.contains(character))
}
