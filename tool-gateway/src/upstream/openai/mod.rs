//! Upstream `openai`: any server of `OpenAI`'s Chat Completions, translated to the Messages API.
//!
//! A turn's request is [translated](request) to a request of Chat Completions; the chunks of the response are [read](response) as the
//! events of the Messages API. The translator has no sessions: the gateway drives all turns of this upstream, and keeps their true messages
//! in the form of the Messages API.

// A module uses only modules that are declared before it.
mod profile;
mod response;
mod learned;
mod request;
#[cfg(test)]
mod tests;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use secrecy::SecretString;

use self::learned::LearnedCorrections;
use self::profile::Profile;
use self::request::ChatTurn;
use self::response::error::{Credential, RejectedRequest, error_response};
use super::answer::TurnBody;
use super::anthropic::AnthropicUpstream;
use super::error::UpstreamError;
use super::service::{Upstream, UpstreamFuture};
use super::transport::invalid::InvalidUpstream;
use crate::wire::error::ApiError;
use crate::wire::request::MessagesRequest;

/// A server of Chat Completions, such as vLLM, `SGLang`, llama.cpp, Ollama, or a provider with such an API.
///
/// Requests have no headers of the client but `traceparent`. With a key, they have `authorization: Bearer`.
///
/// ```
/// use tool_gateway::upstream::{OpenAiUpstream, Upstream as _};
///
/// let upstream = OpenAiUpstream::new("http://localhost:8000", None)?;
/// assert_eq!(upstream.name(), "http://localhost:8000");
/// assert!(!upstream.passes_messages());
/// # Ok::<(), tool_gateway::upstream::InvalidUpstream>(())
/// ```
#[derive(Debug)]
pub struct OpenAiUpstream<U = AnthropicUpstream> {
    server: U,
    chat_path: Uri,
    profile: Profile,
    learned: LearnedCorrections,
}

/// Path of Chat Completions.
const CHAT_PATH: &str = "/v1/chat/completions";

impl OpenAiUpstream {
    /// Creates an upstream from a base URL, which is the URL of the server without `/v1/chat/completions`, and the key, which is sent as
    /// `authorization: Bearer`.
    pub fn new(base_url: &str, api_key: Option<SecretString>) -> Result<Self, InvalidUpstream> {
        let server = AnthropicUpstream::new(base_url, api_key)?.with_bearer_auth();
        Ok(Self::over(server))
    }
}

impl<U: Upstream> OpenAiUpstream<U> {
    /// Creates an upstream that [sends](Upstream::send) the requests of Chat Completions to another one.
    pub fn over(server: U) -> Self {
        Self {
            server,
            chat_path: Uri::from_static(CHAT_PATH),
            profile: Profile::default(),
            learned: LearnedCorrections::default(),
        }
    }

    /// Returns the request of Chat Completions, with no header of the client but [`FORWARDED`].
    fn chat_request(&self, client: &HeaderMap, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.chat_path.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for name in &FORWARDED {
            if let Some(value) = client.get(name) {
                headers.insert(name, value.clone());
            }
        }
        request
    }

    /// Requests the models, and converts them. A response in no known form is returned unchanged.
    async fn models(&self, request: Request<Bytes>) -> Result<Response<Body>, UpstreamError> {
        let (head, body) = self.server.send(request).await?.into_parts();
        if !head.status.is_success() {
            return Ok(Response::from_parts(head, body));
        }
        let body = axum::body::to_bytes(body, MAX_MODELS).await;
        let body = body
            .map_err(|error| UpstreamError::new(format!("the upstream's models cannot be read: {error}")))?;
        let models = response::models::for_client(&String::from_utf8_lossy(&body));
        let body = models.map_or(body, |models| models.to_string().into());
        let mut response = Response::from_parts(head, Body::from(body));
        response.headers_mut().remove(header::CONTENT_LENGTH);
        Ok(response)
    }

    /// Returns the credential of a request.
    fn credential(&self, request: &Request<Bytes>) -> Credential {
        if self.server.has_credentials() {
            Credential::Gateway
        } else if request.headers().contains_key(header::AUTHORIZATION) {
            Credential::Client
        } else {
            Credential::None
        }
    }

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<TurnBody>, UpstreamError> {
        let (head, body) = request.into_parts();
        let turn = match translated(&body, &self.profile) {
            Ok(turn) => turn,
            Err(error) => return Ok(error_response(&error, HeaderMap::new())),
        };
        let ChatTurn {
            body,
            response: expected,
        } = turn;
        let mut body = Bytes::from(self.learned.apply(&expected.served_model, body));
        let mut repeats = 0;
        loop {
            let request = self.chat_request(&head.headers, body.clone());
            let credential = self.credential(&request);
            let response = self.server.send(request).await?;
            if response.status().is_success() {
                return Ok(response::turn_body(response, expected).await);
            }
            let mut rejected = RejectedRequest::read(response).await;
            let text = String::from_utf8_lossy(&body);
            let correction = rejected.correction(&text).filter(|_| repeats < MAX_REPEATS);
            let changed = correction.and_then(|correction| Some((correction.apply(&text)?, correction)));
            let Some((changed, correction)) = changed else {
                rejected.explain_context(&text);
                return Ok(rejected.into_response(credential));
            };
            let model = &expected.served_model;
            tracing::warn!(
                model,
                ?correction,
                "the upstream rejected a request; asking once more with a change"
            );
            if correction.is_learned() {
                self.learned.learn(model, correction);
            }
            body = Bytes::from(changed);
            repeats += 1;
        }
    }
}

/// Path of the requests for a number of tokens.
const COUNT_PATH: &str = "/v1/messages/count_tokens";

/// Beginning of the paths of requests for models.
const MODELS_PATH: &str = "/v1/models";

/// Maximum size of a list of models, in bytes.
const MAX_MODELS: usize = 16 << 20;

/// Header that says whether a number of tokens was counted or estimated.
const TOKENS: HeaderName = HeaderName::from_static("x-tool-gateway-tokens");

/// Returns the estimated tokens of a request, in the form of the Messages API.
fn counted(body: &[u8], profile: &Profile) -> Response<Body> {
    let (status, body) = match translated(body, profile) {
        Ok(turn) => {
            let tokens = turn.response.input_tokens;
            (StatusCode::OK, format!(r#"{{"input_tokens":{tokens}}}"#))
        }
        Err(error) => (error.status, error.body().to_string()),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status.is_success() {
        headers.insert(TOKENS, HeaderValue::from_static("estimated"));
    }
    response
}

/// Maximum number of changed repetitions of a request.
const MAX_REPEATS: usize = 2;

/// Headers of the client's request that are forwarded.
const FORWARDED: [HeaderName; 2] = [
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("x-tool-gateway-hop"),
];

fn translated(body: &[u8], profile: &Profile) -> Result<ChatTurn, ApiError> {
    let body = std::str::from_utf8(body)
        .map_err(|error| ApiError::invalid(format!("the body is not UTF-8: {error}")))?;
    request::translate(&MessagesRequest::parse(body)?, profile)
}

impl<U: Upstream> Upstream for OpenAiUpstream<U> {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        if request.uri().path() == COUNT_PATH {
            let response = counted(request.body(), &self.profile);
            return Box::pin(async { Ok(response) });
        }
        let is_models = request.uri().path().starts_with(MODELS_PATH);
        if is_models && request.headers().contains_key("anthropic-version") {
            return Box::pin(self.models(request));
        }
        self.server.send(request)
    }

    fn send_stream(&self, request: Request<Body>) -> UpstreamFuture<'_> {
        self.server.send_stream(request)
    }

    fn has_credentials(&self) -> bool {
        self.server.has_credentials()
    }

    fn turn(&self, request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
        Box::pin(self.answer(request))
    }

    fn passes_messages(&self) -> bool {
        false
    }

    fn name(&self) -> String {
        self.server.name()
    }
}
