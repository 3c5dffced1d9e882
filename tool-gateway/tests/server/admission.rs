//! Origins, tools of single clients, and headers and blocks that are not forwarded.

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request};
use serde_json::{Value, json};
use tool_gateway::{Gateway, Offer};

use crate::lab::{Chat, Lab, call, says, text, tools, user};
use crate::reply::Reply;

fn script() -> Value {
    json!({ "turns": [says(&[text("Done.")])] })
}

async fn send(lab: &Lab, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap) {
    let mut request = Request::builder()
        .uri(path)
        .method(Method::from_bytes(method.as_bytes()).unwrap());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = lab.send(request.body(Body::empty()).unwrap()).await;
    (response.status().as_u16(), response.headers().clone())
}

#[tokio::test]
async fn allowed_origins_are_served_with_cors_headers() {
    let allowed = ["app://obsidian.md", "chrome-extension://*"];
    let lab = Lab::with(script(), |gateway| gateway.with_allowed_origins(allowed).unwrap());
    let asks = ("access-control-request-method", "POST");
    for path in [
        "/v1/messages",
        "/v1/tools",
        "/metrics",
        "/v1/chat/completions",
        "/unknown",
    ] {
        let origin = ("origin", "chrome-extension://abc");
        let wanted = ("access-control-request-headers", "x-api-key,anthropic-version");
        let private = ("access-control-request-private-network", "true");
        let (status, headers) = send(&lab, "OPTIONS", path, &[origin, asks, wanted, private]).await;
        assert_eq!(status, 204, "{path}");
        for (name, value) in [
            ("access-control-allow-origin", "chrome-extension://abc"),
            ("access-control-allow-headers", "x-api-key,anthropic-version"),
            ("access-control-allow-methods", "GET, POST, DELETE"),
            ("access-control-allow-private-network", "true"),
            ("vary", "origin"),
        ] {
            assert_eq!(headers[name], value, "{path}");
        }
        // A page elsewhere, and no preflight.
        let (status, headers) = send(&lab, "OPTIONS", path, &[("origin", "https://example.com"), asks]).await;
        assert_eq!(status, 403, "{path}");
        assert!(!headers.contains_key("access-control-allow-origin"));
        let (status, _) = send(&lab, "OPTIONS", path, &[origin]).await;
        assert_ne!(status, 204, "{path}");
    }
    // Errors can be read, too.
    for (path, expected) in [("/v1/tools", 200), ("/unknown", 404)] {
        let (status, headers) = send(&lab, "GET", path, &[("origin", "app://obsidian.md")]).await;
        assert_eq!(status, expected);
        assert_eq!(headers["access-control-allow-origin"], "app://obsidian.md");
        assert_eq!(headers["access-control-expose-headers"], "*");
    }
}

/// Asserts that a page of this origin can send requests, and read responses, but not the metrics.
async fn serves_pages(lab: &Lab, origin: &str, key: Option<&str>) {
    let mut headers = vec![("origin", origin)];
    headers.extend(key.map(|key| ("x-api-key", key)));
    let preflight = [("origin", origin), ("access-control-request-method", "POST")];
    for path in ["/v1/messages", "/v1/tools", "/v1/chat/completions", "/unknown"] {
        let (status, answer) = send(lab, "OPTIONS", path, &preflight).await;
        assert_eq!(
            (status, &answer["access-control-allow-origin"]),
            (204, &origin.parse().unwrap()),
            "{path}"
        );
        let (_, answer) = send(lab, "GET", path, &headers).await;
        assert_eq!(answer["access-control-allow-origin"], origin, "{path}");
    }
    for path in ["/metrics", "/healthz", "/readyz"] {
        let (status, answer) = send(lab, "OPTIONS", path, &preflight).await;
        assert_eq!(
            (status, answer.get("access-control-allow-origin")),
            (405, None),
            "{path}"
        );
        let (status, answer) = send(lab, "GET", path, &headers).await;
        assert_eq!(
            (status, answer.get("access-control-allow-origin")),
            (200, None),
            "{path}"
        );
    }
}

#[tokio::test]
async fn pages_of_loopback_are_served_with_cors_headers() {
    let lab = Lab::with(script(), |gateway| gateway);
    for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1"] {
        serves_pages(&lab, origin, None).await;
    }
    for origin in ["https://example.com", "http://localhost.example.com", "null"] {
        let (status, headers) = send(&lab, "GET", "/v1/tools", &[("origin", origin)]).await;
        assert_eq!(
            (status, headers.get("access-control-allow-origin")),
            (403, None),
            "{origin}"
        );
    }
    // The program around such a router decides about origins.
    let lab = Lab::with(script(), Gateway::with_any_host);
    let (status, headers) = send(&lab, "GET", "/v1/tools", &[("origin", "http://localhost")]).await;
    assert_eq!((status, headers.get("access-control-allow-origin")), (200, None));
}

/// A browser sends no key by itself, so that a page without a key of a client reads only errors.
#[tokio::test]
async fn pages_of_every_origin_are_served_with_a_clients_key() {
    let lab = Lab::with(script(), |gateway| {
        gateway.with_client_key("ada", "k1").with_any_host()
    });
    for origin in ["https://example.com", "null"] {
        serves_pages(&lab, origin, Some("k1")).await;
        assert_eq!(send(&lab, "GET", "/v1/tools", &[("origin", origin)]).await.0, 401);
        assert_eq!(send(&lab, "GET", "/metrics", &[("origin", origin)]).await.0, 401);
    }
}

/// A page needs a key where every client needs one; a browser sends none with its preflight request.
#[tokio::test]
async fn allowed_origins_need_a_clients_key() {
    let lab = Lab::with(script(), |gateway| {
        let gateway = gateway.with_allowed_origins(["app://a"]).unwrap();
        gateway.with_client_key("ada", "k1").with_any_host()
    });
    let (origin, asks) = (("origin", "app://a"), ("access-control-request-method", "GET"));
    assert_eq!(send(&lab, "OPTIONS", "/v1/tools", &[origin, asks]).await.0, 204);
    assert_eq!(send(&lab, "GET", "/v1/tools", &[origin]).await.0, 401);
    assert_eq!(
        send(&lab, "GET", "/v1/tools", &[origin, ("x-api-key", "k1")])
            .await
            .0,
        200
    );
}

#[tokio::test]
async fn clients_have_separate_tools() {
    for offer in [Offer::Declared, Offer::Always] {
        let script = json!({ "order": "requests", "turns": [
            says(&[call("write", "a")]),
            says(&[call("write", "b")]), says(&[text("Done.")]),
        ] });
        let lab = Lab::with(script, |gateway| {
            let gateway = gateway.with_client_key("ada", "k1").with_client_key("bob", "k2");
            let gateway = gateway.with_client_tools("ada", ["lookup"]).unwrap();
            gateway.with_offer(offer)
        });
        let mut chat = Chat::new(false);
        chat.messages().push(user("go"));
        if offer == Offer::Always {
            chat.body["tools"] = json!([]);
        }
        chat.headers = vec![("x-api-key", "k1".to_owned())];
        // The call of a tool that this client does not have is the client's.
        let reply = chat.ask(&lab).await;
        assert_eq!(reply.shape(), ["write"]);
        assert!(lab.runs.begun().is_empty());
        let names = |body: &Value| {
            let tools = body["tools"].as_array().unwrap().iter();
            tools
                .map(|tool| tool["name"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let sent = names(&lab.last_seen());
        assert!(sent.contains(&"lookup".to_owned()), "{sent:?}");
        let declared = if offer == Offer::Always {
            1
        } else {
            tools().as_array().unwrap().len()
        };
        assert_eq!(sent.len(), declared);
        chat.headers = vec![("x-api-key", "k2".to_owned())];
        assert_eq!(chat.ask(&lab).await.text(), "Done.");
        assert_eq!(lab.runs.begun(), ["write b"]);
        for (key, listed) in [("k1", 1), ("k2", 5)] {
            let request = Request::get("/v1/tools").header("x-api-key", key);
            let list = Reply::read(lab.send(request.body(Body::empty()).unwrap()).await).await;
            assert_eq!(list.message["data"].as_array().unwrap().len(), listed);
        }
    }
}

#[tokio::test]
async fn removes_betas_and_billing_headers() {
    let billing = json!({ "type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=0a1b2;" });
    for has_tools in [false, true] {
        for is_removed in [false, true] {
            let lab = Lab::with(script(), |gateway| {
                if is_removed {
                    gateway.with_removed_betas(["b"]).with_billing_header_removed()
                } else {
                    gateway
                }
            });
            let mut chat = Chat::new(false);
            chat.messages().push(user("go"));
            if !has_tools {
                chat.body["tools"] = json!([]);
            }
            chat.body["system"] = json!([billing, text("Be kind.")]);
            let betas = [("anthropic-beta", "a, b"), ("anthropic-beta", "b")];
            assert_eq!(lab.ask_with(&chat.body, &betas).await.text(), "Done.");
            let requests = lab.script.requests();
            let sent = requests[0].headers.get_all("anthropic-beta").iter();
            let sent: Vec<_> = sent.map(|value| value.to_str().unwrap()).collect();
            let system = &lab.last_seen()["system"];
            if is_removed {
                assert_eq!((sent, system), (vec!["a"], &json!([text("Be kind.")])));
            } else {
                assert_eq!(
                    (sent, system),
                    (vec!["a, b", "b"], &json!([billing, text("Be kind.")]))
                );
            }
        }
    }
}
