//! Task of a server over HTTP: sends the queue.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::http_wire::HttpWire;
use super::session::Session;
use crate::client::url_settings::UrlSettings;
use crate::client::wire::{WireEnds, WireTransport};

/// Maximum time in which requests wait for the stream of messages that belong to no request.
const OPENING: Duration = Duration::from_secs(1);
/// Maximum number of answers to requests of the server that are being sent. The server gets no more answers meanwhile, so that a flood of
/// requests costs nothing.
const ANSWERS: usize = 16;

/// Sends the messages of a wire to a URL. Returns the transport for `rmcp`, and the task, which ends after the connection.
pub(crate) fn connect(
    ends: WireEnds,
    url: Arc<UrlSettings>,
    message_bytes: usize,
) -> (WireTransport, JoinHandle<()>) {
    let (transport, ends) = ends.into_http();
    let http = Arc::new(HttpWire {
        wire: ends.wire,
        url,
        incoming: ends.incoming,
        session: Session::default(),
        renewal: tokio::sync::Mutex::default(),
        message_bytes,
    });
    let mut queue = ends.queue;
    let answers = Arc::new(Semaphore::new(ANSWERS));
    let task = tokio::spawn(async move {
        loop {
            let outgoing = tokio::select! {
                outgoing = queue.recv() => outgoing,
                () = http.wire.end.cancelled() => break,
            };
            let Some(mut outgoing) = outgoing else { break };
            let task = Arc::clone(&http);
            if let Some(request) = outgoing.request.take() {
                tokio::spawn(task.request(outgoing, request));
            } else if outgoing.is_initialized {
                // The session begins with this message; requests must not overtake it.
                task.notify(outgoing.line).await;
                let opened = CancellationToken::new();
                tokio::spawn(task.listen(opened.clone()));
                // A server may ask the client for something during the first call, and only in this stream.
                let _ = timeout(OPENING, opened.cancelled()).await;
            } else if outgoing.is_answer {
                let Ok(permit) = Arc::clone(&answers).try_acquire_owned() else {
                    tracing::debug!(
                        "a request of an MCP server has no answer, since too many answers are being sent"
                    );
                    continue;
                };
                tokio::spawn(async move {
                    task.notify(outgoing.line).await;
                    drop(permit);
                });
            } else {
                tokio::spawn(async move { task.notify(outgoing.line).await });
            }
        }
        http.end_session().await;
    });
    (transport, task)
}
