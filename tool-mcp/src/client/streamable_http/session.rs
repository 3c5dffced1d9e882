//! [`Session`]: what a server with `initialize` assigns to the client, and the headers for it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Session of a server with `initialize`. Servers without this method have none.
#[derive(Debug, Default)]
pub(super) struct Session(Mutex<SessionValues>);

#[derive(Debug, Default)]
struct SessionValues {
    /// Number of answers to `initialize`.
    generation: u64,
    /// The request `initialize`, which is sent again if the server has forgotten the session.
    initialize: Bytes,
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

impl Session {
    fn values(&self) -> MutexGuard<'_, SessionValues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the request `initialize`.
    pub(super) fn set_initialize(&self, line: Bytes) {
        self.values().initialize = line;
    }

    /// Returns the request `initialize`.
    pub(super) fn initialize(&self) -> Bytes {
        self.values().initialize.clone()
    }

    /// Begins the session that an answer to `initialize` assigns.
    pub(super) fn begin(&self, response: &HeaderMap, answer: &Value) {
        let Some(result) = answer.get("result") else {
            return;
        };
        let mut id = response.get(SESSION_ID).cloned();
        if let Some(id) = &mut id {
            id.set_sensitive(true);
        }
        let version = result.get("protocolVersion").and_then(Value::as_str);
        let mut values = self.values();
        values.generation += 1;
        values.id = id;
        values.version = version.and_then(|version| HeaderValue::from_str(version).ok());
    }

    /// Returns the number of the session, which changes with each.
    pub(super) fn generation(&self) -> u64 {
        self.values().generation
    }

    /// Returns whether the server has assigned an id.
    pub(super) fn has_id(&self) -> bool {
        self.values().id.is_some()
    }

    /// Adds the headers of the session.
    pub(super) fn insert(&self, headers: &mut HeaderMap) {
        let values = self.values();
        if let Some(id) = &values.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(version) = &values.version {
            headers.insert(PROTOCOL_VERSION, version.clone());
        }
    }
}
