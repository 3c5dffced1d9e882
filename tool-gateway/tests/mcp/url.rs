//! MCP servers at URLs: headers, redirects and addresses.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::peer::discovered;
use crate::program::{Directory, run};
use crate::upstream::{Upstream, call, text};

/// Headers of a request, with its method.
type Received = Arc<Mutex<Vec<(String, HeaderMap)>>>;

/// Server without a handshake, whose tool `echo` returns its arguments. Requests with `authorization: wrong` are refused.
pub(crate) struct UrlServer {
    key: &'static str,
    address: SocketAddr,
    received: Received,
}

impl UrlServer {
    pub(crate) fn start(key: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let received = Received::default();
        let kept = Arc::clone(&received);
        let handler = move |headers: HeaderMap, Json(message): Json<Value>| {
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            kept.lock().unwrap().push((method, headers.clone()));
            std::future::ready(answer(&headers, &message))
        };
        let app = axum::Router::new().route("/mcp", axum::routing::post(handler));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        Self {
            key,
            address,
            received,
        }
    }

    /// Returns the table of the configuration, with further lines.
    pub(crate) fn table(&self, lines: &str) -> String {
        format!(
            "[mcp.servers.{}]\nurl = \"http://{}/mcp\"\n{lines}\n",
            self.key, self.address
        )
    }

    /// Returns the values of a header in the requests with this method.
    fn headers(&self, method: &str, name: &str) -> Vec<Option<String>> {
        let received = self.received.lock().unwrap();
        let received = received.iter().filter(|(found, _)| found == method);
        received
            .map(|(_, headers)| headers.get(name).map(|value| value.to_str().unwrap().to_owned()))
            .collect()
    }
}

fn answer(headers: &HeaderMap, message: &Value) -> Response {
    let result = match message["method"].as_str().unwrap_or_default() {
        _ if headers.get("authorization").is_some_and(|sent| sent == "wrong") => {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        "server/discover" => discovered(&["2026-07-28"])["result"].clone(),
        "tools/list" => {
            json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object", "properties": {
            "word": { "type": "string", "x-mcp-header": "Word" }
        } } }] })
        }
        _ => {
            let text = message["params"]["arguments"].to_string();
            json!({ "content": [{ "type": "text", "text": text }] })
        }
    };
    Json(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).into_response()
}

fn request() -> String {
    json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "Hi" }] }).to_string()
}

const ALWAYS: &str = "tools.offer = \"always\"\n";

#[test]
fn a_tool_at_a_url_is_called_with_the_configured_headers() {
    let server = UrlServer::start("web");
    // A variable that every process has.
    let home = std::env::var("HOME").unwrap();
    let lines = "headers = { x-team = \"a\" }\nheaders_env = { x-home = \"HOME\" }\n\
                 headers_from_client = { authorization = \"x-mcp-token\" }";
    let upstream = Upstream::start(vec![
        call("web__echo", &json!({ "word": "tea" })),
        text("done"),
        call("web__echo", &json!({ "word": "milk" })),
        text("done"),
    ]);
    let gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + &server.table(lines)));
    let headers = "x-mcp-token: Bearer ann\r\nx-tool-gateway-hop: 1\r\n";
    let (status, body) = gateway.send_with("POST", "/v1/messages", headers, &request());
    assert_eq!(status, 200, "{body}");
    assert_eq!(upstream.last_result()["content"], "{\"word\":\"tea\"}");
    for method in ["server/discover", "tools/list", "tools/call"] {
        assert_eq!(server.headers(method, "x-team"), [Some("a".to_owned())]);
        assert_eq!(server.headers(method, "x-home"), [Some(home.clone())]);
    }
    let sent = |name| server.headers("tools/call", name).pop().unwrap();
    assert_eq!(sent("authorization").as_deref(), Some("Bearer ann"));
    assert_eq!(sent("x-tool-gateway-hop").as_deref(), Some("2"));
    assert_eq!(sent("mcp-param-word").as_deref(), Some("tea"));
    // No request has the headers of another one.
    assert_eq!(server.headers("tools/list", "authorization"), [None]);
    let (status, _) = gateway.send("POST", "/v1/messages", &request());
    assert_eq!(status, 200);
    let result = upstream.last_result();
    assert_eq!(result["is_error"], true);
    assert_eq!(
        result["content"],
        "`web__echo`: the MCP server `web` was not called: missing header `x-mcp-token` in the request of the client"
    );
    assert_eq!(server.headers("tools/call", "authorization").len(), 1);
}

#[test]
fn refused_credentials_are_in_the_log_without_their_values() {
    let server = UrlServer::start("web");
    let upstream = Upstream::start(vec![text("done")]);
    let lines = "headers = { authorization = \"wrong\" }";
    let gateway = Gateway::start(&upstream, &(ALWAYS.to_owned() + &server.table(lines)));
    let line = gateway.log_line("refused the credentials (status 401)");
    assert!(line.contains("headers_env") && !line.contains("wrong"), "{line}");
    let (status, _) = gateway.send("POST", "/v1/messages", &request());
    assert_eq!(status, 200, "a failed start is not waited for");
}

#[test]
fn the_address_of_the_gateway_is_refused() {
    let directory = Directory::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!(
        "listen = \"{free}\"\n[mcp.servers.own]\nurl = \"http://localhost:{}/mcp\"\n",
        free.port()
    );
    let file = directory.file("gateway.toml", text);
    let ran = run(&["serve", "--config", &file, "--check-config"], "");
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let wanted = "gateway.toml:3: mcp.servers.own.url: the server is this gateway itself, which would call itself for ever";
    assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
}
