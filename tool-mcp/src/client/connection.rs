//! Connection to a running server: the revision of the protocol, and requests.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::GetExtensions;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ClientResult, ErrorData, Implementation,
    InitializeRequestParams, ProtocolVersion, ServerNotification, ServerRequest, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer, PeerRequestOptions,
    RequestContext, RequestHandle, RoleClient, RunningService, Service, ServiceError,
    serve_client_with_lifecycle,
};
use serde_json::Value;

use crate::adapt::revisions::{LEGACY, MODERN};
use crate::client::outgoing::Tracker;
use crate::client::settings::Protocol;
use crate::client::wire::{Wire, WireTransport};

/// Connection over which tools can be listed and called.
#[derive(Debug)]
pub(crate) struct Connection {
    service: RunningService<RoleClient, Client>,
    pub(crate) wire: Arc<Wire>,
}

impl Connection {
    /// Negotiates the revision of the protocol.
    ///
    /// # Errors
    ///
    /// Returns the fact, if the server supports no known revision or its connection ends.
    pub(crate) async fn open(
        wire: Arc<Wire>,
        transport: WireTransport,
        protocol: Protocol,
    ) -> Result<Self, String> {
        let modern = vec![ProtocolVersion::V_2026_07_28];
        let mode = match protocol {
            Protocol::Auto => ClientLifecycleMode::Auto {
                preferred_versions: modern,
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Protocol::Modern => ClientLifecycleMode::Discover {
                preferred_versions: modern,
            },
            Protocol::Legacy => ClientLifecycleMode::Initialize,
        };
        let service = serve_client_with_lifecycle(Client, transport, mode).await;
        let service = service.map_err(|error| describe(&error, &wire))?;
        let connection = Self { service, wire };
        let version = connection.version();
        let is_known = if connection.wire.has_initialized() {
            LEGACY.contains(&version.as_str())
        } else {
            version == MODERN
        };
        if !is_known {
            return Err(format!("unknown revision `{version}` of the protocol"));
        }
        Ok(connection)
    }

    /// Returns the revision of the protocol.
    pub(crate) fn version(&self) -> String {
        let info = self.service.peer_info();
        info.map(|info| info.protocol_version.to_string())
            .unwrap_or_default()
    }

    /// Returns whether the server announces changes of its list of tools.
    pub(crate) fn announces_changes(&self) -> bool {
        let info = self.service.peer_info();
        let tools = info.as_ref().and_then(|info| info.capabilities.tools.as_ref());
        tools.and_then(|tools| tools.list_changed) == Some(true)
    }

    /// Returns whether calls have headers for arguments: over HTTP, in the revision without a handshake.
    #[cfg(feature = "http")]
    pub(crate) fn has_parameter_headers(&self) -> bool {
        self.wire.is_http() && !self.wire.has_initialized()
    }

    /// Sends a request.
    pub(crate) async fn send(
        &self,
        mut request: ClientRequest,
        tracker: Tracker,
    ) -> Result<OpenRequest, ServiceError> {
        request.extensions_mut().insert(tracker);
        let peer: &Peer<RoleClient> = self.service.peer();
        let handle = peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await?;
        Ok(OpenRequest { handle: Some(handle) })
    }

    /// Sends a request, and returns its result.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        limit: Duration,
    ) -> Result<Value, RequestError> {
        let mut open = self
            .send(request, Tracker::default())
            .await
            .map_err(RequestError::Service)?;
        match tokio::time::timeout(limit, open.answer()).await {
            Ok(answer) => answer.map_err(RequestError::Service),
            Err(_) => Err(RequestError::TimedOut),
        }
    }
}

/// Ends the tasks of `rmcp`.
impl Drop for Connection {
    fn drop(&mut self) {
        self.service.cancellation_token().cancel();
    }
}

/// Error of a request.
#[derive(Debug)]
pub(crate) enum RequestError {
    Service(ServiceError),
    TimedOut,
}

/// Request without an answer yet. The server learns that it is cancelled when this value is dropped.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    /// `None` after the answer.
    handle: Option<RequestHandle<RoleClient>>,
}

impl OpenRequest {
    /// Waits for the answer. The future can be dropped and called again.
    pub(crate) async fn answer(&mut self) -> Result<Value, ServiceError> {
        let Some(handle) = &mut self.handle else {
            return Err(ServiceError::TransportClosed);
        };
        let answer = (&mut handle.rx).await;
        self.handle = None;
        match answer {
            Ok(Ok(ServerResult::CustomResult(result))) => Ok(result.0),
            Ok(Ok(_)) => Err(ServiceError::UnexpectedResponse),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ServiceError::TransportClosed),
        }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async {
                // At the end of the connection there is no server to inform.
                let _ = handle.cancel(Some("the caller no longer waits".to_owned())).await;
            });
        }
    }
}

/// Returns the fact of a failed negotiation.
fn describe(error: &ClientInitializeError, wire: &Wire) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => wire.end_reason(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => describe(fallback, wire),
        ClientInitializeError::JsonRpcError(error) => {
            format!(
                "refused the connection: {} (code {})",
                error.message, error.code.0
            )
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<String> = server_supported
                .iter()
                .map(|version| format!("`{version}`"))
                .collect();
            format!(
                "unknown revision of the protocol; supported are {}",
                versions.join(", ")
            )
        }
        ClientInitializeError::ExpectedInitResult(_) => "invalid answer to the first request".to_owned(),
        error => error.to_string(),
    }
}

/// Client without capabilities. Requests and notifications of the server are handled before they reach `rmcp`.
#[derive(Debug)]
struct Client;

impl Service<RoleClient> for Client {
    fn handle_request(
        &self,
        _: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<ClientResult, ErrorData>> + Send + '_ {
        std::future::ready(Err(ErrorData::internal_error("unexpected request", None)))
    }

    fn handle_notification(
        &self,
        _: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send + '_ {
        std::future::ready(Ok(()))
    }

    fn get_info(&self) -> ClientConfig {
        let implementation = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        InitializeRequestParams::new(ClientCapabilities::default(), implementation)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}
