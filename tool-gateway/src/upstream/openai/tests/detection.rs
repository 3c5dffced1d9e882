//! Profile `auto`, which is found in the list of models.

use axum::http::Uri;
use serde_json::json;

use super::{Server, ask, completion, rejection, request};
use crate::upstream::openai::OpenAiUpstream;
use crate::upstream::openai::profile::ProfileName;
use crate::upstream::openai::settings::ChatSettings;
use crate::upstream::service::Upstream as _;

#[tokio::test]
async fn auto_finds_the_profile_in_the_list_of_models_with_the_credential_of_the_request() {
    for (owner, profile) in [
        ("vllm", "vllm"),
        ("sglang", "sglang"),
        ("llamacpp", "llamacpp"),
        ("library", "ollama"),
        ("me", "generic"),
    ] {
        let list = json!({ "object": "list", "data": [{ "id": "m", "owned_by": owner }] });
        let server = Server::new(vec![(200, list), completion(), completion()]);
        let settings = ChatSettings {
            pass_client_key: true,
            ..ChatSettings::default()
        };
        let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
        let upstream = upstream.with_profile("auto").unwrap();
        for _ in 0..2 {
            let mut request = request("/v1/messages");
            let headers = request.headers_mut();
            headers.insert("x-api-key", "k".parse().unwrap());
            assert_eq!(upstream.turn(request).await.unwrap().status(), 200);
        }
        let paths = server.paths.lock().unwrap().clone();
        let chat = "/v1/chat/completions";
        assert_eq!(paths, ["/v1/models", chat, chat], "{owner}");
        for headers in server.headers.lock().unwrap().iter() {
            assert_eq!(headers["authorization"], "Bearer k");
        }
        let found = upstream.profile.get().unwrap();
        let expected: ProfileName = serde_json::from_value(profile.into()).unwrap();
        assert_eq!(*found, expected.profile(), "{owner}");
    }
}

#[tokio::test]
async fn auto_asks_again_after_a_list_of_models_that_failed() {
    let list = json!({ "data": [{ "id": "m", "owned_by": "vllm" }] });
    let answers = vec![rejection(500, "no"), completion(), (200, list), completion()];
    let server = Server::new(answers);
    let upstream = OpenAiUpstream::over(server.clone()).with_profile("auto").unwrap();
    for _ in 0..2 {
        assert_eq!(ask(&upstream).await.0.status(), 200);
    }
    assert_eq!(server.paths.lock().unwrap()[2], "/v1/models");
    assert!(upstream.profile.get().unwrap().top_k);
}

#[tokio::test]
async fn chat_path_is_the_path_of_requests_and_stands_beside_the_models() {
    let server = Server::new(vec![(200, json!({ "data": [] })), completion()]);
    let settings = ChatSettings {
        chat_path: Uri::from_static("/openai/chat/completions"),
        ..ChatSettings::default()
    };
    let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
    ask(&upstream.with_profile("auto").unwrap()).await;
    let paths = server.paths.lock().unwrap().clone();
    assert_eq!(paths, ["/openai/models", "/openai/chat/completions"]);
}
