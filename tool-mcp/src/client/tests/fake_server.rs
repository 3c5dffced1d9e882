//! Server in this process, which a test drives message by message.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};

use crate::client::connection::Connection;
use crate::client::hooks::Hooks;
use crate::client::settings::Protocol;
use crate::client::wire::{Wire, WireLimits, WireTransport};

/// Other end of the pipes of a client.
pub(super) struct FakeServer {
    input: Lines<BufReader<DuplexStream>>,
    output: DuplexStream,
}

impl FakeServer {
    /// Creates a server whose pipes hold `bytes` bytes.
    pub(super) fn new(bytes: usize) -> (Self, Arc<Wire>, WireTransport) {
        let (stdin, input) = duplex(bytes);
        let (output, stdout) = duplex(1 << 20);
        let (wire, ends) = Wire::new(Hooks::default());
        let limits = WireLimits {
            write: Duration::from_secs(60),
            message_bytes: 1 << 20,
        };
        let transport = ends.connect(stdin, stdout, limits);
        let server = Self {
            input: BufReader::new(input).lines(),
            output,
        };
        (server, wire, transport)
    }

    /// Creates a server with a connection in revision 2025-11-25.
    pub(super) async fn connected(bytes: usize) -> (Self, Arc<Connection>) {
        let (mut server, wire, transport) = Self::new(bytes);
        let open = Connection::open(wire, transport, Protocol::Legacy);
        let (connection, ()) = tokio::join!(open, server.initialize());
        (server, Arc::new(connection.unwrap()))
    }

    /// Answers `initialize`.
    pub(super) async fn initialize(&mut self) {
        let request = self.receive().await;
        assert_eq!(request["method"], "initialize");
        let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {} });
        self.answer(&request, result).await;
        assert_eq!(self.receive().await["method"], "notifications/initialized");
    }

    /// Returns the next message of the client.
    pub(super) async fn receive(&mut self) -> Value {
        serde_json::from_str(&self.input.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Answers a request of the client.
    pub(super) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
            .await;
    }

    /// Closes standard output.
    pub(super) async fn close_output(&mut self) {
        self.output.shutdown().await.unwrap();
    }

    pub(super) async fn send(&mut self, message: Value) {
        self.output
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }
}
