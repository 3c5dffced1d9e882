//! [`Settings`]: all settings of a gateway with their defaults. The configuration file, the environment, the options of `serve` and
//! `Gateway::with_*` set them.

// A module uses only modules that are declared before it.
pub(crate) mod unknown_tool;
pub(crate) mod mistakes;
pub(crate) mod file;
mod units;
mod values;
pub(crate) mod listen;
pub(crate) mod variable_name;
pub(crate) mod limits;
pub(crate) mod bash;
pub(crate) mod tools;
pub(crate) mod client_tools;
pub(crate) mod text_calls;
pub(crate) mod offload;
pub(crate) mod upstream;
pub(crate) mod client_keys;
pub(crate) mod sessions;
pub(crate) mod workspace;
mod call_pattern;
pub(crate) mod permissions;
pub(crate) mod origins;
pub(crate) mod base_path;
pub(crate) mod metrics;
pub(crate) mod mcp;
pub(crate) mod options;

use std::env;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde::Deserialize;
use tool_runtime::ToolRegistry;
use tool_runtime::repair::{FormatFixing, TargetTools};

use crate::turn::client_calls::ClientCallRules;
use crate::upstream::TextCallRules;
use crate::upstream::openai::models::ModelRule;
use base_path::BasePath;
use client_keys::{ClientKey, ClientSettings};
use limits::Limits;
use mcp::McpSettings;
use metrics::MetricsSettings;
use mistakes::Mistakes;
use offload::Offload;
use options::ServeOptions;
use origins::AllowedOrigins;
use permissions::PermissionRule;
use sessions::{SessionSettings, StoreLocation};
use tools::ToolSettings;
use unknown_tool::KnownTools;
use upstream::{UpstreamKind, UpstreamSettings};
use workspace::WorkspaceSettings;

/// Settings of a gateway. `tool-gateway/gateway.toml` documents every key. Settings contain no secrets, only the names of environment
/// variables with secrets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(deserialize_with = "listen::address")]
    pub(crate) listen: SocketAddr,
    /// Path before the paths of all routes.
    pub(crate) base_path: BasePath,
    /// Origins of web pages and extensions that are served.
    pub(crate) allowed_origins: AllowedOrigins,
    pub(crate) store: StoreLocation,
    #[serde(deserialize_with = "values::table")]
    pub(crate) upstream: UpstreamSettings,
    #[serde(deserialize_with = "values::table")]
    pub(crate) tools: ToolSettings,
    /// Arguments of calls of the client's tools, from upstreams whose API is translated.
    #[serde(deserialize_with = "client_tools::rules")]
    pub(crate) client_tools: ClientCallRules,
    /// Recovery of calls that arrive as text.
    #[serde(deserialize_with = "text_calls::rules")]
    pub(crate) text_calls: TextCallRules,
    /// Directory for long results. If absent, no results are offloaded.
    #[serde(deserialize_with = "values::some_table")]
    pub(crate) offload: Option<Offload>,
    /// Folder whose files the gateway's tools read and write.
    #[serde(deserialize_with = "values::table")]
    pub(crate) workspace: WorkspaceSettings,
    #[serde(deserialize_with = "values::table")]
    pub(crate) sessions: SessionSettings,
    #[serde(deserialize_with = "values::table")]
    pub(crate) limits: Limits,
    /// Repair of calls in responses of `OpenAI`'s APIs.
    pub(crate) format_fixing: FormatFixing,
    /// Whether the file names the tools whose calls are repaired.
    #[serde(skip)]
    pub(crate) has_target_tools: bool,
    #[serde(deserialize_with = "values::table")]
    pub(crate) metrics: MetricsSettings,
    #[serde(deserialize_with = "values::table")]
    pub(crate) mcp: McpSettings,
    #[serde(deserialize_with = "values::tables")]
    pub(crate) clients: Vec<ClientSettings>,
    /// Names of models at an upstream `openai`.
    #[serde(deserialize_with = "values::tables")]
    pub(crate) models: Vec<ModelRule>,
    #[serde(deserialize_with = "values::tables")]
    pub(crate) permissions: Vec<PermissionRule>,
    /// Whether requests for any host name are served. `serve` sets this if there are client keys.
    #[serde(skip)]
    pub(crate) any_host: bool,
}

/// Setting that names tools.
#[cfg(feature = "mcp")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedTools {
    pub(crate) setting: &'static str,
    /// Name, in which `*` matches any text.
    pub(crate) pattern: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 8484).into(),
            base_path: BasePath::default(),
            allowed_origins: AllowedOrigins::default(),
            store: StoreLocation::default(),
            upstream: UpstreamSettings::default(),
            tools: ToolSettings::default(),
            client_tools: ClientCallRules::default(),
            text_calls: TextCallRules::default(),
            offload: None,
            workspace: WorkspaceSettings::default(),
            sessions: SessionSettings::default(),
            limits: Limits::default(),
            format_fixing: FormatFixing::default(),
            has_target_tools: false,
            metrics: MetricsSettings::default(),
            mcp: McpSettings::default(),
            clients: Vec::new(),
            models: Vec::new(),
            permissions: Vec::new(),
            any_host: false,
        }
    }
}

impl Settings {
    /// Loads settings from the file, the environment and the options; an option has precedence. A setting with a mistake has its default
    /// value.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub(crate) fn load(options: &ServeOptions) -> Result<(Self, Mistakes), String> {
        let (mut settings, mut mistakes) = Self::load_file(options.config.as_deref())?;
        settings.set_options(options, &mut mistakes);
        settings.set_environment(&mut mistakes);
        Ok((settings, mistakes))
    }

    /// Loads settings from the file, or the default values without a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub(crate) fn load_file(path: Option<&Path>) -> Result<(Self, Mistakes), String> {
        Ok(match path {
            None => (Self::default(), Mistakes::default()),
            Some(path) => {
                let path_text = path.display().to_string();
                let text = std::fs::read_to_string(path).map_err(|error| {
                    format!("{path_text} cannot be read: {error}; specify another file with --config")
                })?;
                let file::ReadFile {
                    settings,
                    lines,
                    mistakes,
                } = Self::read(&text);
                let mut settings: Self = settings;
                let mut mistakes = Mistakes::in_file(path_text, lines, mistakes);
                settings.mcp.import(&mut mistakes);
                (settings, mistakes)
            }
        })
    }

    /// Reads the text of a file.
    fn read(text: &str) -> file::ReadFile<Self> {
        let mut file: file::ReadFile<Self> = file::read(text);
        let target_tools = ["format_fixing", "target_tools"].map(str::to_owned);
        file.settings.has_target_tools = file.lines.contains_key(target_tools.as_slice());
        file
    }

    fn set_environment(&mut self, mistakes: &mut Mistakes) {
        // The variable names a server of the Messages API. In the shell of a client it names this gateway.
        if self.upstream.kind() == UpstreamKind::OpenAi {
            return;
        }
        let url = env::var("ANTHROPIC_BASE_URL").ok().filter(|url| !url.is_empty());
        if let (None, Some(url)) = (&self.upstream.url, url) {
            self.upstream.url = Some(url);
            mistakes.set_by("upstream.url", "ANTHROPIC_BASE_URL");
        }
    }

    fn set_options(&mut self, options: &ServeOptions, mistakes: &mut Mistakes) {
        let upstream = &mut self.upstream;
        match (options.upstream_kind, &options.script, &options.upstream) {
            (Some(UpstreamKind::Anthropic | UpstreamKind::OpenAi), Some(_), _) => {
                mistakes.add_elsewhere("--script is for --upstream-kind script; leave one of the two out");
            }
            (Some(UpstreamKind::Script), _, Some(_)) => {
                mistakes.add_elsewhere(
                    "--upstream is for --upstream-kind anthropic or openai; a script asks no server: leave one of the two out",
                );
            }
            (Some(kind), ..) => upstream.kind = Some(kind),
            (None, Some(_), _) => upstream.kind = Some(UpstreamKind::Script),
            (None, None, Some(_)) if upstream.kind() == UpstreamKind::Script => {
                upstream.kind = Some(UpstreamKind::Anthropic);
            }
            (None, None, _) => {}
        }
        let is_kind_set = options.upstream_kind.is_some() || options.upstream.is_some();
        if is_kind_set && upstream.kind() != UpstreamKind::Script {
            // The options set another kind of upstream, which does not use the script of the file.
            upstream.script = None;
        }
        if let Some(script) = &options.script {
            upstream.script = Some(script.clone());
            mistakes.set_by("upstream.script", "--script");
        }
        if let Some(url) = &options.upstream {
            upstream.url = Some(url.clone());
            mistakes.set_by("upstream.url", "--upstream");
        }
        #[cfg(feature = "mcp")]
        if options.mcp {
            self.mcp.serve = true;
        }
        if let Some(listen) = options.listen {
            self.listen = listen;
            mistakes.set_by("listen", "--listen");
        }
        if let Some(store) = &options.store {
            mistakes.set_by("store", "--store");
            match store.parse() {
                Ok(store) => self.store = store,
                Err(error) => mistakes.add(&["store"], error),
            }
        }
        if let Some(names) = &options.tools {
            self.tools.names = Some(names.clone());
            mistakes.set_by("tools.names", "--tools");
        }
        if let Some(formats) = &options.text_calls {
            self.text_calls.formats = formats.iter().copied().collect();
            mistakes.set_by("text_calls.formats", "--text-calls");
        }
        if let Some(offer) = options.offer {
            self.tools.offer = offer.into();
        }
        self.workspace.set_options(&options.workspace, mistakes);
    }

    /// Returns the patterns of tools that MCP servers may have.
    #[cfg(feature = "mcp")]
    pub(crate) fn server_patterns(&self) -> Vec<NamedTools> {
        let permissions = self
            .permissions
            .iter()
            .map(|rule| ("permissions.tool", rule.tool.name()));
        let ownership = &self.tools.ownership;
        let internal = ownership
            .internal()
            .iter()
            .map(|name| ("tools.internal", name.as_str()));
        let aliases = ownership
            .aliases()
            .values()
            .map(|name| ("tools.alias", name.as_str()));
        let deferred = self
            .tools
            .deferred
            .iter()
            .map(|name| ("tools.deferred", name.as_str()));
        let excluded = self.offload.iter().flat_map(Offload::excluded);
        let excluded = excluded.map(|name| ("offload.exclude", name.as_str()));
        let clients = self
            .clients
            .iter()
            .flat_map(|client| client.tools.iter().flatten());
        let clients = clients.map(|name| ("clients.tools", name.as_str()));
        permissions
            .chain(internal)
            .chain(aliases)
            .chain(deferred)
            .chain(excluded)
            .chain(clients)
            .filter(|(_, pattern)| *pattern != "*" && self.mcp.may_match(pattern))
            .map(|(setting, pattern)| NamedTools {
                setting,
                pattern: pattern.to_owned(),
            })
            .collect()
    }

    /// Returns the repair of calls from an upstream `openai`: of every tool, unless the file names tools.
    pub(crate) fn chat_format_fixing(&self) -> FormatFixing {
        let fixing = self.format_fixing.clone();
        if self.has_target_tools {
            return fixing;
        }
        FormatFixing {
            target_tools: TargetTools::All,
            ..fixing
        }
    }

    /// Loads the client keys. Without client keys, only clients on this machine may be served.
    pub(crate) fn client_keys(&self, mistakes: &mut Mistakes) -> Vec<ClientKey> {
        let keys = ClientKey::load(&self.clients, mistakes);
        if !self.listen.ip().is_loopback() && keys.is_empty() && mistakes.is_correct("clients") {
            mistakes.add(
                &["listen"],
                format_args!(
                    "{} can be reached from other machines, and there are no client keys: anyone could use the upstream and run tools; \
                     set TOOL_GATEWAY_CLIENT_KEYS to name=key or configure [[clients]], or listen on 127.0.0.1",
                    self.listen
                ),
            );
        }
        keys
    }

    /// Checks the names of tools against the registry of the gateway.
    pub(crate) fn check_tools(
        &self,
        registry: &ToolRegistry,
        clients: &[ClientKey],
        mistakes: &mut Mistakes,
    ) {
        // After a mistake in `offload`, `ReadOffloaded` is not registered, so its name would be reported as unknown.
        if !mistakes.is_correct("offload") {
            return;
        }
        let may_have = |name: &str| self.mcp.owns(name);
        let known = KnownTools {
            registry,
            may_have: &may_have,
        };
        self.tools.check(known, mistakes);
        let names: Vec<_> = registry
            .tool_definitions()
            .into_iter()
            .map(|tool| tool.name.as_str().to_owned())
            .collect();
        let may_match = |pattern: &str| self.mcp.may_match(pattern);
        PermissionRule::check(&self.permissions, &names, &may_match, clients, mistakes);
        self.mcp.check_served(&names, mistakes);
        for (index, client) in self.clients.iter().enumerate() {
            let key = ["clients", &index.to_string(), "tools"];
            for name in client.tools.iter().flatten() {
                if let Err(error) = known.check(name) {
                    mistakes.add(&key, error);
                }
            }
            let is_other = |other: &ClientSettings| other.name == client.name && other.tools != client.tools;
            if self.clients.iter().take(index).any(is_other) {
                let name = &client.name;
                mistakes.add(
                    &key,
                    format_args!("the client `{name}` has another list of tools above; write the same"),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_every_tool_are_repaired_unless_the_file_names_tools() {
        let named = |name: &str| TargetTools::named([name]);
        for (text, passing, translated) in [
            ("", "TodoWrite", TargetTools::All),
            (
                "[format_fixing]\nfallback_on_error = false",
                "TodoWrite",
                TargetTools::All,
            ),
            (
                "[format_fixing]\ntarget_tools = [\"TodoWrite\"]",
                "TodoWrite",
                named("TodoWrite"),
            ),
            ("format_fixing.target_tools = [\"Edit\"]", "Edit", named("Edit")),
        ] {
            let settings = Settings::read(text).settings;
            assert_eq!(settings.format_fixing.target_tools, named(passing), "{text}");
            assert_eq!(settings.chat_format_fixing().target_tools, translated, "{text}");
        }
    }
}
