//! [`Job`]: the request of a turn with its session and tools.

use std::sync::Arc;

use axum::http::request::Parts;

use crate::server::generations::Generation;
use crate::session::client::Client;
use crate::session::recognize::Recognized;
use crate::session::record::SessionId;
use crate::session::store::Lease;
use crate::turn::ownership::ClassifiedTools;
use crate::wire::request::MessagesRequest;

/// A request with its session and its tools, before its turn begins.
#[derive(Debug)]
pub(crate) struct Job {
    /// Method, path and headers of the client's request.
    pub(crate) parts: Parts,
    pub(crate) request: MessagesRequest,
    pub(crate) client: Client,
    pub(crate) recognized: Recognized,
    pub(crate) session: SessionId,
    /// Lease of the request. Concurrent equal requests have different samples.
    pub(crate) lease: Lease,
    pub(crate) tools: ClassifiedTools,
    /// Tools of the gateway in this turn.
    pub(crate) generation: Arc<Generation>,
}
