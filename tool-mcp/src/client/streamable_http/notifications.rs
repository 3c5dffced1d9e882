//! Messages without an answer, and the stream in which a server with `initialize` announces changes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::body::media_type;
use super::event_stream::EventStream;
use super::http_wire::{EVENT_STREAM, HttpWire, LAST_EVENT_ID};
use crate::client::backoff::Backoff;

/// Maximum time of a request whose response has no message.
const LIMIT: Duration = Duration::from_secs(10);
/// Maximum time for the end of the session.
const END: Duration = Duration::from_secs(2);

impl HttpWire {
    /// Posts a notification or an answer. A server that refuses the message loses it.
    pub(super) async fn notify(&self, line: Vec<u8>) {
        let mut headers = self.session_headers();
        if !self.wire.has_initialized() {
            headers.clear();
        }
        if let Ok(Err(failure)) = timeout(LIMIT, self.post(Bytes::from(line), headers)).await {
            tracing::debug!(?failure, "a message for an MCP server was not sent");
        }
    }

    /// Receives the messages that belong to no request, until the server has no such stream or the connection ends. A server may send its
    /// requests here, too, and waits for their answers. `opened` is cancelled after the first response.
    pub(super) async fn listen(self: Arc<Self>, opened: CancellationToken) {
        let listen = async {
            let mut backoff = Backoff::default();
            let mut last_id = None;
            loop {
                let start = Instant::now();
                let mut headers = self.session_headers();
                if let Some(id) = last_id.take() {
                    headers.insert(LAST_EVENT_ID, id);
                }
                let response = self.get(headers).await;
                opened.cancel();
                match response {
                    Ok(response) if media_type(response.headers()) == EVENT_STREAM => {
                        let mut stream = EventStream::new(response.into_body(), self.message_bytes);
                        while let Ok(Some(message)) = stream.next().await {
                            let mut messages = Vec::new();
                            self.wire.receive(message, &mut messages);
                            for message in messages {
                                let _ = self.incoming.send(message).await;
                            }
                        }
                        last_id = stream.last_id.take();
                        if last_id.is_none() {
                            // Changes in between were not announced.
                            self.wire.list_changed.notify_one();
                        }
                    }
                    // A session that the server has forgotten begins again with the next request.
                    Ok(response) if response.status() != StatusCode::NOT_FOUND => return,
                    Ok(_) | Err(_) => {}
                }
                sleep(backoff.next(start.elapsed())).await;
            }
        };
        tokio::select! {
            () = listen => {}
            () = self.wire.end.cancelled() => {}
        }
    }

    /// Ends the session at the server.
    pub(super) async fn end_session(&self) {
        if self.session.has_id() {
            let request = self.send(Method::DELETE, self.session_headers(), Bytes::new());
            let _ = timeout(END, request).await;
        }
    }
}
