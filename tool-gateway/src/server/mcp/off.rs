//! [`McpServers`] of a program that was built without the feature `mcp`.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::HeaderMap;
use tool_runtime::{Context, ToolRegistry};

use super::listed_tools::ListedTools;
use crate::server::generations::{ClientTools, Generations};
use crate::settings::Settings;
use crate::settings::permissions::ToolAliases;

/// No servers.
#[derive(Debug, Clone, Default)]
pub(crate) struct McpServers;

impl McpServers {
    pub(crate) fn start(_: &Settings, _: &ToolAliases) -> Self {
        Self
    }

    pub(crate) fn start_for(_: &Settings, _: Option<&str>) -> Self {
        Self
    }

    pub(crate) async fn listed(&self, registry: ToolRegistry) -> ListedTools {
        ListedTools {
            registry,
            left_out: Vec::new(),
            stderr: Vec::new(),
            failures: Vec::new(),
        }
    }

    pub(crate) fn refresh(&self) {}

    pub(crate) fn generations(&self, registry: ToolRegistry, clients: ClientTools) -> Arc<Generations> {
        Arc::new(Generations::fixed(registry, clients))
    }

    pub(crate) async fn first_lists(&self, _: Option<&BTreeSet<String>>) {}

    pub(crate) fn missing(&self) -> Vec<&str> {
        Vec::new()
    }

    pub(crate) fn with_request_headers(&self, context: Context, _: &HeaderMap) -> Context {
        context
    }

    pub(crate) async fn stop(&self) {}

    /// Returns the names of the servers for the startup message.
    pub(crate) fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}
