//! Clients that do not read, in front of the program, row by row as `docs/faults.md` has them.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::fault_rows::row;
use crate::faults::{START, chat};

/// The program with a timeout of a second for clients.
struct Program {
    address: SocketAddr,
    process: Child,
    /// Kept open for the log.
    _log: BufReader<ChildStderr>,
}

impl Program {
    fn start(upstream: SocketAddr) -> Self {
        let file = std::env::temp_dir().join(format!("tool-gateway-idle-{}.toml", std::process::id()));
        std::fs::write(&file, "[limits]\nclient_idle_seconds = 1").unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_tool-gateway"))
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file)
            .args(["--upstream", &format!("http://{upstream}")])
            .env_clear()
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
            _log: log,
        }
    }

    async fn metrics(&self) -> String {
        let mut client = TcpStream::connect(self.address).await.unwrap();
        let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        client.write_all(request.as_bytes()).await.unwrap();
        let mut metrics = String::new();
        client.read_to_string(&mut metrics).await.unwrap();
        metrics
    }
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
