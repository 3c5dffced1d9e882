//! Calls and subscriptions, which run in tasks, as bodies of responses.

use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tool_runtime::CancellationToken;

use crate::server::admission::SubscriptionPermit;
use crate::server::call::PendingCall;
use crate::server::dispatch::Subscription;
use crate::server::http::body::{CancelOnDrop, McpBody, event};
use crate::server::mcp_server::McpServer;
use crate::server::message::answer;

/// Maximum number of events that wait for a client.
const QUEUE: usize = 64;

impl McpServer {
    /// Runs a call, and returns its result.
    pub(crate) async fn run_call(&self, call: PendingCall) -> Option<Map<String, Value>> {
        let (is_modern, guard) = (call.is_modern, guard_of(&call));
        let cancellation = CancellationToken::new();
        let _guard = CancelOnDrop(guard.then(|| cancellation.clone()));
        let (sender, result) = oneshot::channel();
        // A call that may have effects continues without its client.
        tokio::spawn(async move {
            let result = call.run(cancellation, |_| {}).await;
            // The client may have gone.
            let _ = sender.send(result);
        });
        let result = result.await.ok().flatten()?;
        Some(if is_modern { self.complete(result) } else { result })
    }

    /// Starts a call, and returns its progress and its result as events.
    pub(crate) fn stream_call(&self, id: Value, call: PendingCall) -> McpBody {
        let (is_modern, guard) = (call.is_modern, guard_of(&call));
        let cancellation = CancellationToken::new();
        let guard = CancelOnDrop(guard.then(|| cancellation.clone()));
        let (sender, events) = mpsc::channel(QUEUE);
        let server = self.clone();
        tokio::spawn(async move {
            let progress = sender.clone();
            let result = call
                .run(cancellation, move |notification| {
                    // A client that does not read misses progress.
                    let _ = progress.try_send(event(&notification));
                })
                .await;
            if let Some(result) = result {
                let result = if is_modern {
                    server.complete(result)
                } else {
                    result
                };
                let _ = sender.send(event(&answer(id, result))).await;
            }
        });
        McpBody::events(events, guard)
    }

    /// Returns the events of a subscription, which ends with the server or its client.
    pub(crate) fn stream_subscription(
        &self,
        subscription: Subscription,
        permit: SubscriptionPermit,
    ) -> McpBody {
        let (sender, events) = mpsc::channel::<Bytes>(QUEUE);
        let mut changes = self.shared.digest.subscribe();
        let server = self.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let _ = sender.send(event(&subscription.acknowledgment())).await;
            loop {
                tokio::select! {
                    Ok(()) = changes.changed() => {
                        if let Some(change) = subscription.change() {
                            let _ = sender.send(event(&change)).await;
                        }
                    }
                    () = sender.closed() => return,
                    () = server.shared.closing.cancelled() => break,
                }
            }
            let result = server.complete(subscription.end());
            let _ = sender.send(event(&answer(subscription.id, result))).await;
        });
        McpBody::events(events, CancelOnDrop(None))
    }
}

/// Returns whether a call ends with its client: always without a handshake. Older clients may read the answer on another connection, so
/// their calls end only if these can be repeated.
fn guard_of(call: &PendingCall) -> bool {
    call.is_modern || call.is_repeatable
}
