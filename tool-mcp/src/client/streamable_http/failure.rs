//! [`HttpFailure`]: the reason why a request over HTTP has no answer.

use http::StatusCode;
use rmcp::model::ErrorData;
use serde_json::Value;

use crate::client::http_service::HttpError;
use crate::client::outgoing::{INTERRUPTED, INVALID, STATUS, TOO_LARGE, UNAUTHORIZED, UNREACHABLE};

/// Fact for the first request of a server that refuses the credentials.
const NO_CREDENTIALS: &str = "refused the credentials (status 401); the header `authorization` is one of `headers_env`, or of the client";

#[derive(Debug)]
pub(super) enum HttpFailure {
    /// The request was not sent.
    Unreachable(String),
    /// The connection ended before the answer.
    Interrupted(String),
    /// The response has a status without a message of the protocol.
    Status { status: StatusCode, text: String },
    /// The answer has more bytes than the limit.
    TooLarge { size: String },
    /// The response is not a message.
    Invalid(String),
}

impl From<HttpError> for HttpFailure {
    fn from(error: HttpError) -> Self {
        if error.is_sent {
            Self::Interrupted(error.reason)
        } else {
            Self::Unreachable(error.reason)
        }
    }
}

impl HttpFailure {
    /// Returns whether the server refuses the credentials.
    pub(super) fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Status { status, .. } if *status == StatusCode::UNAUTHORIZED)
    }

    /// Returns whether a server without `server/discover` may have answered in this form.
    pub(super) fn may_be_legacy(&self) -> bool {
        match self {
            Self::Unreachable(_) => false,
            Self::Status { status, .. } => !self.is_unauthorized() && !status.is_redirection(),
            Self::Interrupted(_) | Self::TooLarge { .. } | Self::Invalid(_) => true,
        }
    }

    /// Returns whether the server may only have the transport of 2024-11-05, in which the first request is a GET.
    pub(super) fn may_be_sse(&self) -> bool {
        matches!(self, Self::Status { status, .. } if status.is_client_error() && !self.is_unauthorized())
    }

    /// Returns the failure of a request that needed another session, and was not run without it.
    pub(super) fn of_renewal(self) -> Self {
        match self {
            Self::Unreachable(_) => self,
            Self::Status { .. } if self.is_unauthorized() => self,
            failure => Self::Unreachable(failure.fact("initialize")),
        }
    }

    /// Returns the fact for the host.
    pub(super) fn fact(&self, method: &str) -> String {
        match self {
            Self::Unreachable(reason) => format!("cannot be reached: {reason}"),
            Self::Interrupted(reason) => format!("`{method}` has no answer: {reason}"),
            Self::Status { .. } if self.is_unauthorized() => NO_CREDENTIALS.to_owned(),
            Self::Status { status, text } if status.is_redirection() => {
                format!(
                    "answered `{method}` with status {}{text}; redirects are not followed",
                    status.as_u16()
                )
            }
            Self::Status { status, text } => {
                format!("answered `{method}` with status {}{text}", status.as_u16())
            }
            Self::TooLarge { size } => format!("message above the limit: {size}"),
            Self::Invalid(fact) => format!("invalid answer to `{method}`: {fact}"),
        }
    }

    /// Returns the error in place of the answer to a request.
    pub(super) fn into_error(self) -> ErrorData {
        match self {
            Self::Unreachable(reason) => UNREACHABLE.error(reason),
            Self::Interrupted(reason) => INTERRUPTED.error(reason),
            Self::Status { .. } if self.is_unauthorized() => UNAUTHORIZED.error("status 401"),
            Self::Status { status, text } => {
                let mut error = STATUS.error(format!("status {}{text}", status.as_u16()));
                error.data = Some(Value::from(status.as_u16()));
                error
            }
            Self::TooLarge { size } => TOO_LARGE.error(size),
            Self::Invalid(fact) => INVALID.error(fact),
        }
    }
}
