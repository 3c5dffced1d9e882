//! [`TextCalls`]: an upstream whose tool calls may arrive as text.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;

use super::answer::TurnBody;
use super::error::UpstreamError;
use super::service::{Upstream, UpstreamFuture};
use super::text_calls::expected_calls::ExpectedCalls;
use super::text_calls::reader::TextCallReader;
use super::text_calls::rules::TextCallRules;
use super::text_calls::scanned_events::scanned;
use super::translation_warnings::TranslationWarnings;
use crate::wire::object::Object;

/// An upstream with a server that may send tool calls as text, because it does not parse the output of its model. The calls are recovered
/// where that is no guess: markup of declared tools at the end of a message that has no other call.
///
/// Messages with tools are turns, and do not pass unchanged. All other responses are those of the inner upstream.
///
/// ```
/// use tool_gateway::Gateway;
/// use tool_gateway::upstream::{OpenAiUpstream, TextCallRules, TextCalls, Upstream as _};
/// use tool_runtime::ToolRegistry;
/// use tool_runtime::repair::calls::Format;
///
/// let server = OpenAiUpstream::new("http://localhost:8000", None)?;
/// let rules = TextCallRules::new([Format::Tags, Format::Json].into_iter().collect());
/// let gateway = Gateway::new(ToolRegistry::new(), TextCalls::new(server, rules));
/// # let _ = gateway;
/// # Ok::<(), tool_gateway::upstream::InvalidUpstream>(())
/// ```
#[derive(Debug)]
pub struct TextCalls<U> {
    upstream: U,
    reader: TextCallReader,
}

impl<U: Upstream> TextCalls<U> {
    /// Creates an upstream that recovers calls from the texts of another one.
    pub fn new(upstream: U, rules: TextCallRules) -> Self {
        Self {
            upstream,
            reader: TextCallReader::new(rules),
        }
    }

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<TurnBody>, UpstreamError> {
        let expected = self.expected(request.body());
        let response = self.upstream.turn(request).await?;
        Ok(match expected {
            None => response,
            Some(expected) => response.map(|body| match body {
                TurnBody::Message(events) => TurnBody::Message(scanned(events, expected)),
                TurnBody::Error(body) => TurnBody::Error(body),
            }),
        })
    }

    /// Returns the calls that the response to a request may have as text.
    fn expected(&self, body: &[u8]) -> Option<ExpectedCalls> {
        let body = std::str::from_utf8(body).ok()?;
        let model = Object::from_json(body)?.string("model")?;
        let served = self.upstream.served_model(&model);
        self.reader.expected_in_message(body, &served)
    }
}

impl<U: Upstream> Upstream for TextCalls<U> {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        self.upstream.send(request)
    }

    fn send_stream(&self, request: Request<Body>) -> UpstreamFuture<'_> {
        self.upstream.send_stream(request)
    }

    fn has_credentials(&self) -> bool {
        self.upstream.has_credentials()
    }

    fn turn(&self, request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
        Box::pin(self.answer(request))
    }

    fn passes_messages(&self) -> bool {
        self.upstream.passes_messages()
    }

    fn served_model<'m>(&'m self, model: &'m str) -> Cow<'m, str> {
        self.upstream.served_model(model)
    }

    fn text_calls(&self) -> Option<&TextCallReader> {
        Some(&self.reader)
    }

    fn translation_warnings(&self) -> Option<TranslationWarnings> {
        self.upstream.translation_warnings()
    }

    fn name(&self) -> String {
        self.upstream.name()
    }
}
