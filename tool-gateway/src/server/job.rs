//! [`Job`]: a request that takes a turn.

use axum::http::request::Parts;

use crate::session::chain::Digest;
use crate::session::recognize::{Client, Recognized};
use crate::session::record::SessionId;
use crate::turn::ownership::Tools;
use crate::wire::request::MessagesRequest;

/// What is known of a request before its turn begins.
#[derive(Debug)]
pub(super) struct Job {
    /// Method, path and headers of the client's request.
    pub(super) parts: Parts,
    pub(super) request: MessagesRequest,
    pub(super) client: Client,
    pub(super) recognized: Recognized,
    pub(super) session: SessionId,
    /// What makes two requests equal.
    pub(super) identity: Digest,
    pub(super) tools: Tools,
}
