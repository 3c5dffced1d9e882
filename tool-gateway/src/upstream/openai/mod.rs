//! Upstream `openai`: any server of `OpenAI`'s Chat Completions, translated to the Messages API.
//!
//! A turn's request is [translated](request) to a request of Chat Completions; the chunks of the response are [read](response) as the
//! events of the Messages API. The translator has no sessions: the gateway drives all turns of this upstream, and keeps their true messages
//! in the form of the Messages API.

// A module uses only modules that are declared before it.
mod positive_number;
pub(crate) mod profile;
mod names;
mod estimates;
mod warnings;
mod signature;
pub(crate) mod models;
pub(crate) mod settings;
mod response;
mod learned;
mod request;
mod detection;
mod counting;
mod model_list;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header,
};
use secrecy::SecretString;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::StrDeserializer;
use serde_json::Value;
use tokio::sync::OnceCell;
use tool_runtime::repair::FormatFixing;

use self::counting::TokenCounter;
use self::detection::ProfileDetection;
use self::estimates::TokenEstimates;
use self::learned::LearnedCorrections;
use self::model_list::{KeptModelList, with_names};
use self::models::ModelRule;
use self::profile::{Profile, ProfileName, TokenCount};
use self::request::{ChatTurn, TranslationContext};
use self::response::correction::Correction;
use self::response::error::{Credential, RejectedRequest, error_response};
use self::settings::ChatSettings;
use self::warnings::WarningCode;
use super::answer::TurnBody;
use super::anthropic::AnthropicUpstream;
use super::error::UpstreamError;
use super::service::{Upstream, UpstreamFuture};
use super::translation_warnings::TranslationWarnings;
use super::transport::api_key::remove_credentials;
use super::transport::invalid::InvalidUpstream;
use super::turn_context::TurnContext;
use crate::off_worker::in_place;
use crate::wire::error::ApiError;
use crate::wire::request::MessagesRequest;

/// A server of Chat Completions, such as vLLM, `SGLang`, llama.cpp, Ollama, or a provider with such an API.
///
/// Translated requests have no headers of the client but `traceparent`. With a key, all requests have `authorization: Bearer`; credentials of
/// clients are never sent.
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
    estimates: TokenEstimates,
    models: KeptModelList,
    /// Context of requests that have no context.
    no_turn: TurnContext,
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
            estimates: TokenEstimates::default(),
            models: KeptModelList::default(),
            no_turn: TurnContext::random(),
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

    /// Sets the repair of the arguments of calls; by default, the arguments of every tool are repaired. If arguments of other tools are not
    /// JSON, the model receives an error, and so for every tool without [`enabled`](FormatFixing::enabled). Repaired arguments are always
    /// validated. [`Gateway::with_format_fixing`](crate::Gateway::with_format_fixing) decides about a call that cannot be read.
    ///
    /// ```
    /// use tool_gateway::upstream::OpenAiUpstream;
    /// use tool_runtime::repair::{FormatFixing, TargetTools};
    ///
    /// let fixing = FormatFixing { target_tools: TargetTools::named(["Edit"]), ..FormatFixing::default() };
    /// let upstream = OpenAiUpstream::new("http://localhost:8000", None)?.with_format_fixing(fixing);
    /// # Ok::<(), tool_gateway::upstream::InvalidUpstream>(())
    /// ```
    #[must_use]
    pub fn with_format_fixing(mut self, fixing: FormatFixing) -> Self {
        self.settings.repair = fixing.into();
        self
    }

    /// Makes thinking of the thoughts in tags, such as `<think>`, at the beginning of the texts of these models at the server, in whose names
    /// `*` matches any text. By default, the thoughts stay text.
    #[must_use]
    pub fn with_split_thoughts<'m>(mut self, models: impl IntoIterator<Item = &'m str>) -> Self {
        self.settings.split_thoughts = models.into_iter().map(str::to_owned).collect();
        self
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

    /// Replaces the client's credential in a request that passes: `authorization` with `pass_client_key`, otherwise none, since the
    /// credential may belong to another vendor's server.
    fn replace_credential(&self, headers: &mut HeaderMap) {
        if !self.settings.pass_client_key {
            return remove_credentials(headers);
        }
        if let Some(credential) = client_credential(headers) {
            headers.remove("x-api-key");
            headers.insert(header::AUTHORIZATION, credential);
        }
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
                    settings: &self.settings,
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

    /// Answers `GET /v1/models` and `GET /v1/models/{id}` in the form of the Messages API.
    async fn models(&self, request: Request<Bytes>) -> Result<Response<Body>, UpstreamError> {
        let path = request.uri().path();
        let id = path
            .strip_prefix(MODELS_PATH)
            .and_then(|rest| rest.strip_prefix('/'));
        let id = id.filter(|id| !id.is_empty());
        let is_named = |name: &str| {
            let mut names = self.settings.models.iter().filter_map(ModelRule::literal_name);
            names.any(|rule| rule == name)
        };
        // The id of another model may be a path of several segments.
        if let Some(id) = id.filter(|id| !is_named(id)) {
            let answer = self.model_answer(&request, &format!("models/{id}")).await?;
            // Servers such as vLLM and llama.cpp have a list, but no path for one model.
            if answer.status() == StatusCode::NOT_FOUND
                && let Ok(ModelListAnswer::Models(models)) = self.model_list(&request).await
                && let Some(model) = find_model(&models, id)
            {
                return Ok(json_response(StatusCode::OK, model.to_string()));
            }
            let model = String::from_utf8_lossy(answer.body());
            let model = response::models::single(&model).map(|model| model.to_string());
            return Ok(answer.map(|body| model.map_or_else(|| body.into(), Body::from)));
        }
        let models = match self.model_list(&request).await? {
            ModelListAnswer::Models(models) => models,
            ModelListAnswer::Other(response) => return Ok(response),
        };
        let body = match id {
            None => response::models::page(&models),
            Some(id) => find_model(&models, id).cloned().unwrap_or_default(),
        };
        Ok(json_response(StatusCode::OK, body.to_string()))
    }

    /// Returns the models of the server and of `[[models]]`.
    async fn model_list(&self, request: &Request<Bytes>) -> Result<ModelListAnswer, UpstreamError> {
        // Each client may have other models.
        let is_shared = self.has_credentials();
        let models = if let Some(models) = self.models.get().filter(|_| is_shared) {
            models
        } else {
            let answer = self.model_answer(request, "models").await?;
            let has_names = self
                .settings
                .models
                .iter()
                .any(|rule| rule.literal_name().is_some());
            match response::models::list(&String::from_utf8_lossy(answer.body())) {
                Some(models) => {
                    if is_shared {
                        self.models.keep(models.clone());
                    }
                    models
                }
                // A server without a list still has the configured names.
                None if answer.status() == StatusCode::NOT_FOUND && has_names => Vec::new(),
                None => return Ok(ModelListAnswer::Other(answer.map(Body::from))),
            }
        };
        Ok(ModelListAnswer::Models(with_names(models, &self.settings.models)))
    }

    /// Requests a path beside Chat Completions. Returns the body, or the error in the form of the Messages API.
    async fn model_answer(
        &self,
        request: &Request<Bytes>,
        path: &str,
    ) -> Result<Response<Bytes>, UpstreamError> {
        let mut asked = Request::new(Bytes::new());
        let path = self.settings.path_beside(path);
        *asked.uri_mut() = path.unwrap_or_else(|| request.uri().clone());
        *asked.headers_mut() = self.forwarded_headers(request.headers());
        let credential = self.credential(&asked);
        let response = self.server.send(asked).await?;
        let response = if response.status().is_success() {
            response
        } else {
            RejectedRequest::read(response).await.into_response(credential)
        };
        let (mut head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, MAX_MODELS).await;
        let body = body
            .map_err(|error| UpstreamError::new(format!("the upstream's models cannot be read: {error}")))?;
        head.headers.remove(header::CONTENT_LENGTH);
        Ok(Response::from_parts(head, body))
    }

    /// Answers `POST /v1/messages/count_tokens`.
    async fn count_tokens(&self, request: Request<Bytes>) -> Response<Body> {
        let profile = self.profile(request.headers()).await;
        let turn = match self.translate(request.body(), &profile, request.extensions()) {
            Ok(turn) => turn,
            Err(error) => return error_response(&error, HeaderMap::new()),
        };
        let counter = TokenCounter {
            server: &self.server,
            settings: &self.settings,
            headers: self.forwarded_headers(request.headers()),
            messages_body: request.body(),
            chat_body: &turn.body,
            served_model: &turn.served_model,
        };
        let number = counter.count(profile.count).await;
        let tokens = number.unwrap_or_else(|| {
            self.warnings.add_estimate("count_tokens");
            if profile.count != TokenCount::Estimate {
                let code = WarningCode::CountTokens.as_str();
                self.warnings.add(&self.server.name(), &turn.served_model, code);
            }
            turn.response.estimated_tokens()
        });
        let mut response = json_response(StatusCode::OK, format!(r#"{{"input_tokens":{tokens}}}"#));
        let source = number.map_or("estimated", |_| "counted");
        response
            .headers_mut()
            .insert(TOKENS, HeaderValue::from_static(source));
        response
    }

    /// Counts a change of a rejected request, and logs the first one of each model with the line of the configuration that avoids it.
    fn warn_of(&self, correction: &Correction, model: &str) {
        let upstream = self.server.name();
        let code = correction.code();
        let log = || match correction.quirk() {
            None => tracing::warn!(
                upstream,
                model,
                code,
                "the upstream rejected a request; asking once more with a change"
            ),
            Some(quirk) => tracing::warn!(
                upstream,
                model,
                code,
                quirk,
                "the upstream rejected a request; asking once more with a change, which [upstream.quirks] can set"
            ),
        };
        self.warnings.add_with(model, code, log);
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

    /// Translates the body of a request.
    fn translate(
        &self,
        body: &[u8],
        profile: &Profile,
        extensions: &Extensions,
    ) -> Result<ChatTurn, ApiError> {
        let body = std::str::from_utf8(body)
            .map_err(|error| ApiError::invalid(format!("the body is not UTF-8: {error}")))?;
        let context = TranslationContext {
            profile,
            settings: &self.settings,
            upstream: &self.server.name(),
            turn: extensions.get().unwrap_or(&self.no_turn),
        };
        let mut turn = request::translate(&MessagesRequest::parse(body)?, context)?;
        turn.response.estimates = self.estimates.clone();
        turn.response.repair = self.settings.repair.clone();
        turn.response.warnings = self.warnings.clone();
        Ok(turn)
    }

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<TurnBody>, UpstreamError> {
        let (head, body) = request.into_parts();
        let profile = self.profile(&head.headers).await;
        let turn = match self.translate(&body, &profile, &head.extensions) {
            Ok(turn) => turn,
            Err(error) => return Ok(error_response(&error, HeaderMap::new()).map(TurnBody::Error)),
        };
        let ChatTurn {
            body,
            served_model,
            mut warnings,
            dropped_thinking,
            response: mut expected,
        } = turn;
        expected.thoughts = self.settings.thoughts(&served_model);
        for reason in dropped_thinking {
            self.warnings.drop_thinking(reason.as_str());
        }
        if head.headers.contains_key("anthropic-beta") {
            warnings.insert(WarningCode::Betas);
        }
        for code in warnings {
            self.warnings
                .add(&self.server.name(), &served_model, code.as_str());
        }
        let model = &expected.served_model;
        let changed = |correction: &Correction| self.warn_of(correction, model);
        let body = in_place(body.len(), || self.learned.apply(model, body, changed));
        let mut body = Bytes::from(body);
        let mut corrections = Vec::new();
        loop {
            let request = self.chat_request(&head.headers, body.clone());
            let credential = self.credential(&request);
            let response = self.server.send(request).await?;
            if response.status().is_success() {
                for correction in corrections.into_iter().filter(Correction::is_learned) {
                    self.learned.learn(model, correction);
                }
                return Ok(response::turn_body(response, expected).await);
            }
            let mut rejected = RejectedRequest::read(response).await;
            let text = String::from_utf8_lossy(&body);
            let correction = rejected.correction(&text, self.settings.fit_max_tokens);
            let correction = correction.filter(|_| corrections.len() < MAX_REPEATS);
            let changed = correction.and_then(|correction| Some((correction.apply(&text)?, correction)));
            let Some((changed, correction)) = changed else {
                rejected.explain_context(&text);
                return Ok(rejected.into_response(credential).map(TurnBody::Error));
            };
            self.warn_of(&correction, model);
            body = Bytes::from(changed);
            corrections.push(correction);
        }
    }
}

/// Answer to a request for the models of the server.
enum ModelListAnswer {
    Models(Vec<Value>),
    /// A response in no known form, or an error, for the client.
    Other(Response<Body>),
}

fn find_model<'m>(models: &'m [Value], id: &str) -> Option<&'m Value> {
    models
        .iter()
        .find(|model| model.get("id").and_then(Value::as_str) == Some(id))
}

/// Path of the requests for a number of tokens.
const COUNT_PATH: &str = "/v1/messages/count_tokens";

/// Beginning of the paths of requests for models.
const MODELS_PATH: &str = "/v1/models";

/// Maximum size of a list of models, in bytes.
const MAX_MODELS: usize = 16 << 20;

/// Header that says whether a number of tokens was counted or estimated.
const TOKENS: HeaderName = HeaderName::from_static("x-tool-gateway-tokens");

/// Returns a response with JSON.
fn json_response(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
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

impl<U: Upstream> Upstream for OpenAiUpstream<U> {
    fn send(&self, mut request: Request<Bytes>) -> UpstreamFuture<'_> {
        if request.uri().path() == COUNT_PATH {
            return Box::pin(async move { Ok(self.count_tokens(request).await) });
        }
        let is_models = request.uri().path().starts_with(MODELS_PATH);
        if is_models && request.headers().contains_key("anthropic-version") {
            return Box::pin(self.models(request));
        }
        self.replace_credential(request.headers_mut());
        self.server.send(request)
    }

    fn send_stream(&self, mut request: Request<Body>) -> UpstreamFuture<'_> {
        self.replace_credential(request.headers_mut());
        self.server.send_stream(request)
    }

    fn has_credentials(&self) -> bool {
        self.server.has_credentials() || !self.settings.pass_client_key
    }

    fn turn(&self, request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
        Box::pin(self.answer(request))
    }

    fn passes_messages(&self) -> bool {
        false
    }

    fn served_model<'m>(&'m self, model: &'m str) -> Cow<'m, str> {
        let rule = ModelRule::find(&self.settings.models, model);
        let serve = rule.and_then(|rule| rule.serve.as_deref());
        Cow::Borrowed(serve.unwrap_or(model))
    }

    fn translation_warnings(&self) -> Option<TranslationWarnings> {
        Some(self.warnings.clone())
    }

    fn name(&self) -> String {
        self.server.name()
    }
}
