//! Load generator: sends requests in sequence on each connection, from one thread.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::answer::Request;
use crate::http1::Connection;
use crate::samples::Samples;

/// Open connections to one contestant.
pub struct Clients(Vec<Connection>);

/// End of a load.
#[derive(Clone, Copy)]
pub enum Until {
    Elapsed(Duration),
    /// After this many requests on all connections together.
    Sent(u64),
}

/// Result of a load.
pub struct Loaded {
    pub requests: u64,
    pub elapsed: Duration,
    /// Latency of each request in microseconds.
    pub latencies: Samples,
}

impl Loaded {
    pub fn rate(&self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64()
    }
}

/// Returns the number of this process's next request.
static NUMBER: AtomicU64 = AtomicU64::new(1);

impl Clients {
    pub async fn open(address: SocketAddr, connections: usize) -> Self {
        let mut open = Vec::new();
        for _ in 0..connections {
            open.push(
                Connection::open(address)
                    .await
                    .expect("a contestant that listens"),
            );
        }
        Self(open)
    }

    /// Sends requests; the connections take turns.
    pub async fn run(&mut self, requests: &[Request], until: Until) -> Loaded {
        let begin = Instant::now();
        let requests: Arc<[Request]> = requests.into();
        let sent = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for mut connection in self.0.drain(..) {
            let (requests, sent) = (Arc::clone(&requests), Arc::clone(&sent));
            tasks.spawn(async move {
                let mut request = requests[0].clone();
                let mut latencies = Vec::new();
                loop {
                    let turn = sent.fetch_add(1, Ordering::Relaxed);
                    let is_over = match until {
                        Until::Elapsed(time) => begin.elapsed() >= time,
                        Until::Sent(all) => turn >= all,
                    };
                    if is_over {
                        return (connection, latencies);
                    }
                    if requests.len() > 1 {
                        request.clone_from(&requests[turn as usize % requests.len()]);
                    }
                    let start = Instant::now();
                    exchange(&mut connection, &mut request).await;
                    latencies.push(start.elapsed().as_secs_f64() * 1e6);
                }
            });
        }
        let mut latencies = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            let (connection, of_connection) = ended.expect("a task without panic");
            self.0.push(connection);
            latencies.extend(of_connection);
        }
        Loaded {
            requests: latencies.len() as u64,
            elapsed: begin.elapsed(),
            latencies: latencies.into_iter().collect(),
        }
    }
}

/// Sends a request and reads its response, which must be a success. Returns whether the gateway knew the session.
pub async fn exchange(connection: &mut Connection, request: &mut Request) -> Option<String> {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    connection
        .write(request.numbered(number))
        .await
        .expect("an open connection");
    let head = connection
        .read()
        .await
        .expect("a whole response")
        .expect("a response");
    let body = || String::from_utf8_lossy(&connection.body);
    assert_eq!(head.target(), "200", "{}", body());
    let session = head.field("x-tool-gateway-session")?;
    Some(session.split_once("found=")?.1.to_owned())
}
