//! Messages of JSON-RPC: requests and notifications of a client, answers and notifications of the server.

use serde_json::{Map, Value, json};

use crate::adapt::revisions::MODERN;
use crate::server::admission::SUBSCRIPTIONS;

/// Message of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    Request(Request),
    Notification(Notification),
    /// Answer to a request of the server, which sends none.
    Response,
}

/// Request of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// A number or a string.
    pub(crate) id: Value,
    pub(crate) method: String,
    /// An object, or null.
    pub(crate) params: Value,
}

/// Notification of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Notification {
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl Incoming {
    /// Reads a message. An error has the id of the request, or null.
    pub(crate) fn from_value(message: Value) -> Result<Self, Box<RejectedMessage>> {
        let mut message = match message {
            Value::Object(message) => message,
            Value::Array(_) => return Err(RejectedMessage::without_id("batches are not supported")),
            _ => return Err(RejectedMessage::without_id("expected an object")),
        };
        let id = message.remove("id");
        let method = match message.remove("method") {
            Some(Value::String(method)) => method,
            None if message.contains_key("result") || message.contains_key("error") => {
                return Ok(Self::Response);
            }
            _ => return Err(RejectedMessage::with_id(id, "missing `method`, a string")),
        };
        let params = message.remove("params").unwrap_or_default();
        if !(params.is_object() || params.is_null()) {
            return Err(RejectedMessage::with_id(id, "expected an object as `params`"));
        }
        match id {
            None => Ok(Self::Notification(Notification { method, params })),
            Some(id) if is_id(&id) => Ok(Self::Request(Request { id, method, params })),
            Some(_) => Err(RejectedMessage::without_id(
                "expected a number or a string as `id`",
            )),
        }
    }
}

/// Returns whether a value can be the id of a request.
fn is_id(id: &Value) -> bool {
    id.is_number() || id.is_string()
}

/// JSON that is not a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RejectedMessage {
    /// The id of the request, or null.
    pub(crate) id: Value,
    pub(crate) error: RpcError,
}

impl RejectedMessage {
    fn without_id(message: &str) -> Box<Self> {
        Self::with_id(None, message)
    }

    fn with_id(id: Option<Value>, message: &str) -> Box<Self> {
        Box::new(Self {
            id: id.filter(is_id).unwrap_or_default(),
            error: RpcError::new(RpcError::INVALID_REQUEST, message),
        })
    }
}

impl Request {
    /// Returns `_meta` of the request.
    pub(crate) fn meta(&self) -> Option<&Map<String, Value>> {
        self.params.get("_meta")?.as_object()
    }

    /// Returns the revision in `_meta`, which only requests of 2026-07-28 and later have.
    pub(crate) fn revision(&self) -> Option<&str> {
        self.meta()?.get(PROTOCOL_VERSION)?.as_str()
    }

    /// Returns the token with which progress is reported.
    pub(crate) fn progress_token(&self) -> Option<&Value> {
        let token = self.meta()?.get("progressToken")?;
        (token.is_string() || token.is_number()).then_some(token)
    }

    /// Checks `_meta` of a request without a handshake.
    pub(crate) fn check_meta(&self) -> Result<(), RpcError> {
        let missing = |name: &str| {
            RpcError::new(
                RpcError::INVALID_PARAMS,
                format!("missing `{name}` in `params._meta`"),
            )
        };
        let revision = self.revision().ok_or_else(|| missing(PROTOCOL_VERSION))?;
        if revision != MODERN {
            return Err(RpcError::unsupported_revision(revision));
        }
        let capabilities = self.meta().and_then(|meta| meta.get(CLIENT_CAPABILITIES));
        if capabilities.is_some_and(Value::is_object) {
            Ok(())
        } else {
            Err(missing(CLIENT_CAPABILITIES))
        }
    }
}

/// Key of `_meta` with the revision of a request.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Error of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    data: Option<Value>,
}

impl RpcError {
    pub(crate) const PARSE_ERROR: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    pub(crate) const UNSUPPORTED_REVISION: i64 = -32022;
    #[cfg(feature = "http")]
    pub(crate) const HEADER_MISMATCH: i64 = -32020;
    /// Outside the range that JSON-RPC and MCP reserve.
    const TOO_MANY_SUBSCRIPTIONS: i64 = -29000;

    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        let method: String = method.chars().take(100).collect();
        Self::new(Self::METHOD_NOT_FOUND, format!("unknown method `{method}`"))
    }

    pub(crate) fn too_many_subscriptions() -> Self {
        let message = format!("expected at most {SUBSCRIPTIONS} subscriptions");
        Self::new(Self::TOO_MANY_SUBSCRIPTIONS, message)
    }

    pub(crate) fn unsupported_revision(requested: &str) -> Self {
        Self {
            code: Self::UNSUPPORTED_REVISION,
            message: format!("unsupported revision; expected {MODERN}"),
            data: Some(json!({ "supported": [MODERN], "requested": requested })),
        }
    }

    /// Returns the answer to a request with this id.
    pub(crate) fn into_answer(self, id: Value) -> Value {
        let mut error = Map::new();
        error.insert("code".to_owned(), self.code.into());
        error.insert("message".to_owned(), self.message.into());
        if let Some(data) = self.data {
            error.insert("data".to_owned(), data);
        }
        message([("id", id), ("error", error.into())])
    }
}

/// Returns the answer with a result.
pub(crate) fn answer(id: Value, result: Map<String, Value>) -> Value {
    message([("id", id), ("result", result.into())])
}

/// Returns a notification of the server.
pub(crate) fn notification(method: &str, params: Map<String, Value>) -> Value {
    message([("method", method.into()), ("params", params.into())])
}

fn message<const N: usize>(members: [(&str, Value); N]) -> Value {
    let version = ("jsonrpc", Value::from("2.0"));
    let members = [version].into_iter().chain(members);
    members.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the metadata of each message of a subscription.
pub(crate) fn subscription_meta(id: &Value) -> Map<String, Value> {
    Map::from_iter([(SUBSCRIPTION_ID.to_owned(), id.clone())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_requests_and_notifications() {
        let read = |message| Incoming::from_value(message).unwrap();
        assert_eq!(
            read(json!({ "jsonrpc": "2.0", "id": "a", "method": "ping", "params": {} })),
            Incoming::Request(Request {
                id: json!("a"),
                method: "ping".to_owned(),
                params: json!({})
            })
        );
        assert_eq!(
            read(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
            Incoming::Notification(Notification {
                method: "notifications/initialized".to_owned(),
                params: Value::Null
            })
        );
        assert_eq!(read(json!({ "id": 1, "result": {} })), Incoming::Response);
    }

    #[test]
    fn rejects_what_is_no_message_with_the_id_of_the_request() {
        for (message, id) in [
            (json!([{ "id": 1, "method": "ping" }]), Value::Null),
            (json!("ping"), Value::Null),
            (json!({ "id": 1 }), json!(1)),
            (json!({ "id": "a", "method": 5 }), json!("a")),
            (json!({ "id": 2, "method": "ping", "params": [] }), json!(2)),
            (json!({ "id": null, "method": "ping" }), Value::Null),
            (json!({ "id": { "a": 1 }, "method": "ping" }), Value::Null),
        ] {
            let rejected = Incoming::from_value(message.clone()).unwrap_err();
            assert_eq!(rejected.id, id, "{message}");
            assert_eq!(rejected.error.code, -32600, "{message}");
        }
    }

    #[test]
    fn requests_without_a_handshake_have_complete_metadata() {
        let code = |meta: Value| {
            let params = json!({ "_meta": meta });
            let request = Request {
                id: json!(1),
                method: "tools/list".to_owned(),
                params,
            };
            request.check_meta().err().map(|error| error.code)
        };
        for (meta, wanted) in [
            (json!({ PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: {} }), None),
            (json!({ PROTOCOL_VERSION: MODERN }), Some(-32602)),
            (
                json!({ PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: null }),
                Some(-32602),
            ),
            (json!({ CLIENT_CAPABILITIES: {} }), Some(-32602)),
            (Value::Null, Some(-32602)),
            (
                json!({ PROTOCOL_VERSION: "2099-01-01", CLIENT_CAPABILITIES: {} }),
                Some(-32022),
            ),
        ] {
            assert_eq!(code(meta.clone()), wanted, "{meta}");
        }
    }
}
