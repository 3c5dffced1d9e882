//! Faults of a server of Chat Completions, by row of `docs/faults.md`: rejected requests, errors in responses, and responses that are cut off.

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::{OpenAiUpstream, Upstream, UpstreamFuture};
use tool_runtime::repair::FormatFixing;

use crate::fault_rows::{Log, Row, row};
use crate::faults::chat;
use crate::lab::{Lab, Runs, post, registry};
use crate::openai_arguments::{ChatServer, answer};
use crate::raw::{Raw, response, whole};
use crate::reply::{Reply, events};
use crate::test_script::TestScript;

/// A server with a key of the gateway.
struct WithKey(Raw);

impl Upstream for WithKey {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        self.0.send(request)
    }

    fn has_credentials(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        self.0.name()
    }
}

/// A server whose responses are cut off after their text.
struct CutOff(&'static str);

impl Upstream for CutOff {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let reset = std::io::Error::other("reset");
        let pieces = stream::iter([Ok(Bytes::from(self.0))]).chain(stream::once(async {
            tokio::task::yield_now().await;
            Err(reset)
        }));
        let response = Response::builder().header("content-type", "text/event-stream");
        let response = response.body(Body::from_stream(pieces)).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "cut off".to_owned()
    }
}

/// Builds a gateway before a server of Chat Completions. The script of the lab is not used.
fn lab<U: Upstream>(upstream: OpenAiUpstream<U>) -> Lab {
    let runs = Runs::default();
    Lab {
        app: Gateway::new(registry(&runs), upstream).router(),
        script: TestScript::embedded(),
        runs,
    }
}

fn rejection(status: u16, message: &str) -> Response<Bytes> {
    let error = json!({ "error": { "message": message, "code": "some_code" } });
    response(status, "application/json", error.to_string())
}

/// Builds a stream of chunks.
fn chunks(chunks: &[Value]) -> Response<Bytes> {
    let events = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    response(200, "text/event-stream", events.collect::<String>())
}

fn text_chunk(text: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "content": text } }] })
}

/// Builds the answer `Done.`, with a usage.
fn done() -> Response<Bytes> {
    let message = json!({ "role": "assistant", "content": "Done." });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    whole(&json!({ "choices": [choice], "usage": usage }))
}

/// Asks a new gateway before a server with these responses, streamed and not, and asserts the row.
async fn answers(row: &Row, responses: impl Fn() -> Vec<Response<Bytes>>) {
    for is_stream in [false, true] {
        let server = Raw::new(responses());
        asserts(row, OpenAiUpstream::over(server.clone()), is_stream).await;
        assert_eq!(server.seen().len(), responses().len());
    }
}

async fn asserts<U: Upstream>(row: &Row, upstream: OpenAiUpstream<U>, is_stream: bool) -> Reply {
    let log = Log::start();
    let lab = lab(upstream);
    let reply = chat(is_stream, "go").ask(&lab).await;
    if !reply.is_error() {
        assert_eq!(reply.text(), "Done.");
    }
    row.client_sees(&reply);
    row.host_learns(&lab, &log).await;
    reply
}

#[tokio::test]
async fn chat_server_rejects_a_request() {
    let row = row("chat_server_rejects_a_request");
    for status in [400, 405, 418, 422] {
        answers(&row, || vec![rejection(status, "no")]).await;
    }
}

#[tokio::test]
async fn chat_server_rejects_the_gateways_key() {
    let row = row("chat_server_rejects_the_gateways_key");
    for (status, is_stream) in [(401, false), (403, true)] {
        let server = WithKey(Raw::new([rejection(status, "bad key sk-1")]));
        let reply = asserts(&row, OpenAiUpstream::over(server), is_stream).await;
        assert_eq!(reply.headers["x-should-retry"], "false");
    }
}

#[tokio::test]
async fn chat_server_requires_a_key() {
    let row = row("chat_server_requires_a_key");
    answers(&row, || vec![rejection(401, "no key")]).await;
}

#[tokio::test]
async fn chat_server_has_no_quota() {
    let row = row("chat_server_has_no_quota");
    let quota = json!({ "error": { "message": "pay", "code": "insufficient_quota" } }).to_string();
    answers(&row, || vec![response(429, "application/json", quota.clone())]).await;
    answers(&row, || vec![rejection(402, "pay")]).await;
}

#[tokio::test]
async fn chat_server_limits_the_rate() {
    let row = row("chat_server_limits_the_rate");
    let limited = || {
        let mut limited = rejection(429, "slow down");
        let headers = limited.headers_mut();
        headers.insert("retry-after", "3".parse().unwrap());
        headers.insert("x-ratelimit-remaining-tokens", "0".parse().unwrap());
        limited
    };
    answers(&row, || vec![limited()]).await;
    let reply = asserts(&row, OpenAiUpstream::over(Raw::new([limited()])), true).await;
    assert_eq!(reply.headers["anthropic-ratelimit-tokens-remaining"], "0");
}

#[tokio::test]
async fn chat_server_has_no_such_model() {
    let row = row("chat_server_has_no_such_model");
    answers(&row, || vec![rejection(404, "The model `m` does not exist.")]).await;
}

#[tokio::test]
async fn chat_server_fails() {
    let row = row("chat_server_fails");
    answers(&row, || vec![rejection(500, "no")]).await;
}

#[tokio::test]
async fn chat_server_is_overloaded() {
    let row = row("chat_server_is_overloaded");
    for status in [503, 529] {
        answers(&row, || vec![rejection(status, "busy")]).await;
    }
}

#[tokio::test]
async fn chat_server_times_out() {
    let row = row("chat_server_times_out");
    for status in [408, 504] {
        answers(&row, || vec![rejection(status, "too late")]).await;
    }
}

#[tokio::test]
async fn chat_server_is_behind_a_failing_proxy() {
    let row = row("chat_server_is_behind_a_failing_proxy");
    let page = "<html><head><title>502</title></head><body><h1>Bad gateway</h1></body></html>";
    answers(&row, || vec![response(502, "text/html", page)]).await;
}

#[tokio::test]
async fn chat_server_answers_200_with_an_error() {
    let row = row("chat_server_answers_200_with_an_error");
    let error = json!({ "error": { "message": "slow down", "code": 429 } });
    answers(&row, || vec![whole(&error)]).await;
    answers(&row, || vec![chunks(std::slice::from_ref(&error))]).await;
}

#[tokio::test]
async fn chat_server_answers_200_with_a_page() {
    let row = row("chat_server_answers_200_with_a_page");
    answers(&row, || vec![response(200, "text/html", "<html>Welcome</html>")]).await;
}

#[tokio::test]
async fn chat_server_sends_an_error_in_its_stream() {
    let row = row("chat_server_sends_an_error_in_its_stream");
    let error = json!({ "error": { "message": "slow down", "code": 429 } });
    answers(&row, || vec![chunks(&[text_chunk("It"), error.clone()])]).await;
    let server = Raw::new([chunks(&[text_chunk("It"), error])]);
    let reply = asserts(&row, OpenAiUpstream::over(server), true).await;
    assert_eq!(events(&reply.body)[0]["type"], "message_start");
}

#[tokio::test]
async fn chat_stream_has_no_end() {
    let row = row("chat_stream_has_no_end");
    answers(&row, || vec![chunks(&[text_chunk("It")])]).await;
}

#[tokio::test]
async fn chat_stream_is_cut_off() {
    const TEXT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Done.\"}}]}\n\n";
    let row = row("chat_stream_is_cut_off");
    for is_stream in [false, true] {
        asserts(&row, OpenAiUpstream::over(CutOff(TEXT)), is_stream).await;
    }
}

#[tokio::test]
async fn chat_stream_is_cut_off_behind_its_finish_reason() {
    const WHOLE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Done.\"},\"finish_reason\":\"stop\"}]}\n\n";
    let row = row("chat_stream_is_cut_off_behind_its_finish_reason");
    for is_stream in [false, true] {
        asserts(&row, OpenAiUpstream::over(CutOff(WHOLE)), is_stream).await;
    }
}

#[tokio::test]
async fn chat_response_has_no_usage() {
    let row = row("chat_response_has_no_usage");
    let message = json!({ "role": "assistant", "content": "Done." });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    answers(&row, || vec![whole(&json!({ "choices": [choice] }))]).await;
}

#[tokio::test]
async fn chat_output_is_fitted_into_the_context() {
    let row = row("chat_output_is_fitted_into_the_context");
    let message = "maximum context length is 32768 tokens and your request has 17459 input tokens";
    answers(&row, || vec![rejection(400, message), done()]).await;
}

#[tokio::test]
async fn chat_output_does_not_fit_into_the_context() {
    let row = row("chat_output_does_not_fit_into_the_context");
    let message = "maximum context length is 18000 tokens and your request has 17459 input tokens";
    answers(&row, || vec![rejection(400, message)]).await;
}

#[tokio::test]
async fn chat_prompt_is_too_long() {
    let row = row("chat_prompt_is_too_long");
    let error = json!({
        "code": 400, "message": "the request exceeds the available context size",
        "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096,
    });
    let error = json!({ "error": error }).to_string();
    answers(&row, || vec![response(400, "application/json", error.clone())]).await;
}

#[tokio::test]
async fn chat_server_limits_the_output() {
    let row = row("chat_server_limits_the_output");
    let message = "max_tokens is too large: 100. This model supports at most 64 completion tokens.";
    answers(&row, || vec![rejection(400, message), done()]).await;
}

#[tokio::test]
async fn chat_server_rejects_a_field() {
    let row = row("chat_server_rejects_a_field");
    let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    answers(&row, || vec![rejection(400, message), done()]).await;
}

#[tokio::test]
async fn chat_server_rejects_three_fields() {
    let row = row("chat_server_rejects_three_fields");
    for is_stream in [false, true] {
        let fields = ["max_tokens", "temperature", "top_p"];
        let server = Raw::new(fields.map(|field| rejection(400, &format!("unknown field {field}"))));
        let log = Log::start();
        let lab = lab(OpenAiUpstream::over(server.clone()));
        let mut chat = chat(is_stream, "go");
        chat.body["temperature"] = json!(0.5);
        chat.body["top_p"] = json!(0.5);
        row.client_sees(&chat.ask(&lab).await);
        row.host_learns(&lab, &log).await;
        assert_eq!(server.seen().len(), 3);
    }
}

#[tokio::test]
async fn chat_server_does_not_count_tokens() {
    let row = row("chat_server_does_not_count_tokens");
    let log = Log::start();
    let server = Raw::new([rejection(404, "Not Found")]);
    let lab = lab(OpenAiUpstream::over(server).with_profile("vllm").unwrap());
    let body = chat(false, "go").body;
    let response = lab.send(post("/v1/messages/count_tokens", body, &[])).await;
    assert_eq!(
        (
            response.status().as_u16(),
            &response.headers()["x-tool-gateway-tokens"]
        ),
        (200, &"estimated".parse().unwrap())
    );
    row.client_sees_no_error();
    row.host_learns(&lab, &log).await;
}

#[tokio::test]
async fn chat_server_lists_no_models() {
    let row = row("chat_server_lists_no_models");
    let log = Log::start();
    let lab = lab(OpenAiUpstream::over(NoModels));
    let request = Request::get("/v1/models").header("anthropic-version", "2023-06-01");
    let response = lab.send(request.body(Body::empty()).unwrap()).await;
    row.client_sees(&Reply::read(response).await);
    row.host_learns(&lab, &log).await;
}

/// A server without a list of models.
struct NoModels;

impl Upstream for NoModels {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        Box::pin(async { Ok(rejection(404, "Not Found").map(Body::from)) })
    }

    fn name(&self) -> String {
        "no models".to_owned()
    }
}

/// The rule for overloads in the middle of a turn holds here, too.
#[tokio::test(start_paused = true)]
async fn chat_server_is_overloaded_in_a_turn() {
    let row = row("chat_server_is_overloaded_in_a_turn");
    let call = json!({ "id": "call_1", "type": "function", "function": { "name": "write", "arguments": "{\"key\":\"a\"}" } });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "tool_calls" });
    let call = json!({ "choices": [choice], "usage": { "prompt_tokens": 10, "completion_tokens": 5 } });
    let server = Raw::new([whole(&call), rejection(503, "busy"), done()]);
    asserts(&row, OpenAiUpstream::over(server), true).await;
}

/// Asserts the row of a call that ends the turn, without `fallback_on_error`.
async fn call_fails(row: &Row, tool: &str, arguments: &str) {
    for is_stream in [false, true] {
        let fixing = FormatFixing {
            fallback_on_error: false,
            ..FormatFixing::for_every_tool()
        };
        let log = Log::start();
        let server = ChatServer::new([answer("", &[[tool, arguments]])]);
        let upstream = OpenAiUpstream::over(server).with_format_fixing(fixing.clone());
        let runs = Runs::default();
        let gateway = Gateway::new(registry(&runs), upstream).with_format_fixing(fixing);
        let lab = Lab {
            app: gateway.router(),
            script: TestScript::embedded(),
            runs,
        };
        let reply = chat(is_stream, "go").ask(&lab).await;
        row.client_sees(&reply);
        row.host_learns(&lab, &log).await;
    }
}

#[tokio::test]
async fn chat_server_sends_a_broken_call_without_fallback() {
    let row = row("chat_server_sends_a_broken_call_without_fallback");
    call_fails(&row, "weather", "{n").await;
}
