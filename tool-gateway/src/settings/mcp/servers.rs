//! [`McpSettings`]: all MCP servers, in the order of the file.

use std::collections::BTreeMap;
use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::de::Deserializer;
use tool_mcp::McpServer;
use tool_runtime::ToolRegistry;

use super::import::{self, ImportedServer, ImportedServers};
use super::in_order::in_order;
use super::pins::Pins;
use super::server::McpServerSettings;
use crate::name_pattern::matches;
use crate::settings::mistakes::Mistakes;
use crate::settings::unknown_tool;

/// The section `mcp`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpSettings {
    /// Whether the gateway's tools are served at `/mcp`.
    pub(crate) serve: bool,
    /// Patterns for the names of the served tools.
    pub(crate) serve_tools: Vec<String>,
    /// Instructions for the models of clients.
    instructions: String,
    /// File of accepted definitions.
    pub(crate) pins: Option<PathBuf>,
    /// Files with the servers of other programs.
    import: Vec<PathBuf>,
    #[serde(deserialize_with = "servers")]
    pub(crate) servers: Vec<McpServerSettings>,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            serve: false,
            serve_tools: vec!["*".to_owned()],
            instructions: String::new(),
            pins: None,
            import: Vec::new(),
            servers: Vec::new(),
        }
    }
}

impl McpSettings {
    /// Creates a server with these tools.
    pub(crate) fn server(&self, registry: ToolRegistry) -> McpServer {
        McpServer::new(registry)
            .with_name(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .with_instructions(self.instructions.as_str())
    }

    /// Rejects patterns for served tools that match no tool, since they would have no effect.
    pub(crate) fn check_served(&self, tools: &[String], mistakes: &mut Mistakes) {
        for pattern in &self.serve_tools {
            let is_known = pattern == "*" || tools.iter().any(|tool| matches(pattern, tool));
            if !is_known && !self.may_match(pattern) {
                let advice = unknown_tool::advice(pattern, tools);
                let text = format_args!("no tool of the gateway is called `{pattern}`; {advice}");
                mistakes.add_of_list(["mcp", "serve_tools"], pattern, text);
            }
        }
    }

    /// Adds the servers of the imported files, after the others. A table with the key of an imported server extends it.
    pub(crate) fn import(&mut self, mistakes: &mut Mistakes) {
        let mut names = BTreeMap::new();
        for path in self.import.clone() {
            let mut add = |message: String| {
                mistakes.add_of_list(["mcp", "import"], &path.to_string_lossy(), message);
            };
            let file = match ImportedServers::read(&path) {
                Ok(file) => file,
                Err(error) => {
                    add(error);
                    continue;
                }
            };
            for (name, imported) in file.servers {
                for error in self.import_server(&name, imported, &mut names) {
                    add(format!("{}: server `{name}`: {error}", path.display()));
                }
            }
        }
    }

    /// Adds a server, whose key no other imported server may have: the two would be mixed. Returns its mistakes.
    fn import_server(
        &mut self,
        name: &str,
        mut imported: ImportedServer,
        names: &mut BTreeMap<String, String>,
    ) -> Vec<String> {
        if imported.disabled {
            return Vec::new();
        }
        let key = import::key(name);
        if let Some(other) = names.insert(key.clone(), name.to_owned()) {
            return vec![format!(
                "the key `{key}` is also the one of the imported server `{other}`; rename or disable one of the two"
            )];
        }
        if let Err(error) = imported.expand(|name| env::var(name).ok()) {
            return vec![error];
        }
        let mut servers = self.servers.iter_mut();
        if let Some(server) = servers.find(|server| server.key == key) {
            return server.extend(imported).err().into_iter().collect();
        }
        let mut server = McpServerSettings::imported(key.clone());
        if let Err(error) = server.extend(imported) {
            return vec![error];
        }
        let mut mistakes = Mistakes::default();
        server.check(&mut mistakes);
        self.servers.push(server);
        mistakes.messages_in(&["mcp", "servers", &key])
    }

    /// Starts all servers with the program, without pins, so that their definitions can be pinned. Returns the file of pins.
    pub(crate) fn take_pins(&mut self) -> Option<PathBuf> {
        self.servers.iter_mut().for_each(McpServerSettings::set_eager);
        self.pins.take()
    }

    /// Checks the settings of all servers.
    pub(crate) fn check(&self, mistakes: &mut Mistakes) {
        if let Some(Err(error)) = self.pins.as_deref().map(Pins::read) {
            mistakes.add(&["mcp", "pins"], error);
        }
        for (index, server) in self.servers.iter().enumerate() {
            if !server.is_imported {
                server.check(mistakes);
            }
            if server.is_lazy() && self.pins.is_none() {
                mistakes.add(
                    &["mcp", "servers", &server.key, "start"],
                    "a server that starts at its first call needs `mcp.pins`, which has the definitions of its tools",
                );
            }
            let prefix = server.prefix();
            let mut earlier = self.servers.iter().take(index);
            let other = earlier.find(|other| !prefix.is_empty() && other.prefix() == prefix);
            if let Some(other) = other {
                mistakes.add(
                    &["mcp", "servers", &server.key, "prefix"],
                    format_args!(
                        "the server `{}` has the prefix `{prefix}`, too; set `prefix` of one of the two",
                        other.key
                    ),
                );
            }
        }
    }

    /// Checks that no URL is an address of this gateway.
    pub(crate) async fn check_addresses(&self, listen: SocketAddr, mistakes: &mut Mistakes) {
        for server in &self.servers {
            server.check_address(listen, mistakes).await;
        }
    }

    /// Returns whether a tool of a server may have this name: a name under a prefix is never the client's, unless the client declares it
    /// with another schema.
    pub(crate) fn owns(&self, name: &str) -> bool {
        self.servers.iter().any(|server| server.owns(name))
    }

    /// Returns the starts of the names of the servers' tools.
    pub(crate) fn name_starts(&self) -> Vec<String> {
        let prefixes = self.servers.iter().map(McpServerSettings::prefix);
        prefixes
            .filter(|prefix| !prefix.is_empty())
            .map(|prefix| format!("{prefix}__"))
            .collect()
    }

    /// Returns whether a pattern may match a name of a server's tool: the offered name, or `mcp__KEY__` and the server's name.
    pub(crate) fn may_match(&self, pattern: &str) -> bool {
        self.servers.iter().any(|server| server.may_match(pattern))
    }
}

/// Reads the table of servers in the order of the file.
fn servers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<McpServerSettings>, D::Error> {
    let servers = in_order::<McpServerSettings, D>(deserializer)?.into_iter();
    Ok(servers
        .map(|(key, mut server)| {
            server.key = key;
            server
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::settings::file::{self, ReadFile};

    fn mistakes(text: &str) -> Vec<String> {
        let ReadFile {
            settings,
            lines,
            mistakes,
        } = file::read::<Settings>(text);
        let mut mistakes = Mistakes::in_file("gateway.toml".to_owned(), lines, mistakes);
        settings.mcp.check(&mut mistakes);
        let text = mistakes.into_result().err().map(|error| error.to_string());
        text.unwrap_or_default()
            .lines()
            .filter(|line| !line.ends_with("mistakes in the configuration"))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn servers_are_read_in_the_order_of_the_file() {
        let text = "[mcp.servers.zoo]\ncommand = \"zoo\"\n[mcp.servers.ant]\ncommand = \"ant\"\n[mcp.servers.b-2]\ncommand = \"b\"\n";
        let settings = file::read::<Settings>(text).settings;
        let keys: Vec<_> = settings
            .mcp
            .servers
            .iter()
            .map(|server| server.key.as_str())
            .collect();
        assert_eq!(keys, ["zoo", "ant", "b-2"]);
        assert_eq!(mistakes(text), Vec::<String>::new());
    }

    #[test]
    fn mistakes_name_line_key_and_expectation() {
        for (text, wanted) in [
            (
                "[mcp.servers.git]\ncomand = \"git-mcp\"\n",
                &["gateway.toml:2: mcp.servers.git.comand: unknown key; expected one of"][..],
            ),
            (
                "[mcp.servers.git]\nprefix = \"g\"\n",
                &["gateway.toml:1: mcp.servers.git: missing key `command` or `url`"],
            ),
            (
                "[mcp.servers.git_hub]\ncommand = \"git-mcp\"\n",
                &[
                    "gateway.toml:1: mcp.servers.git_hub: invalid name; expected 1 to 32 of the characters a-z, A-Z, 0-9 and -; \
                   `prefix` may have other characters",
                ],
            ),
            (
                "[mcp.servers.git]\ncommand = \"git-mcp\"\nprefix = \"a.b\"\n",
                &[
                    "gateway.toml:3: mcp.servers.git.prefix: invalid prefix \"a.b\"; expected at most 32 of the characters a-z, A-Z, 0-9, _ and -",
                ],
            ),
            (
                "[mcp.servers.git]\ncommand = \"git-mcp\"\n[mcp.servers.hub]\ncommand = \"hub\"\nprefix = \"git\"\n",
                &[
                    "gateway.toml:5: mcp.servers.hub.prefix: the server `git` has the prefix `git`, too; set `prefix` of one of the two",
                ],
            ),
            // Without a prefix, names decide.
            (
                "[mcp.servers.a]\ncommand = \"a\"\nprefix = \"\"\n[mcp.servers.b]\ncommand = \"b\"\nprefix = \"\"\n",
                &[],
            ),
            (
                "[mcp.servers.git]\ncommand = \"git-mcp\"\nenv_from = [\"TOOL_GATEWAY_NO_SUCH_VARIABLE\"]\n",
                &[
                    "gateway.toml:3: mcp.servers.git.env_from: the variable TOOL_GATEWAY_NO_SUCH_VARIABLE is not set; set it in the gateway's environment",
                ],
            ),
            (
                "[mcp.servers.git]\ncommand = \"git-mcp\"\ncwd = \"/no/such/directory\"\n",
                &["gateway.toml:3: mcp.servers.git.cwd: missing directory /no/such/directory"],
            ),
            ("[mcp.servers.web]\nurl = \"https://example.com/mcp\"\n", &[]),
            (
                "[mcp.servers.web]\nurl = \"https://example.com/mcp?key=1\"\nargs = [\"a\"]\nheaders_env = { x-key = \"TOOL_GATEWAY_NO_SUCH_VARIABLE\" }\n",
                &[
                    "gateway.toml:2: mcp.servers.web.url: invalid URL https://example.com/mcp: it contains a query or a fragment; remove it",
                    "gateway.toml:3: mcp.servers.web.args: no effect without `command`",
                    "gateway.toml:4: mcp.servers.web.headers_env: the variable TOOL_GATEWAY_NO_SUCH_VARIABLE is not set; set it in the gateway's environment",
                ],
            ),
            (
                "[mcp.servers.web]\nurl = \"https://example.com/mcp\"\nheaders = { \"a b\" = \"secret\" }\nheaders_from_client = { x-a = \"é\" }\n",
                &[
                    "gateway.toml:3: mcp.servers.web.headers: expected a table with names of headers",
                    "gateway.toml:4: mcp.servers.web.headers_from_client: expected a table with names of headers",
                ],
            ),
            (
                "[mcp.servers.web]\nurl = \"https://example.com/mcp\"\nheaders = { x-a = \"secret\\n\" }\n",
                &["gateway.toml:3: mcp.servers.web.headers: invalid value of the header `x-a`"],
            ),
            (
                "[mcp.servers.git]\ncommand = \"git-mcp\"\nheaders = { x-a = \"1\" }\n",
                &["gateway.toml:3: mcp.servers.git.headers: no effect without `url`"],
            ),
            (
                "[mcp.servers.git]\ncommand = \"git-mcp\"\ncall_seconds = 0\npolicy = \"none\"\n",
                &[
                    "gateway.toml:3: mcp.servers.git.call_seconds: invalid value 0; expected an integer of at least 1",
                    "gateway.toml:4: mcp.servers.git.policy: invalid value \"none\"; expected one of `lenient`, `lossless`, `strict`",
                ],
            ),
            (
                "mcp.servers = 5\n",
                &["gateway.toml:1: mcp.servers: invalid value 5; expected a table"],
            ),
            (
                "mcp.servers.git = \"git-mcp\"\n",
                &["gateway.toml:1: mcp.servers.git: invalid value \"git-mcp\"; expected a table"],
            ),
        ] {
            let found = mistakes(text);
            assert_eq!(found.len(), wanted.len(), "{text}: {found:#?}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert!(found.starts_with(wanted), "{text}: {found}\n{wanted}");
            }
        }
    }

    #[test]
    fn the_values_of_variables_are_not_printed() {
        let text = "[mcp.servers.git]\ncommand = \"git-mcp\"\nenv = { TOKEN = \"hush\" }\n";
        let settings = file::read::<Settings>(text).settings;
        let shown = format!("{settings:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn names_under_a_prefix_belong_to_a_server() {
        let text = "[mcp.servers.git]\ncommand = \"g\"\n[mcp.servers.any]\ncommand = \"a\"\nprefix = \"\"\n";
        let settings = file::read::<Settings>(text).settings;
        for (name, is_owned) in [
            ("git__log", true),
            ("git__", false),
            ("git_log", false),
            ("github__log", false),
            ("any__log", false),
            ("__log", false),
        ] {
            assert_eq!(settings.mcp.owns(name), is_owned, "{name}");
        }
    }
}
