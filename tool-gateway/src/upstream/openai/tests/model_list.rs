//! Lists of models, and single models.

use axum::body::Bytes;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{Server, json_body, rejection, request};
use crate::upstream::openai::OpenAiUpstream;
use crate::upstream::openai::models::ModelRule;
use crate::upstream::openai::settings::ChatSettings;
use crate::upstream::service::Upstream as _;

/// Requests a path as a client of the Messages API.
async fn get(upstream: &OpenAiUpstream<Server>, path: &str) -> (u16, Value) {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = path.parse().unwrap();
    let headers = request.headers_mut();
    headers.insert("anthropic-version", "2023-06-01".parse().unwrap());
    headers.insert("x-api-key", "sk-client".parse().unwrap());
    let response = upstream.send(request).await.unwrap();
    (response.status().as_u16(), json_body(response).await)
}

fn ids(models: &Value) -> Vec<&str> {
    let models = models["data"].as_array().unwrap().iter();
    models.map(|model| model["id"].as_str().unwrap()).collect()
}

#[derive(serde::Deserialize)]
struct Rules {
    models: Vec<ModelRule>,
}

#[tokio::test(start_paused = true)]
async fn models_are_listed_with_the_names_of_the_configuration() {
    let list = |id: &str| (200, json!({ "data": [{ "id": id, "max_model_len": 9 }] }));
    let server = Server::new(vec![list("qwen"), list("other")]);
    let rules = r#"
        models = [
            { match = "claude-test", serve = "qwen" },
            { match = "claude-*", serve = "qwen" },
            { match = "small" },
        ]"#;
    let Rules { models } = toml::from_str(rules).unwrap();
    let settings = ChatSettings {
        models,
        ..ChatSettings::default()
    };
    let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
    let (status, models) = get(&upstream, "/v1/models?limit=1000").await;
    assert_eq!(
        (status, ids(&models)),
        (200, vec!["qwen", "claude-test", "small"])
    );
    assert_eq!(models["data"][1]["max_input_tokens"], 9);
    assert_eq!(models["data"][2]["created_at"], "1970-01-01T00:00:00Z");
    // From the kept list.
    let (_, model) = get(&upstream, "/v1/models/claude-test").await;
    assert_eq!(model, models["data"][1]);
    assert_eq!(*server.paths.lock().unwrap(), ["/v1/models"]);
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    let (_, models) = get(&upstream, "/v1/models").await;
    assert_eq!(ids(&models), ["other", "claude-test", "small"]);
    // No list is needed for the configured names.
    *server.responses.lock().unwrap() = vec![rejection(404, "no route")].into();
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    let (status, models) = get(&upstream, "/v1/models").await;
    assert_eq!((status, ids(&models)), (200, vec!["claude-test", "small"]));
}

#[tokio::test]
async fn errors_of_models_have_the_form_of_the_messages_api() {
    let mut server = Server::new(vec![
        rejection(401, "bad key"),
        rejection(404, "no model"),
        rejection(500, "no list"),
    ]);
    server.has_key = true;
    let upstream = OpenAiUpstream::over(server);
    let (status, error) = get(&upstream, "/v1/models").await;
    assert_eq!(
        (status, &error["error"]["message"]),
        (502, &json!("the upstream refused the gateway's key"))
    );
    let (status, error) = get(&upstream, "/v1/models/a/b").await;
    assert_eq!(
        (status, &error["error"]["type"]),
        (404, &json!("not_found_error"))
    );
    assert_eq!(error["error"]["details"]["upstream_status"], 404);
}

#[tokio::test]
async fn model_of_a_server_without_its_path_is_found_in_the_list() {
    let list = json!({ "data": [{ "id": "org/m", "max_model_len": 9 }] });
    let server = Server::new(vec![
        rejection(404, "no route"),
        (200, list),
        rejection(404, "no route"),
    ]);
    let upstream = OpenAiUpstream::over(server.clone());
    let (status, model) = get(&upstream, "/v1/models/org/m").await;
    assert_eq!(
        (status, &model["id"], &model["max_input_tokens"]),
        (200, &json!("org/m"), &json!(9))
    );
    // From the kept list.
    let (status, error) = get(&upstream, "/v1/models/other").await;
    assert_eq!(
        (status, &error["error"]["type"]),
        (404, &json!("not_found_error"))
    );
    assert_eq!(
        *server.paths.lock().unwrap(),
        ["/v1/models/org/m", "/v1/models", "/v1/models/other"]
    );
}

#[tokio::test]
async fn other_forms_of_models_are_unchanged() {
    let models = json!({ "models": ["m"] });
    let upstream = OpenAiUpstream::over(Server::new(vec![(200, models.clone())]));
    assert_eq!(get(&upstream, "/v1/models").await, (200, models));
}

#[tokio::test]
async fn models_are_converted_for_clients_of_the_messages_api() {
    let models = || {
        (
            200,
            json!({ "object": "list", "data": [{ "id": "m", "max_model_len": 9 }] }),
        )
    };
    let upstream = OpenAiUpstream::over(Server::new(vec![models(), models()]));
    for (version, expected) in [(Some("2023-06-01"), json!("model")), (None, Value::Null)] {
        let mut request = request("/v1/models");
        if let Some(version) = version {
            let headers = request.headers_mut();
            headers.insert("anthropic-version", version.parse().unwrap());
        }
        let response = upstream.send(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["data"][0]["type"], expected);
    }
}
