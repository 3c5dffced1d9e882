//! Connections of `serve`: proxies, certificates and keys for the upstream, and its listeners.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::program::{Directory, command};
use crate::serving::Serving;

const CERTIFICATE: &[u8] = include_bytes!("../upstream/localhost.certificate.der");
const KEY: &[u8] = include_bytes!("../upstream/localhost.key.der");
/// The file that `SSL_CERT_FILE` names.
const PEM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/upstream/localhost.certificate.pem"
);

/// Reads the head of a request or a response, in lower case.
fn read_head(stream: &mut impl Read) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(char::from(byte[0]));
    }
    head.to_lowercase()
}

/// Starts an HTTPS server that answers each request with an empty list. Returns the heads of the requests, too.
fn https_server() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(CERTIFICATE)],
            PrivateKeyDer::try_from(KEY).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let (sender, heads) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            sender.send(read_head(&mut stream)).unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"data\":[]}";
            stream.write_all(answer.as_bytes()).unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        }
    });
    (address, heads)
}

/// Starts a proxy that connects to one address for every request. Returns the heads of its requests, too.
fn proxy(target: SocketAddr) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, heads) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut client = stream.unwrap();
            sender.send(read_head(&mut client)).unwrap();
            let mut server = TcpStream::connect(target).unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
            thread::spawn(move || std::io::copy(&mut server, &mut client));
        }
    });
    (address, heads)
}

/// Starts a gateway whose proxies, certificates and keys are only in these variables.
fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Serving {
    let mut program = command(&[&["serve"], arguments].concat());
    for variable in [
        "ANTHROPIC_API_KEY",
        "TOOL_GATEWAY_CLIENT_KEYS",
        "ALL_PROXY",
        "SSL_CERT_DIR",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "RUST_LOG",
        "NO_PROXY",
        "no_proxy",
    ] {
        program.env_remove(variable);
    }
    Serving::start(program.envs(variables.iter().copied()), "upstream: ")
}

fn get(address: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(
        connection,
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nanthropic-version: 2023-06-01\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn upstreams_are_reached_with_own_certificates_keys_and_proxies() {
    let (server, heads) = https_server();
    let (proxy, connects) = proxy(server);
    let url = format!("https://localhost:{}", server.port());
    let arguments = ["--listen", "localhost:0", "--upstream", &url];
    let proxy = format!("http://me:secret@{proxy}");
    let trusted = ("SSL_CERT_FILE", PEM);
    let token = ("ANTHROPIC_AUTH_TOKEN", "token-1");
    for (variables, is_proxied) in [
        (&[trusted, token][..], false),
        (&[trusted, token, ("HTTPS_PROXY", proxy.as_str())], true),
        (
            &[trusted, token, ("HTTPS_PROXY", &proxy), ("NO_PROXY", "localhost")],
            false,
        ),
        // A server that does not speak HTTP.
        (&[trusted, token, ("HTTP_PROXY", &proxy)], false),
    ] {
        let gateway = start(&arguments, variables);
        let answer = get(&gateway.address, "/v1/models");
        assert!(answer.ends_with("{\"data\":[]}"), "{answer}");
        let head = heads.recv().unwrap();
        assert!(
            head.contains("authorization: bearer token-1") && !head.contains("x-api-key"),
            "{head}"
        );
        let connect = connects.try_recv().ok();
        assert_eq!(connect.is_some(), is_proxied, "{variables:?}");
        if let Some(connect) = connect {
            assert!(
                connect.starts_with(&format!("connect localhost:{} http/1.1", server.port())),
                "{connect}"
            );
            // `me:secret` in base64, in lower case.
            assert!(
                connect.contains("proxy-authorization: basic bwu6c2vjcmv0"),
                "{connect}"
            );
        }
    }
    // Without the certificate. A file that is missing is a warning.
    let gateway = start(&arguments, &[("SSL_CERT_FILE", "/nowhere.pem")]);
    assert!(gateway.started.contains("SSL_CERT_FILE"), "{:?}", gateway.started);
    let answer = get(&gateway.address, "/v1/models");
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("certificate"),
        "{answer}"
    );
}

/// Starts an HTTP proxy that answers each request with an empty list. Returns the heads of the requests, too.
fn http_proxy() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, heads) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            sender.send(read_head(&mut stream)).unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"data\":[]}";
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, heads)
}

/// Proxies for HTTP get the URL of the server, as from curl.
#[test]
fn http_upstreams_are_reached_through_the_proxy_for_http() {
    let (proxy, heads) = http_proxy();
    let url = format!("http://me:secret@{proxy}");
    // No server has this name (RFC 6761), and without the proxy no answer comes.
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--upstream",
        "http://models.test:8000/llm",
    ];
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let gateway = start(&arguments, &[(variable, &url)]);
        let answer = get(&gateway.address, "/v1/models");
        assert!(answer.ends_with("{\"data\":[]}"), "{answer}");
        let head = heads.recv().unwrap();
        assert!(
            head.starts_with("get http://models.test:8000/llm/v1/models http/1.1\r\n")
                && head.contains("\r\nhost: models.test:8000\r\n")
                && head.contains("\r\nproxy-authorization: basic bwu6c2vjcmv0\r\n"),
            "{head}"
        );
    }
    let gateway = start(&arguments, &[("HTTP_PROXY", &url), ("NO_PROXY", "models.test")]);
    assert!(get(&gateway.address, "/v1/models").starts_with("HTTP/1.1 502 "));
    // Servers of this machine are reached directly.
    let (local, direct) = http_proxy();
    let gateway = start(
        &[
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &format!("http://{local}"),
        ],
        &[("HTTP_PROXY", &url)],
    );
    get(&gateway.address, "/v1/models");
    assert!(direct.recv().unwrap().starts_with("get /v1/models http/1.1\r\n"));
    assert!(heads.try_recv().is_err());
    let output = command(&[&["serve"], &arguments[..]].concat())
        .env("HTTP_PROXY", "socks5://127.0.0.1:1")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("set HTTP_PROXY to a URL with the scheme `http`"),
        "{error}"
    );
}

#[test]
fn keys_go_up_in_the_header_of_the_setting() {
    let (server, heads) = https_server();
    for (auth, variables, expected) in [
        ("", &[("ANTHROPIC_API_KEY", "k")][..], "x-api-key: k\r\n"),
        (
            "",
            &[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "t")],
            "x-api-key: k\r\n",
        ),
        (
            "auth = \"bearer\"",
            &[("ANTHROPIC_API_KEY", "k")],
            "authorization: bearer k\r\n",
        ),
        (
            "auth = \"bearer\"",
            &[("ANTHROPIC_AUTH_TOKEN", "t")],
            "authorization: bearer t\r\n",
        ),
    ] {
        let directory = Directory::new();
        let port = server.port();
        let text =
            format!("listen = \"127.0.0.1:0\"\n[upstream]\nurl = \"https://localhost:{port}\"\n{auth}");
        let file = directory.file("gateway.toml", &text);
        let variables = [&[("SSL_CERT_FILE", PEM)], variables].concat();
        let gateway = start(&["--config", &file], &variables);
        get(&gateway.address, "/v1/models");
        let head = heads.recv().unwrap();
        assert!(head.contains(expected), "{auth} {variables:?}: {head}");
        let headers = head.matches("x-api-key").count() + head.matches("authorization").count();
        assert_eq!(headers, 1, "{head}");
    }
}

#[test]
fn routes_are_below_the_base_path_and_metrics_on_their_listener() {
    let directory = Directory::new();
    let file = directory.file(
        "gateway.toml",
        "listen = \"127.0.0.1:0\"\nbase_path = \"/llm/v2\"\nupstream.kind = \"script\"\nmetrics.listen = \"127.0.0.1:0\"\n",
    );
    let mut program = command(&["serve", "--config", &file]);
    let gateway = Serving::start(program.env("TOOL_GATEWAY_CLIENT_KEYS", "ada=k1"), "metrics: ");
    let metrics = gateway
        .started
        .lines()
        .find_map(|line| line.strip_prefix("metrics: http://"))
        .unwrap();
    let (address, base_path) = gateway.address.split_once('/').unwrap();
    assert_eq!(base_path, "llm/v2");
    for (path, status) in [
        ("/llm/v2/healthz", 200),
        ("/llm/v2", 200),
        ("/llm/v2/v1/tools", 401),
        ("/llm/v2/metrics", 401),
        ("/healthz", 404),
        ("/llm/v20/healthz", 404),
    ] {
        let answer = get(address, path);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{path}: {answer}"
        );
    }
    let (metrics, path) = metrics.split_once('/').unwrap();
    assert_eq!(path, "metrics");
    let answer = get(metrics, "/metrics");
    assert!(
        answer.contains("tool_gateway_requests_total{route=\"/healthz\",status=\"200\"} 1"),
        "{answer}"
    );
    assert!(get(metrics, "/v1/tools").starts_with("HTTP/1.1 404 "));
}
