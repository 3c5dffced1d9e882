//! [`Limits`]: limits of a turn, of a request and of each client.

use std::time::Duration;

use serde::Deserialize;

use super::units;
use crate::wire::caps::Caps;

/// The section `limits`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// Maximum number of internal rounds of a turn: rounds in which the gateway itself runs the calls.
    #[serde(deserialize_with = "units::count")]
    pub(crate) rounds: usize,
    /// Time after which a turn begins no more rounds. Its calls have the same deadline.
    #[serde(rename = "seconds", deserialize_with = "units::seconds")]
    pub(crate) turn_time: Duration,
    /// Token budget of a turn. When the rounds of a turn have used this many tokens in total, no further round begins.
    #[serde(deserialize_with = "units::some_count_u64")]
    pub(crate) tokens: Option<u64>,
    /// Maximum size of a request, in bytes.
    #[serde(rename = "body_mb", deserialize_with = "units::mebibytes")]
    pub(crate) max_body: usize,
    /// Maximum size of a request for batches or files, in bytes.
    #[serde(rename = "upload_mb", deserialize_with = "units::mebibytes")]
    pub(crate) max_upload: usize,
    /// Maximum total size in bytes of all requests that are being read and hashed. A client may use half of it.
    #[serde(rename = "bodies_mb", deserialize_with = "units::mebibytes")]
    pub(crate) bodies: usize,
    /// Maximum number of JSON values of a request.
    #[serde(deserialize_with = "units::count")]
    pub(crate) request_values: usize,
    /// Maximum number of messages of a request.
    #[serde(deserialize_with = "units::count")]
    pub(crate) request_messages: usize,
    /// Maximum number of content blocks of a request's messages.
    #[serde(deserialize_with = "units::count")]
    pub(crate) request_blocks: usize,
    /// Maximum number of tools that a request declares.
    #[serde(deserialize_with = "units::count")]
    pub(crate) request_tools: usize,
    /// Time for which new requests are still served after the stop signal, while `/readyz` responds with 503, so that load balancers
    /// notice the stop first.
    #[serde(rename = "drain_seconds", deserialize_with = "units::seconds_from_zero")]
    pub(crate) drain: Duration,
    /// Maximum time for which running turns may continue after the stop signal and the drain time.
    #[serde(rename = "shutdown_seconds", deserialize_with = "units::seconds_from_zero")]
    pub(crate) shutdown: Duration,
    /// Maximum time for which a client sends no part of a request that has begun, or reads no part of a response.
    #[serde(rename = "client_idle_seconds", deserialize_with = "units::seconds")]
    pub(crate) client_idle: Duration,
    /// Time for which a connection without a request is kept.
    #[serde(rename = "keep_alive_seconds", deserialize_with = "units::seconds")]
    pub(crate) keep_alive: Duration,
    /// Maximum time for the complete body of a request.
    #[serde(rename = "body_seconds", deserialize_with = "units::seconds")]
    pub(crate) body_time: Duration,
    /// Maximum time for which the upstream sends no bytes, before and during its response.
    #[serde(rename = "upstream_idle_seconds", deserialize_with = "units::seconds")]
    pub(crate) upstream_idle: Duration,
    /// Maximum number of concurrent requests of a client.
    #[serde(deserialize_with = "units::some_count")]
    pub(crate) client_concurrency: Option<usize>,
    /// Maximum number of requests of a client in a minute.
    #[serde(deserialize_with = "units::some_count_u32")]
    pub(crate) client_requests_per_minute: Option<u32>,
}

impl Limits {
    /// Default maximum size of a request in bytes: 32 MiB.
    pub(crate) const MAX_BODY: usize = 32 << 20;

    /// Default maximum total size in bytes of all requests that are being read: 256 MiB.
    const BODIES: usize = 256 << 20;

    /// Returns the limits on the parts of a request.
    pub(crate) fn caps(&self) -> Caps {
        Caps {
            values: self.request_values,
            messages: self.request_messages,
            blocks: self.request_blocks,
            tools: self.request_tools,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let caps = Caps::default();
        Self {
            rounds: 25,
            turn_time: Duration::from_secs(600),
            tokens: None,
            max_body: Self::MAX_BODY,
            max_upload: 512 << 20,
            bodies: Self::BODIES,
            request_values: caps.values,
            request_messages: caps.messages,
            request_blocks: caps.blocks,
            request_tools: caps.tools,
            drain: Duration::ZERO,
            shutdown: Duration::from_secs(60),
            client_idle: Duration::from_secs(30),
            keep_alive: Duration::from_secs(75),
            body_time: Duration::from_secs(300),
            upstream_idle: Duration::from_secs(600),
            client_concurrency: None,
            client_requests_per_minute: None,
        }
    }
}
