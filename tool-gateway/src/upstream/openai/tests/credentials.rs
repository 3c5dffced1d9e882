//! Credentials of clients, which a server receives only with `pass_client_key`.

use axum::body::Body;

use super::{Server, completion, request};
use crate::upstream::openai::OpenAiUpstream;
use crate::upstream::openai::settings::ChatSettings;
use crate::upstream::service::Upstream as _;

#[tokio::test]
async fn credentials_of_clients_are_sent_with_pass_client_key_alone() {
    for passes in [false, true] {
        for (name, value) in [("x-api-key", "k"), ("authorization", "Bearer k")] {
            let server = Server::new(vec![completion()]);
            let settings = ChatSettings {
                pass_client_key: passes,
                ..ChatSettings::default()
            };
            let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
            let mut request = request("/v1/messages");
            for (name, value) in [(name, value), ("traceparent", "t"), ("cookie", "c")] {
                let name: axum::http::HeaderName = name.parse().unwrap();
                request.headers_mut().insert(name, value.parse().unwrap());
            }
            upstream.turn(request).await.unwrap();
            let headers = server.headers.lock().unwrap()[0].clone();
            let credential = headers.get("authorization").map(|value| value.to_str().unwrap());
            assert_eq!(credential, passes.then_some("Bearer k"));
            assert_eq!(headers["traceparent"], "t");
            assert!(!headers.contains_key("x-api-key") && !headers.contains_key("cookie"));
        }
    }
}

/// The client's key may belong to another vendor's server.
#[tokio::test]
async fn requests_that_pass_have_the_clients_credential_with_pass_client_key_alone() {
    for passes in [false, true] {
        for path in ["/v1/chat/completions", "/v1/responses", "/v1/models", "/v1/files"] {
            for (name, value) in [("x-api-key", "k"), ("authorization", "Bearer k")] {
                let server = Server::new(vec![completion()]);
                let settings = ChatSettings {
                    pass_client_key: passes,
                    ..ChatSettings::default()
                };
                let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
                let mut request = request(path);
                for (name, value) in [(name, value), ("openai-organization", "o"), ("accept", "a")] {
                    let name: axum::http::HeaderName = name.parse().unwrap();
                    request.headers_mut().append(name, value.parse().unwrap());
                }
                if path == "/v1/files" {
                    upstream.send_stream(request.map(Body::from)).await.unwrap();
                } else {
                    upstream.send(request).await.unwrap();
                }
                let headers = server.headers.lock().unwrap()[0].clone();
                let credential = headers.get("authorization").map(|value| value.to_str().unwrap());
                assert_eq!(credential, passes.then_some("Bearer k"), "{path} {name}");
                assert!(!headers.contains_key("x-api-key"), "{path} {name}");
                assert_eq!(
                    headers.contains_key("openai-organization"),
                    passes,
                    "{path} {name}"
                );
                assert_eq!(headers["accept"], "a");
            }
        }
    }
}

/// Batches and files of a server without the clients' credentials belong to all clients.
#[test]
fn clients_share_an_account_without_their_credentials() {
    for (has_key, passes, is_shared) in [
        (false, false, true),
        (false, true, false),
        (true, false, true),
        (true, true, true),
    ] {
        let server = Server {
            has_key,
            ..Server::default()
        };
        let settings = ChatSettings {
            pass_client_key: passes,
            ..ChatSettings::default()
        };
        let upstream = OpenAiUpstream::over(server).with_settings(settings);
        assert_eq!(upstream.has_credentials(), is_shared, "{has_key} {passes}");
    }
}
