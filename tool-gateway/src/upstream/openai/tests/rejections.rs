//! Requests that the server rejects: errors for clients, and corrections that are learned.

use serde_json::json;

use super::{Server, ask, completion, rejection};
use crate::upstream::openai::OpenAiUpstream;
use crate::upstream::openai::settings::ChatSettings;

#[tokio::test]
async fn statuses_of_errors_are_those_of_the_messages_api() {
    for (status, expected, kind) in [
        (400, 400, "invalid_request_error"),
        (405, 400, "invalid_request_error"),
        (422, 400, "invalid_request_error"),
        (418, 400, "invalid_request_error"),
        (402, 402, "billing_error"),
        (404, 404, "not_found_error"),
        (409, 409, "conflict_error"),
        (413, 413, "request_too_large"),
        (429, 429, "rate_limit_error"),
        (500, 500, "api_error"),
        (408, 504, "timeout_error"),
        (504, 504, "timeout_error"),
        (503, 529, "overloaded_error"),
        (529, 529, "overloaded_error"),
        (502, 502, "api_error"),
        (302, 502, "api_error"),
    ] {
        let upstream = OpenAiUpstream::over(Server::new(vec![rejection(status, "no")]));
        let (response, body) = ask(&upstream).await;
        assert_eq!(response.status(), expected, "{status}");
        let error = &body["error"];
        assert_eq!(
            (&error["type"], &error["message"]),
            (&json!(kind), &json!("no")),
            "{status}"
        );
        let details = json!({ "upstream_status": status, "upstream_code": "some_code" });
        assert_eq!(error["details"], details);
        let headers = response.headers();
        assert_eq!(headers["retry-after"], "3");
        assert_eq!(headers["anthropic-ratelimit-tokens-remaining"], "9");
        assert!(!headers.contains_key("server"));
    }
    let quota = json!({ "error": { "message": "pay", "code": "insufficient_quota" } });
    let upstream = OpenAiUpstream::over(Server::new(vec![(429, quota)]));
    assert_eq!(ask(&upstream).await.0.status(), 402);
}

#[tokio::test]
async fn rejections_of_the_gateways_key_are_not_repeated_by_clients() {
    let mut server = Server::new(vec![rejection(401, "bad key sk-secret")]);
    server.has_key = true;
    let (response, body) = ask(&OpenAiUpstream::over(server)).await;
    assert_eq!(response.status(), 502);
    assert_eq!(body["error"]["message"], "the upstream refused the gateway's key");
    assert_eq!(response.headers()["x-should-retry"], "false");
}

#[tokio::test]
async fn rejected_fields_are_learned() {
    let server = Server::new(vec![
        rejection(400, "use max_completion_tokens, not max_tokens"),
        rejection(400, "temperature is not supported"),
        completion(),
        completion(),
    ]);
    let upstream = OpenAiUpstream::over(server.clone());
    for _ in 0..2 {
        assert_eq!(ask(&upstream).await.0.status(), 200);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests[2..] {
        assert_eq!(request["max_completion_tokens"], 32000);
        assert!(request.get("max_tokens").is_none() && request.get("temperature").is_none());
    }
}

#[tokio::test]
async fn only_corrections_of_accepted_requests_are_learned() {
    let server = Server::new(vec![
        rejection(400, "unknown field temperature"),
        rejection(400, "no access"),
        completion(),
    ]);
    let upstream = OpenAiUpstream::over(server.clone());
    assert_eq!(ask(&upstream).await.0.status(), 400);
    assert_eq!(ask(&upstream).await.0.status(), 200);
    let fields = server.requests();
    let temperatures: Vec<_> = fields.iter().map(|request| request.get("temperature")).collect();
    assert_eq!(temperatures, [Some(&json!(0.5)), None, Some(&json!(0.5))]);
}

#[tokio::test]
async fn a_request_has_at_most_two_repetitions() {
    let no = |message| rejection(400, message);
    let server = Server::new(vec![
        no("max_tokens"),
        no("temperature"),
        no("max_completion_tokens"),
    ]);
    let upstream = OpenAiUpstream::over(server.clone());
    assert_eq!(ask(&upstream).await.0.status(), 400);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn max_tokens_are_fitted_into_the_context() {
    let message = "maximum context length is 32768 tokens and your request has 17459 input tokens";
    let server = Server::new(vec![rejection(400, message), completion(), completion()]);
    let upstream = OpenAiUpstream::over(server.clone());
    ask(&upstream).await;
    ask(&upstream).await;
    let requests = server.requests();
    let max: Vec<_> = requests.iter().map(|request| &request["max_tokens"]).collect();
    assert_eq!(max, [32000, 15245, 32000]);

    let message = "maximum context length is 18000 tokens and your request has 17459 input tokens";
    let (response, body) = ask(&OpenAiUpstream::over(Server::new(vec![rejection(400, message)]))).await;
    assert_eq!(response.status(), 400);
    let expected = "input length and `max_tokens` exceed context limit: 17459 + 32000 > 18000, \
        decrease input length or `max_tokens` and try again";
    assert_eq!(body["error"]["message"], expected);
}

#[tokio::test]
async fn max_tokens_are_not_fitted_without_the_setting() {
    let message = "maximum context length is 32768 tokens and your request has 17459 input tokens";
    let server = Server::new(vec![rejection(400, message)]);
    let settings = ChatSettings {
        fit_max_tokens: false,
        ..ChatSettings::default()
    };
    let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
    let (response, body) = ask(&upstream).await;
    assert_eq!((response.status().as_u16(), server.requests().len()), (400, 1));
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("input length and `max_tokens` exceed context limit: 17459 + 32000 > 32768"));
}
