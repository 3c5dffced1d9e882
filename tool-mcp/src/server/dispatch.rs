//! Requests become answers, calls or subscriptions: no I/O.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tool_runtime::Context;
use tool_runtime::format::mcp;

use crate::adapt::revisions::{LEGACY, MODERN};
use crate::server::admission::Admission;
#[cfg(feature = "http")]
use crate::server::body_budget::ReservedBytes;
use crate::server::call::PendingCall;
use crate::server::mcp_server::McpServer;
use crate::server::message::{Request, RpcError, notification, subscription_meta};
use crate::server::sessions::SessionKey;

/// Time for which a client may keep a list.
const TTL_MS: u64 = 60_000;
/// Key of `_meta` with the name of a session.
const SESSION: &str = "tool-runtime/session";
/// Maximum number of bytes of the name of a session.
const SESSION_BYTES: usize = 256;
/// Key of `_meta` with the name and the version of the server.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Client of a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Name of the key's owner; empty without keys.
    pub(crate) principal: Arc<str>,
    pub(crate) admission: Arc<Admission>,
    /// Context of the client's calls.
    pub(crate) context: Context,
    /// Whether the client receives notifications without a subscription.
    pub(crate) is_notified: bool,
    /// The bytes of the request's body.
    #[cfg(feature = "http")]
    pub(crate) body: Option<Arc<ReservedBytes>>,
}

/// Reply to a request.
#[derive(Debug)]
pub(crate) enum Reply {
    Result(Map<String, Value>),
    Call(Box<PendingCall>),
    /// Subscription to changes of the list, if `to_tools`.
    Listen {
        to_tools: bool,
    },
}

impl McpServer {
    /// Returns the reply to a request without a handshake.
    pub(crate) fn modern_reply(&self, request: &Request, client: &Caller) -> Result<Reply, RpcError> {
        match request.method.as_str() {
            "server/discover" => {
                request.check_meta()?;
                Ok(Reply::Result(self.discover(client)))
            }
            "tools/list" => {
                request.check_meta()?;
                let mut result = self.list(request, true)?;
                self.add_cache_hints(&mut result, client);
                Ok(Reply::Result(self.complete(result)))
            }
            "tools/call" => {
                request.check_meta()?;
                let call = self.call(request, client, true)?;
                Ok(Reply::Call(Box::new(call)))
            }
            "subscriptions/listen" => {
                request.check_meta()?;
                let filter = request.params.get("notifications");
                let to_tools = filter.and_then(|filter| filter.get("toolsListChanged")?.as_bool());
                Ok(Reply::Listen {
                    to_tools: to_tools == Some(true),
                })
            }
            method => Err(RpcError::unknown_method(method)),
        }
    }

    /// Returns the reply to a request of a client that has sent `initialize`, or is sending it.
    pub(crate) fn legacy_reply(&self, request: &Request, client: &Caller) -> Result<Reply, RpcError> {
        match request.method.as_str() {
            "initialize" => Ok(Reply::Result(self.initialize(request, client))),
            "ping" => Ok(Reply::Result(Map::new())),
            "server/discover" => Ok(Reply::Result(self.discover(client))),
            "tools/list" => Ok(Reply::Result(self.list(request, false)?)),
            "tools/call" => {
                let call = self.call(request, client, false)?;
                Ok(Reply::Call(Box::new(call)))
            }
            method => Err(RpcError::unknown_method(method)),
        }
    }

    fn initialize(&self, request: &Request, client: &Caller) -> Map<String, Value> {
        let requested = request.params.get("protocolVersion").and_then(Value::as_str);
        let revision = requested.filter(|requested| LEGACY.contains(requested));
        let mut result = Map::new();
        let revision = revision.unwrap_or(LEGACY[0]);
        result.insert("protocolVersion".to_owned(), revision.into());
        let tools = if client.is_notified {
            json!({ "listChanged": true })
        } else {
            json!({})
        };
        result.insert("capabilities".to_owned(), json!({ "tools": tools }));
        result.insert("serverInfo".to_owned(), self.server_info());
        self.add_instructions(&mut result);
        result
    }

    fn discover(&self, client: &Caller) -> Map<String, Value> {
        let mut result = Map::new();
        result.insert("supportedVersions".to_owned(), json!([MODERN]));
        let capabilities = json!({ "tools": { "listChanged": true } });
        result.insert("capabilities".to_owned(), capabilities);
        self.add_instructions(&mut result);
        self.add_cache_hints(&mut result, client);
        self.complete(result)
    }

    fn list(&self, request: &Request, is_modern: bool) -> Result<Map<String, Value>, RpcError> {
        let tools = self.tools();
        let cursors = &self.shared.cursors;
        let offset = match request.params.get("cursor") {
            None | Some(Value::Null) => Some(0),
            Some(cursor) => cursor
                .as_str()
                .and_then(|cursor| cursors.offset(cursor, tools.digest)),
        };
        let offset = offset.ok_or_else(|| {
            let message =
                "unknown cursor, or the list has changed; expected a cursor of the current list, or none";
            RpcError::new(RpcError::INVALID_PARAMS, message)
        })?;
        let (page, next) = tools.page(offset, is_modern);
        let mut result = Map::from_iter([("tools".to_owned(), Value::from(page))]);
        if let Some(next) = next {
            let cursor = cursors.cursor(tools.digest, next);
            result.insert("nextCursor".to_owned(), cursor.into());
        }
        Ok(result)
    }

    fn call(&self, request: &Request, client: &Caller, is_modern: bool) -> Result<PendingCall, RpcError> {
        let invalid = |message: String| RpcError::new(RpcError::INVALID_PARAMS, message);
        let id = request
            .id
            .as_str()
            .map_or_else(|| request.id.to_string(), str::to_owned);
        let call = mcp::call(id, &request.params).map_err(|error| invalid(error.to_string()))?;
        let tools = self.tools();
        if tools.registry.get_tool(&call.name).is_none() {
            let name: String = call.name.chars().take(100).collect();
            return Err(invalid(format!("unknown tool `{name}`")));
        }
        let session = request.meta().and_then(|meta| meta.get(SESSION));
        let session = session.filter(|session| !session.is_null());
        let name = session.map(|session| {
            let name = session.as_str().filter(|name| name.len() <= SESSION_BYTES);
            name.map(str::to_owned).ok_or_else(|| {
                invalid(format!(
                    "expected a string of at most {SESSION_BYTES} bytes as `{SESSION}`"
                ))
            })
        });
        let name = name.transpose()?;
        let mut context = client.context.clone();
        if name.is_some() || !client.principal.is_empty() {
            let session = name.as_deref().unwrap_or_default();
            // With the length, no two pairs of a client and a session have one name.
            let length = client.principal.len();
            context = context.with_session(format!("{length}/{}/{session}", client.principal));
        }
        let key = SessionKey {
            principal: Arc::clone(&client.principal),
            name,
        };
        Ok(PendingCall {
            context: context.with_session_values(self.shared.sessions.values(key)),
            progress_token: request.progress_token().cloned(),
            is_modern,
            admission: Arc::clone(&client.admission),
            #[cfg(feature = "http")]
            _body: client.body.clone(),
            #[cfg(feature = "http")]
            is_repeatable: tools.is_repeatable(&call.name),
            registry: tools.registry.clone(),
            call,
        })
    }

    /// Adds the fields of each result of 2026-07-28.
    pub(crate) fn complete(&self, mut result: Map<String, Value>) -> Map<String, Value> {
        result.insert("resultType".to_owned(), "complete".into());
        let meta = result.entry("_meta").or_insert_with(|| Map::new().into());
        if let Value::Object(meta) = meta {
            meta.insert(SERVER_INFO.to_owned(), self.server_info());
        }
        result
    }

    fn server_info(&self) -> Value {
        json!({ "name": self.identity.name, "version": self.identity.version })
    }

    fn add_instructions(&self, result: &mut Map<String, Value>) {
        let instructions = &self.identity.instructions;
        if !instructions.is_empty() {
            result.insert("instructions".to_owned(), instructions.as_str().into());
        }
    }

    #[allow(clippy::unused_self, reason = "a method beside the other parts of results")]
    fn add_cache_hints(&self, result: &mut Map<String, Value>, client: &Caller) {
        let scope = if client.principal.is_empty() {
            "public"
        } else {
            "private"
        };
        result.insert("ttlMs".to_owned(), TTL_MS.into());
        result.insert("cacheScope".to_owned(), scope.into());
    }
}

/// Subscription of a client without a handshake to changes of the list.
#[derive(Debug, Clone)]
pub(crate) struct Subscription {
    /// The id of its request.
    pub(crate) id: Value,
    pub(crate) to_tools: bool,
}

impl Subscription {
    /// Returns the first notification.
    pub(crate) fn acknowledgment(&self) -> Value {
        let mut filter = Map::new();
        if self.to_tools {
            filter.insert("toolsListChanged".to_owned(), true.into());
        }
        let mut params = self.params();
        params.insert("notifications".to_owned(), filter.into());
        notification("notifications/subscriptions/acknowledged", params)
    }

    /// Returns the notification of a change.
    pub(crate) fn change(&self) -> Option<Value> {
        self.to_tools
            .then(|| notification("notifications/tools/list_changed", self.params()))
    }

    /// Returns the result at the end of the server.
    pub(crate) fn end(&self) -> Map<String, Value> {
        self.params()
    }

    /// Returns the metadata of each message of the subscription.
    fn params(&self) -> Map<String, Value> {
        Map::from_iter([("_meta".to_owned(), subscription_meta(&self.id).into())])
    }
}
