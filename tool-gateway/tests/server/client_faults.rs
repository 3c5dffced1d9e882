//! Faults of connections that only the program has, row by row as `docs/faults.md` has them: clients that do not read, requests that another
//! server might read differently, and a proxy in front of the upstream.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::fault_rows::row;
use crate::faults::{START, chat};
use crate::reply::Reply;

/// The program with a timeout of a second for clients.
pub(crate) struct Program {
    pub(crate) address: SocketAddr,
    process: Child,
    /// Kept open for the log.
    #[cfg_attr(
        not(all(unix, feature = "redis")),
        allow(dead_code, reason = "read in tests of Redis")
    )]
    pub(crate) log: BufReader<ChildStderr>,
}

impl Program {
    fn start(upstream: SocketAddr) -> Self {
        Self::start_with(&format!("http://{upstream}"), &[])
    }

    /// Starts the program with these variables of the environment alone.
    fn start_with(upstream: &str, variables: &[(&str, &str)]) -> Self {
        Self::start_configured("[limits]\nclient_idle_seconds = 1", upstream, variables)
    }

    /// Starts the program with a configuration.
    pub(crate) fn start_configured(configuration: &str, upstream: &str, variables: &[(&str, &str)]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = format!("tool-gateway-idle-{}-{number}.toml", std::process::id());
        let file = std::env::temp_dir().join(file);
        std::fs::write(&file, configuration).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_tool-gateway"))
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file)
            .args(["--upstream", upstream])
            .env_clear()
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut started = String::new();
        log.read_line(&mut started).unwrap();
        std::fs::remove_file(file).unwrap();
        let address = started.trim_end().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{started}")).parse().unwrap();
        Self {
            address,
            process,
            log,
        }
    }

    async fn metrics(&self) -> String {
        self.send("GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .await
    }

    /// Sends this text on a connection, and returns everything that the program sends until it closes the connection.
    pub(crate) async fn send(&self, text: &str) -> String {
        let mut client = TcpStream::connect(self.address).await.unwrap();
        client.write_all(text.as_bytes()).await.unwrap();
        let mut received = String::new();
        client.read_to_string(&mut received).await.unwrap();
        received
    }
}

/// Reads the only response in the text of a connection.
pub(crate) async fn reply(received: &str) -> Reply {
    assert_eq!(received.matches("HTTP/1.1 ").count(), 1, "{received}");
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    let status: u16 = head["HTTP/1.1 ".len()..][..3].parse().unwrap();
    let mut response = Response::builder().status(status);
    if let Some((_, after)) = head.split_once("retry-after: ") {
        response = response.header("retry-after", after.lines().next().unwrap());
    }
    Reply::read(response.body(Body::from(body.to_owned())).unwrap()).await
}

impl Drop for Program {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Number of pieces of a text, each with 64 KiB: more than the buffers of all sockets hold.
const PIECES: usize = 512;

#[tokio::test]
async fn client_reads_nothing_of_its_answer() {
    let row = row("client_reads_nothing_of_its_answer");
    row.client_sees_no_error();
    // An answer that passes, and a turn of the gateway.
    for tools in [json!([]), json!([{ "name": "TodoWrite" }])] {
        let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let program = Program::start(upstream.local_addr().unwrap());
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut client = socket.connect(program.address).await.unwrap();
        let mut chat = chat(true, "go");
        chat.body["tools"] = tools;
        let body = chat.body.to_string();
        let length = body.len();
        let request = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        client.write_all(request.as_bytes()).await.unwrap();

        let (mut asked, _) = upstream.accept().await.unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{START}");
        asked.write_all(head.as_bytes()).await.unwrap();
        client.read_exact(&mut [0; 12]).await.unwrap();
        let (mut received, mut sent) = asked.split();
        let answer = async {
            let piece = "x".repeat(64 << 10);
            let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": piece } });
            let start =
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
            let mut event = format!("event: content_block_start\ndata: {start}\n\n");
            for _ in 0..PIECES {
                // The gateway may already have closed the connection.
                if sent.write_all(event.as_bytes()).await.is_err() {
                    return;
                }
                event = format!("event: content_block_delta\ndata: {delta}\n\n");
            }
        };
        let closed = async { while received.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {} };
        let both = async { tokio::join!(answer, closed) };
        let both = tokio::time::timeout(Duration::from_secs(60), both).await;
        assert!(both.is_ok(), "the request to the upstream is cancelled");
        while !row.is_counted(&program.metrics().await) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        drop(client);
    }
}

/// A proxy in front of the gateway may find another end of such a request, and read the rest as a further request.
#[tokio::test]
async fn request_has_another_transfer_encoding() {
    let row = row("request_has_another_transfer_encoding");
    let program = Program::start(SocketAddr::from(([127, 0, 0, 1], 9)));
    let request = |encoding: &str| {
        let next = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        format!(
            "GET /v1/tools HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: {encoding}\r\n\r\n0\r\n\r\n{next}"
        )
    };
    for (number, encoding) in [
        "identity\r\ntransfer-encoding: chunked",
        "chunked\r\ntransfer-encoding: chunked",
        "chunked, chunked",
        "gzip, chunked",
    ]
    .into_iter()
    .enumerate()
    {
        let received = program.send(&request(encoding)).await;
        row.client_sees(&reply(&received).await);
        assert!(
            received.to_lowercase().contains("\r\nconnection: close\r\n"),
            "{received}"
        );
        assert!(number > 0 || row.is_counted(&program.metrics().await));
    }
    // The encoding in other letters is valid, and the connection is kept.
    let both = request("Chunked").replace(
        "GET /healthz HTTP/1.1",
        "GET /healthz HTTP/1.1\r\nconnection: close",
    );
    let received = program.send(&both).await;
    assert_eq!(received.matches("HTTP/1.1 200 OK").count(), 2, "{received}");
}

/// Without a limit, such a connection would stay open for ever.
#[tokio::test]
async fn head_takes_too_long() {
    let row = row("head_takes_too_long");
    let program = Program::start(SocketAddr::from(([127, 0, 0, 1], 9)));
    assert_eq!(program.send("GET /v1/tools HTTP/1.1\r\nhost: local").await, "");
    row.client_sees_no_error();
    assert!(row.is_counted(&program.metrics().await));
}

#[tokio::test]
async fn request_has_no_host() {
    let row = row("request_has_no_host");
    let program = Program::start(SocketAddr::from(([127, 0, 0, 1], 9)));
    for target in ["/v1/tools", "http://localhost/v1/tools"] {
        let request = format!("GET {target} HTTP/1.1\r\nconnection: close\r\n\r\n");
        row.client_sees(&reply(&program.send(&request).await).await);
    }
    // Requests of HTTP/1.0 need no host.
    let received = program.send("GET /v1/tools HTTP/1.0\r\n\r\n").await;
    assert!(received.contains(" 200 OK\r\n"), "{received}");
}

/// The response of a proxy is not in the API's form, and would ask clients for credentials that belong to the operator.
#[tokio::test]
async fn proxy_refuses_the_request() {
    let row = row("proxy_refuses_the_request");
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let variable = format!("http://me:secret@{}", proxy.local_addr().unwrap());
    let program = Program::start_with("http://upstream.example", &[("HTTP_PROXY", &variable)]);
    let proxy = tokio::spawn(async move {
        let (mut asked, _) = proxy.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(asked.read_u8().await.unwrap());
        }
        let answer = "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 5\r\n\r\nlogin";
        asked.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(head).unwrap()
    });
    let request = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let received = program.send(request).await;
    row.client_sees(&reply(&received).await);
    assert!(row.is_counted(&program.metrics().await));
    let head = proxy.await.unwrap();
    assert!(
        head.starts_with("GET http://upstream.example/v1/models HTTP/1.1\r\n"),
        "{head}"
    );
}
