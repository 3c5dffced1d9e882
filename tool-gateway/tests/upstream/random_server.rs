//! A server with random answers in all forms of HTTP/1.1.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tool_gateway::upstream::AnthropicUpstream;

use crate::random::Random;

/// Header with the number of a request and its response.
pub(crate) const ID: &str = "x-id";

/// Behaviours of the server.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Manners {
    /// Only valid responses. Every request is answered.
    Correct,
    /// Also cuts off responses, closes connections without notice, and sends additional bytes.
    Faulty,
}

/// Returns the response to a request, which is equal in each call.
struct Plan {
    random: Random,
    is_early: bool,
    end: End,
    wire: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Keep,
    Close,
    CloseUnannounced,
    BreakOff,
    Surplus,
}

impl Plan {
    fn new(id: usize, manners: Manners) -> Self {
        let mut random = Random::new(id as u64);
        let is_faulty = manners == Manners::Faulty && random.one_in(4);
        let until_close = !is_empty(id) && random.one_in(8);
        let end = match is_faulty {
            _ if until_close => End::Close,
            true => *random.pick(&[End::CloseUnannounced, End::BreakOff, End::Surplus]),
            false if random.one_in(6) => End::Close,
            false => End::Keep,
        };
        let is_early = random.one_in(8);
        let wire = wire(id, end, until_close, &mut random);
        Self {
            random,
            is_early,
            end,
            wire,
        }
    }

    /// Writes the response in pieces.
    async fn answer(&mut self, connection: &mut TcpStream) -> io::Result<()> {
        let mut wire = &self.wire[..];
        if self.end == End::BreakOff {
            wire = &wire[..self.random.below(wire.len())];
        }
        let largest = *self.random.pick(&[10, 1000, 100_000]);
        let mut pauses = 20;
        while !wire.is_empty() {
            let length = (1 + self.random.below(largest)).min(wire.len());
            // Small pieces of a large response would take too long.
            let length = if pauses == 0 { wire.len() } else { length };
            let piece = wire.split_off(..length).unwrap();
            connection.write_all(piece).await?;
            pauses -= usize::from(pauses > 0);
            match self.random.below(4) {
                0 => sleep(Duration::from_millis(1)).await,
                1 => tokio::task::yield_now().await,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Serializes a response, with every way to mark its end.
fn wire(id: usize, end: End, until_close: bool, random: &mut Random) -> Vec<u8> {
    let payload = payload(id);
    let mut wire = String::new();
    for _ in 0..random.below(8).saturating_sub(5) {
        wire += *random.pick(&[
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n",
        ]);
    }
    let is_old = random.one_in(6);
    wire += if is_old { "HTTP/1.0 " } else { "HTTP/1.1 " };
    wire += if is_empty(id) { "204 No Content" } else { "200 OK" };
    wire += "\r\ncontent-type: text/event-stream\r\n";
    wire.extend([ID, ": ", &id.to_string(), "\r\n"]);
    if end == End::Close && (!until_close || random.one_in(2)) {
        wire += "connection: close\r\n";
    } else if is_old && end != End::Close {
        wire += "connection: keep-alive\r\n";
    }
    if until_close || is_empty(id) && random.one_in(2) {
        wire.extend(["\r\n", &payload]);
    } else if is_old || is_empty(id) || random.one_in(2) {
        let length = payload.len().to_string();
        wire.extend(["content-length: ", &length, "\r\n\r\n", &payload]);
    } else {
        wire += "transfer-encoding: chunked\r\n\r\n";
        let largest = *random.pick(&[50, 5000, 500_000]);
        let mut rest = &payload[..];
        while !rest.is_empty() {
            let (chunk, others) = rest.split_at((1 + random.below(largest)).min(rest.len()));
            wire.extend([&format!("{:x}", chunk.len()), "\r\n", chunk, "\r\n"]);
            rest = others;
        }
        wire += *random.pick(&["0\r\n\r\n", "0\r\nx-sum: 1\r\n\r\n"]);
    }
    if end == End::Surplus {
        wire += *random.pick(&["x", "\r\n"]);
    }
    wire.into_bytes()
}

fn is_empty(id: usize) -> bool {
    id.is_multiple_of(8)
}

/// Builds the stream of a message whose text is the request's.
pub(crate) fn payload(id: usize) -> String {
    if is_empty(id) {
        return String::new();
    }
    let times = [1, 3, 30, 600][id / 8 % 4];
    let event =
        |data: serde_json::Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    let start = json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
    [
        event(json!({ "type": "message_start", "message": start })),
        event(json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } })),
        event(json!({
            "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": format!("{id} ") },
        }))
        .repeat(times),
        event(json!({ "type": "content_block_stop", "index": 0 })),
        event(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 2 } })),
        event(json!({ "type": "message_stop" })),
    ]
    .concat()
}

/// A server with records of its requests.
pub(crate) struct Server {
    address: SocketAddr,
    manners: Manners,
    received: Mutex<HashMap<usize, usize>>,
    open: AtomicUsize,
}

impl Server {
    pub(crate) async fn start(manners: Manners) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            manners,
            received: Mutex::default(),
            open: AtomicUsize::new(0),
        });
        let accepting = Arc::clone(&server);
        tokio::spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                connection.set_nodelay(true).unwrap();
                let server = Arc::clone(&accepting);
                server.open.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    // A client may disconnect at any time.
                    let _ = server.serve(connection).await;
                    server.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    pub(crate) fn upstream(&self) -> AnthropicUpstream {
        AnthropicUpstream::new(&format!("http://{}", self.address), None).unwrap()
    }

    /// A request on a connection that the server closes is repeated once, on a new connection.
    pub(crate) fn check_each_was_sent_once_or_repeated(&self) {
        let received = self.received.lock().unwrap();
        let again: Vec<_> = received.iter().filter(|(_, times)| **times > 2).collect();
        assert!(again.is_empty(), "{again:?}");
    }

    pub(crate) async fn check_connections_are_closed(&self) {
        for _ in 0..500 {
            if self.open.load(Ordering::SeqCst) == 0 {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("{} connections are open", self.open.load(Ordering::SeqCst));
    }

    async fn serve(&self, mut connection: TcpStream) -> io::Result<()> {
        let mut received = Vec::new();
        loop {
            let head_length = loop {
                if let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                    break end + 4;
                }
                if connection.read_buf(&mut received).await? == 0 {
                    return Ok(());
                }
            };
            let head = String::from_utf8(received.drain(..head_length).collect()).unwrap();
            let number = |name: &str| {
                let mut lines = head.lines().filter_map(|line| line.split_once(": "));
                let (_, value) = lines.find(|(other, _)| *other == name).unwrap();
                value.parse::<usize>().unwrap()
            };
            let (id, length) = (number(ID), number("content-length"));
            *self.received.lock().unwrap().entry(id).or_default() += 1;
            let mut plan = Plan::new(id, self.manners);
            if !plan.is_early {
                read_body(&mut connection, &mut received, length).await?;
            }
            plan.answer(&mut connection).await?;
            if matches!(plan.end, End::BreakOff | End::CloseUnannounced) {
                return Ok(());
            }
            if plan.end == End::Close {
                connection.shutdown().await?;
            }
            if plan.is_early {
                read_body(&mut connection, &mut received, length).await?;
            }
            if plan.end == End::Close {
                let rest = connection.read_buf(&mut received).await;
                assert_eq!(
                    (received.len(), rest.unwrap_or_default()),
                    (0, 0),
                    "after the last response"
                );
                return Ok(());
            }
            if self.manners == Manners::Faulty && plan.random.one_in(4) {
                let idle = Duration::from_millis(plan.random.below(4) as u64);
                let read = timeout(idle, connection.read_buf(&mut received)).await;
                if !matches!(read, Ok(Ok(1..))) {
                    return Ok(());
                }
            }
        }
    }
}

/// Reads a body. The next request may follow a body whose request is answered early.
async fn read_body(connection: &mut TcpStream, received: &mut Vec<u8>, length: usize) -> io::Result<()> {
    while received.len() < length {
        if connection.read_buf(received).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    received.drain(..length);
    Ok(())
}
