//! Messages for a server, and errors in place of its answers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rmcp::model::{ClientRequest, ErrorCode, ErrorData};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Code of an error that this client puts in place of an answer. No server has these codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalCode(i32);

/// The answer is above the size limit.
pub(crate) const TOO_LARGE: LocalCode = LocalCode(i32::MIN);
/// The answer is not a message.
pub(crate) const INVALID: LocalCode = LocalCode(i32::MIN + 1);
/// The request was not sent.
pub(crate) const UNREACHABLE: LocalCode = LocalCode(i32::MIN + 2);
/// The connection ended before the answer.
pub(crate) const INTERRUPTED: LocalCode = LocalCode(i32::MIN + 3);
/// The answer is an HTTP status, which the data has.
pub(crate) const STATUS: LocalCode = LocalCode(i32::MIN + 4);
/// The server refuses the credentials.
pub(crate) const UNAUTHORIZED: LocalCode = LocalCode(i32::MIN + 5);

impl LocalCode {
    /// Returns the code of an error, if this client has made the error.
    pub(crate) fn from_error(error: &ErrorData) -> Option<Self> {
        (error.code.0 <= UNAUTHORIZED.0).then_some(Self(error.code.0))
    }

    /// Returns an error.
    pub(crate) fn error(self, message: impl Into<String>) -> ErrorData {
        ErrorData::new(ErrorCode(self.0), message.into(), None)
    }
}

/// State of a request, which its caller observes.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    /// Whether the server may have run the request.
    pub(crate) is_sent: Arc<AtomicBool>,
    /// `params` of the last progress notification.
    pub(crate) progress: watch::Sender<Value>,
    /// Headers of this request alone.
    #[cfg(feature = "http")]
    pub(crate) headers: Arc<http::HeaderMap>,
    /// Whether the headers may have credentials.
    #[cfg(feature = "http")]
    pub(crate) has_credentials: bool,
}

impl Default for Tracker {
    fn default() -> Self {
        Self {
            is_sent: Arc::default(),
            progress: watch::Sender::new(Value::Null),
            #[cfg(feature = "http")]
            headers: Arc::default(),
            #[cfg(feature = "http")]
            has_credentials: false,
        }
    }
}

/// Message for the server.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// JSON with a line feed.
    pub(crate) line: Vec<u8>,
    pub(crate) tracker: Option<Tracker>,
    /// Whether the message is `notifications/initialized`.
    #[cfg(feature = "http")]
    pub(crate) is_initialized: bool,
    /// Whether the message answers a request of the server.
    #[cfg(feature = "http")]
    pub(crate) is_answer: bool,
    /// Description of a request.
    #[cfg(feature = "http")]
    pub(crate) request: Option<OutgoingRequest>,
}

/// Parts of a request that its HTTP headers have.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct OutgoingRequest {
    pub(crate) id: i64,
    pub(crate) method: String,
    /// Name of the called tool.
    pub(crate) tool: Option<String>,
    /// Cancelled when the answer is no longer expected.
    pub(crate) ended: CancellationToken,
}

impl Outgoing {
    /// Creates a message that is not a request.
    pub(crate) fn new(line: Vec<u8>) -> Self {
        Self {
            line,
            tracker: None,
            #[cfg(feature = "http")]
            is_initialized: false,
            #[cfg(feature = "http")]
            is_answer: false,
            #[cfg(feature = "http")]
            request: None,
        }
    }

    /// Creates the answer to a request of the server.
    pub(crate) fn answer(line: Vec<u8>) -> Self {
        Self {
            #[cfg(feature = "http")]
            is_answer: true,
            ..Self::new(line)
        }
    }

    /// Sets the request that the message is. `ended` is cancelled when its answer is no longer expected.
    #[cfg_attr(
        not(feature = "http"),
        allow(
            unused_variables,
            clippy::unused_self,
            clippy::needless_pass_by_value,
            reason = "for HTTP"
        )
    )]
    pub(crate) fn set_request(&mut self, id: i64, request: &ClientRequest, ended: CancellationToken) {
        #[cfg(feature = "http")]
        {
            let tool = match request {
                ClientRequest::CallToolRequest(call) => Some(call.params.name.to_string()),
                _ => None,
            };
            self.request = Some(OutgoingRequest {
                id,
                method: request.method().to_owned(),
                tool,
                ended,
            });
        }
    }
}
