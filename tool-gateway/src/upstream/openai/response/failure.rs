//! [`ChatFailure`]: an error that a server of Chat Completions sent, with or without an error status.

use axum::http::StatusCode;
use serde_json::{Map, Value};

use crate::upstream::error::UpstreamError;
use crate::wire::error::{ApiError, ErrorDetails};
use crate::wire::received_error::ReceivedError;

/// Error of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChatFailure {
    /// Status of the response, or the status that the error names.
    pub(super) status: Option<StatusCode>,
    /// Name or number of the error.
    pub(super) code: Option<String>,
    pub(super) message: String,
    /// Field of the request that the error names.
    param: Option<String>,
    /// Tokens of the prompt, which llama.cpp states in a field.
    pub(super) prompt_tokens: Option<u64>,
    /// Tokens of the context, which llama.cpp states in a field.
    pub(super) context_tokens: Option<u64>,
}

/// Names of fields that are also words of messages.
const WORDS: [&str; 2] = ["user", "strict"];

/// Maximum number of characters of a text that is not an error of an API.
const MAX_TEXT: usize = 200;

impl ChatFailure {
    /// Reads the body of an error response, or the data of an event. A text in no known form becomes the message, without its tags.
    pub(super) fn parse(text: &str) -> Self {
        let body = serde_json::from_str::<Value>(text).unwrap_or_default();
        let body = match &body {
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            body => body,
        };
        let error = body.get("error").and_then(Value::as_object).or(body.as_object());
        let field = |name: &str| error?.get(name);
        let (status, message) = match ReceivedError::parse(text) {
            Some(ReceivedError::Foreign(foreign)) => (foreign.status, foreign.message),
            Some(ReceivedError::Api(_)) => {
                let message = field("message").and_then(Value::as_str);
                (None, message.unwrap_or_default().to_owned())
            }
            None => (None, readable(text)),
        };
        let number = |name: &str| field(name).and_then(Value::as_u64);
        Self {
            status,
            code: error.and_then(code),
            message,
            param: field("param").and_then(Value::as_str).map(str::to_owned),
            prompt_tokens: number("n_prompt_tokens"),
            context_tokens: number("n_ctx"),
        }
    }

    /// Returns whether the error names a field of the request. A name that is also a word is read between quotes, or as the end of a path.
    pub(super) fn names(&self, field: &str) -> bool {
        if self.param.as_deref() == Some(field) {
            return true;
        }
        let mut found = self.message.match_indices(field);
        if !WORDS.contains(&field) {
            return found.next().is_some();
        }
        found.any(|(start, _)| {
            let before = self
                .message
                .get(..start)
                .and_then(|before| before.chars().next_back());
            let after = self.message.get(start + field.len()..);
            let after = after.and_then(|after| after.chars().next());
            before.is_some_and(|before| "'\"`.".contains(before))
                && after.is_some_and(|after| "'\"`".contains(after))
        })
    }

    /// Reads an error in a list, as Google sends it.
    pub(super) fn from_list(text: &str) -> Option<Self> {
        let is_error = text.trim_ascii_start().starts_with('[') && ReceivedError::parse(text).is_some();
        is_error.then(|| Self::parse(text))
    }

    /// Returns the status for the client of an error in a response that had no error status.
    fn status(&self) -> StatusCode {
        let status = self.status.map(|status| self.client_status(status));
        status.unwrap_or(StatusCode::BAD_GATEWAY)
    }

    /// Returns the status for the client of an error with this status.
    pub(super) fn client_status(&self, status: StatusCode) -> StatusCode {
        let is_quota = self.code.as_deref() == Some("insufficient_quota");
        let code = match status.as_u16() {
            429 if is_quota => 402,
            402 | 404 | 409 | 413 | 429 | 500 => status.as_u16(),
            408 | 504 => 504,
            503 | 529 => 529,
            401 | 403 => return status,
            400..=499 => 400,
            _ => 502,
        };
        StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_GATEWAY)
    }

    /// Returns the details of the error.
    pub(super) fn details(&self) -> ErrorDetails {
        ErrorDetails::Upstream {
            upstream_status: self.status.map(|status| status.as_u16()),
            upstream_code: self.code.clone(),
        }
    }

    /// Converts the error of a response that had no error status.
    pub(super) fn into_error(self) -> UpstreamError {
        let api = ApiError::new(self.status(), &*self.message).with_details(self.details());
        UpstreamError::from(api)
    }
}

/// Returns the name of an error, or its number.
fn code(error: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| match error.get(name)? {
        Value::String(code) if !code.is_empty() => Some(code.clone()),
        Value::Number(code) => Some(code.to_string()),
        _ => None,
    };
    text("code").or_else(|| text("type")).or_else(|| text("status"))
}

/// Returns the first characters of a text, without tags and repeated white space.
fn readable(text: &str) -> String {
    let mut words = String::new();
    let mut is_tag = false;
    for character in text.chars() {
        match character {
            '<' => is_tag = true,
            '>' if is_tag => {
                is_tag = false;
                words.push(' ');
            }
            _ if is_tag => {}
            _ => words.push(character),
        }
    }
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MAX_TEXT).collect()
}
