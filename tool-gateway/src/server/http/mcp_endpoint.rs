//! [`McpEndpoint`]: the gateway's tools for clients of the Model Context Protocol (MCP), at `/mcp`.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use tokio::sync::watch;
use tool_builtins::offload::WithoutOffload;
use tool_mcp::{McpPrincipal, McpServer};
use tool_runtime::{Context, ToolRegistry};
use tower_service::Service as _;

use crate::fold_map::FoldMap;
use crate::name_pattern::matches;
use crate::server::admit::request_body::{ReadRequest, read_decompressed};
use crate::server::turns::shared::Shared;
use crate::session::principal::Principal;
use crate::settings::mcp::McpSettings;
use crate::settings::offload::READ_OFFLOADED;
use crate::wire::error::ApiError;

/// Servers with the tools of the current generation.
#[derive(Debug)]
pub(crate) struct McpEndpoint {
    /// Server for clients with all tools.
    server: McpServer,
    by_client: FoldMap<Principal, ClientServer>,
    settings: McpSettings,
}

/// Server for a client that does not have all tools.
#[derive(Debug)]
struct ClientServer {
    server: McpServer,
    names: BTreeSet<String>,
}

impl McpEndpoint {
    /// Creates the servers. Their tools change with the gateway's, and their subscriptions end with the gateway.
    pub(crate) fn start(shared: &Arc<Shared>) -> Arc<Self> {
        let settings = &shared.settings.mcp;
        let (registry, changes) = shared.generations.registry_and_changes();
        let clients = shared.generations.clients().iter();
        let by_client = clients.map(|(client, names)| {
            let server = ClientServer {
                server: settings.server(served(settings, &registry, Some(names))),
                names: names.clone(),
            };
            (client.clone(), server)
        });
        let endpoint = Arc::new(Self {
            server: settings.server(served(settings, &registry, None)),
            by_client: by_client.collect(),
            settings: settings.clone(),
        });
        tokio::spawn(Arc::clone(&endpoint).follow(Arc::clone(shared), changes));
        endpoint
    }

    /// Replaces the tools after each change, up to the end of the gateway.
    async fn follow(self: Arc<Self>, shared: Arc<Shared>, mut changes: watch::Receiver<u64>) {
        loop {
            tokio::select! {
                Ok(()) = changes.changed() => {
                    let (registry, _) = shared.generations.registry_and_changes();
                    self.server.replace(served(&self.settings, &registry, None));
                    for client in self.by_client.values() {
                        client.server.replace(served(&self.settings, &registry, Some(&client.names)));
                    }
                }
                () = shared.closing.cancelled() => break,
            }
        }
        self.server.close();
        self.by_client.values().for_each(|client| client.server.close());
    }

    /// Handles `POST /mcp`.
    pub(crate) async fn answer(&self, shared: &Shared, request: Request) -> Result<Response, ApiError> {
        let ReadRequest {
            mut parts,
            body,
            reserved,
        } = read_decompressed(shared, request).await?;
        let allowed = &shared.settings.allowed_origins;
        let is_allowed = |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| allowed.allow(origin));
        // The service checks other origins, also with client keys.
        if parts.headers.get_all(header::ORIGIN).iter().all(is_allowed) {
            parts.headers.remove(header::ORIGIN);
        }
        let principal = parts.extensions.get::<Principal>().cloned();
        let client = principal
            .as_ref()
            .and_then(|principal| self.by_client.get(principal));
        let server = client.map_or(&self.server, |client| &client.server);
        parts.extensions.insert(mcp_principal(principal));
        let mut service = server
            .http()
            .with_any_host() // which the admission has checked
            .with_max_body_bytes(shared.settings.limits.max_body);
        let response = service.call(Request::from_parts(parts, Body::from(body))).await;
        drop(reserved);
        let Ok(response) = response;
        Ok(response.map(Body::new))
    }
}

/// Returns the client of a request. Without keys, all requests belong to one client.
fn mcp_principal(principal: Option<Principal>) -> McpPrincipal {
    let name = principal
        .as_ref()
        .and_then(Principal::key_name)
        .unwrap_or_default();
    let context = call_context();
    let client = McpPrincipal::new(name);
    match principal {
        // Permission rules find the client there.
        Some(principal) => client.with_context(context.with_extension(principal)),
        None => client.with_context(context),
    }
}

/// Returns the context of calls: clients of MCP have no tool that reads offloaded results.
pub(crate) fn call_context() -> Context {
    Context::new().with_extension(WithoutOffload)
}

/// Returns the tools that are served to a client with these tools, or with all tools.
pub(crate) fn served(
    settings: &McpSettings,
    registry: &ToolRegistry,
    names: Option<&BTreeSet<String>>,
) -> ToolRegistry {
    let definitions = registry.tool_definitions().into_iter();
    let all = definitions.map(|tool| tool.name.as_str());
    let is_served = |name: &&str| {
        *name != READ_OFFLOADED
            && names.is_none_or(|names| names.contains(*name))
            && settings.serve_tools.iter().any(|pattern| matches(pattern, name))
    };
    registry.subset(all.filter(is_served).collect::<Vec<_>>())
}
