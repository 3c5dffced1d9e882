//! [`TokenCounter`]: the server's number of tokens of a request.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt as _, Limited};

use super::profile::TokenCount;
use super::settings::ChatSettings;
use crate::upstream::service::Upstream;
use crate::wire::object::{Change, Object, push_string, set_field};

/// Maximum time for a number of tokens.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of a response in bytes. vLLM also lists the tokens.
const MAX_RESPONSE: usize = 64 << 20;

/// Fields of a request of Chat Completions that the server's template reads.
const TEMPLATE_FIELDS: [&str; 6] = [
    "model",
    "messages",
    "tools",
    "chat_template_kwargs",
    "continue_final_message",
    "add_generation_prompt",
];

/// Fields of a request of the Messages API that are counted.
const COUNTED_FIELDS: [&str; 5] = ["model", "messages", "system", "tools", "tool_choice"];

/// A request whose tokens the server counts.
#[derive(Debug)]
pub(super) struct TokenCounter<'s, U> {
    pub(super) server: &'s U,
    pub(super) settings: &'s ChatSettings,
    /// Headers of the request, with a credential.
    pub(super) headers: HeaderMap,
    /// Body of the client's request.
    pub(super) messages_body: &'s [u8],
    /// Body of the translated request.
    pub(super) chat_body: &'s str,
    pub(super) served_model: &'s str,
}

impl<U: Upstream> TokenCounter<'_, U> {
    /// Returns the number of tokens; `None` if the server does not count them.
    pub(super) async fn count(self, source: TokenCount) -> Option<u64> {
        let (path, body, field) = match source {
            TokenCount::Estimate => return None,
            TokenCount::Tokenize => (
                self.settings.path_of_root("tokenize"),
                fields_of(self.chat_body, &TEMPLATE_FIELDS),
                "count",
            ),
            TokenCount::Messages => (
                self.settings.path_beside("messages/count_tokens"),
                self.messages_request()?,
                "input_tokens",
            ),
        };
        let answer = self.ask(path?, body);
        let answer = tokio::time::timeout(TIMEOUT, answer).await.ok()??;
        let answer = String::from_utf8_lossy(&answer);
        Object::from_json(answer.trim())?.get(field)?.parse().ok()
    }

    fn messages_request(&self) -> Option<String> {
        let body = std::str::from_utf8(self.messages_body).ok()?;
        let mut model = String::new();
        push_string(&mut model, self.served_model);
        Some(set_field(&fields_of(body, &COUNTED_FIELDS), "model", &model))
    }

    /// Returns the body of the response.
    async fn ask(self, path: Uri, body: String) -> Option<Bytes> {
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = path;
        *request.headers_mut() = self.headers;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        let version = HeaderValue::from_static("2023-06-01");
        request.headers_mut().insert("anthropic-version", version);
        let response = self.server.send(request).await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let body = Limited::new(response.into_body(), MAX_RESPONSE);
        Some(body.collect().await.ok()?.to_bytes())
    }
}

/// Returns an object with some of its fields.
fn fields_of(body: &str, names: &[&str]) -> String {
    let mut out = String::with_capacity(body.len());
    if let Some(object) = Object::from_json(body) {
        object.write(&mut out, |name, _| names.contains(&name).then_some(Change::Keep));
    }
    out
}
