//! Upstream `openai`: any server of `OpenAI`'s Chat Completions, translated to the Messages API.
//!
//! A turn's request is [translated](request) to a request of Chat Completions; the chunks of the response are [read](response) as the
//! events of the Messages API. The translator has no sessions: the gateway drives all turns of this upstream, and keeps their true messages
//! in the form of the Messages API.

// A module uses only modules that are declared before it.
mod positive_number;
pub(crate) mod profile;
mod names;
mod warnings;
pub(crate) mod models;
pub(crate) mod settings;
mod response;
mod learned;
mod request;
mod detection;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use secrecy::SecretString;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::StrDeserializer;

use tokio::sync::OnceCell;

use self::detection::ProfileDetection;
use self::learned::LearnedCorrections;
use self::profile::{Profile, ProfileName};
use self::request::ChatTurn;
use self::response::error::{Credential, RejectedRequest, error_response};
use self::settings::ChatSettings;
use self::warnings::WarningCode;
use super::answer::TurnBody;
use super::anthropic::AnthropicUpstream;
use super::error::UpstreamError;
use super::service::{Upstream, UpstreamFuture};
use super::translation_warnings::TranslationWarnings;
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
    settings: ChatSettings,
    /// Flags of the profile, which `auto` finds with the first request.
    profile: OnceCell<Profile>,
    warnings: TranslationWarnings,
    learned: LearnedCorrections,
}

impl OpenAiUpstream {
    /// Creates an upstream from a base URL, which is the URL of the server without `/v1/chat/completions`, and the key, which is sent as
    /// `authorization: Bearer`. The profile is `auto`: the kind of the server is found with the first request.
    pub fn new(base_url: &str, api_key: Option<SecretString>) -> Result<Self, InvalidUpstream> {
        let server = AnthropicUpstream::new(base_url, api_key)?.with_bearer_auth();
        Self::over(server).with_profile("auto")
    }
}

impl<U: Upstream> OpenAiUpstream<U> {
    /// Creates an upstream that [sends](Upstream::send) the requests of Chat Completions to another one. The profile is `generic`.
    pub fn over(server: U) -> Self {
        Self {
            server,
            settings: ChatSettings::default(),
            profile: OnceCell::new(),
            warnings: TranslationWarnings::default(),
            learned: LearnedCorrections::default(),
        }
    }

    /// Sets the profile, which has the differences of a kind of servers from others: `auto`, `generic`, `openai`, `vllm`, `sglang`,
    /// `llamacpp`, `ollama`, `litellm`, `openrouter`, `deepseek`, `gemini` or `mistral`.
    ///
    /// ```
    /// use tool_gateway::upstream::OpenAiUpstream;
    ///
    /// let upstream = OpenAiUpstream::new("http://localhost:8000", None)?;
    /// assert!(upstream.with_profile("vllm").is_ok());
    /// let error = OpenAiUpstream::new("http://localhost:8000", None)?.with_profile("vlm").unwrap_err();
    /// assert!(error.to_string().starts_with("unknown variant `vlm`, expected one of `auto`, `generic`"));
    /// # Ok::<(), tool_gateway::upstream::InvalidUpstream>(())
    /// ```
    pub fn with_profile(mut self, name: &str) -> Result<Self, InvalidUpstream> {
        let name: StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
        let profile = ProfileName::deserialize(name).map_err(|error| InvalidUpstream(error.to_string()))?;
        self.settings.profile = profile;
        self.profile = OnceCell::new();
        Ok(self)
    }

    /// Sets all settings.
    pub(crate) fn with_settings(mut self, settings: ChatSettings) -> Self {
        self.settings = settings;
        self.profile = OnceCell::new();
        self
    }

    /// Returns the request of Chat Completions, with no header of the client but [`FORWARDED`], and its credential with `pass_client_key`.
    fn chat_request(&self, client: &HeaderMap, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.settings.chat_path.clone();
        *request.headers_mut() = self.forwarded_headers(client);
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        request
    }

    fn forwarded_headers(&self, client: &HeaderMap) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for name in &FORWARDED {
            if let Some(value) = client.get(name) {
                headers.insert(name, value.clone());
            }
        }
        if let Some(credential) = client_credential(client).filter(|_| self.settings.pass_client_key) {
            headers.insert(header::AUTHORIZATION, credential);
        }
        headers
    }

    /// Returns the profile. `auto` finds the profile with the first request, for the life of the process. If the server does not answer, the
    /// profile is `generic` for this request alone.
    async fn profile(&self, client: &HeaderMap) -> Cow<'_, Profile> {
        if let Some(profile) = self.profile.get() {
            return Cow::Borrowed(profile);
        }
        let name = match self.settings.profile {
            ProfileName::Auto => {
                let detection = ProfileDetection {
                    server: &self.server,
                    chat_path: &self.settings.chat_path,
                    headers: self.forwarded_headers(client),
                };
                detection.find().await
            }
            name => Some(name),
        };
        let flags = |name: ProfileName| self.settings.quirks.apply(name.profile());
        match name {
            Some(name) => Cow::Borrowed(self.profile.get_or_init(async || flags(name)).await),
            None => Cow::Owned(flags(ProfileName::Generic)),
        }
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
        let profile = self.profile(&head.headers).await;
        let turn = match translated(&body, &profile, &self.settings) {
            Ok(turn) => turn,
            Err(error) => return Ok(error_response(&error, HeaderMap::new())),
        };
        let ChatTurn {
            body,
            served_model,
            mut warnings,
            response: expected,
        } = turn;
        if head.headers.contains_key("anthropic-beta") {
            warnings.insert(WarningCode::Betas);
        }
        for code in warnings {
            self.warnings
                .add(&self.server.name(), &served_model, code.as_str());
        }
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
fn counted(body: &[u8], profile: &Profile, settings: &ChatSettings) -> Response<Body> {
    let (status, body) = match translated(body, profile, settings) {
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

/// Returns the client's credential as `authorization`.
fn client_credential(client: &HeaderMap) -> Option<HeaderValue> {
    if let Some(value) = client.get(header::AUTHORIZATION) {
        return Some(value.clone());
    }
    let key = client.get("x-api-key")?.to_str().ok()?;
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Headers of the client's request that are forwarded.
const FORWARDED: [HeaderName; 2] = [
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("x-tool-gateway-hop"),
];

fn translated(body: &[u8], profile: &Profile, settings: &ChatSettings) -> Result<ChatTurn, ApiError> {
    let body = std::str::from_utf8(body)
        .map_err(|error| ApiError::invalid(format!("the body is not UTF-8: {error}")))?;
    request::translate(&MessagesRequest::parse(body)?, profile, settings)
}

impl<U: Upstream> Upstream for OpenAiUpstream<U> {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        if request.uri().path() == COUNT_PATH {
            return Box::pin(async move {
                let profile = self.profile(request.headers()).await;
                Ok(counted(request.body(), &profile, &self.settings))
            });
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

    fn translation_warnings(&self) -> Option<TranslationWarnings> {
        Some(self.warnings.clone())
    }

    fn name(&self) -> String {
        self.server.name()
    }
}
