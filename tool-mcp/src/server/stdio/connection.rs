//! Connection to one client: its revision, its running calls and its subscriptions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tool_runtime::{CancellationToken, Context};

use crate::adapt::lines::Line;
use crate::server::admission::SubscriptionPermit;
use crate::server::call::PendingCall;
use crate::server::dispatch::{Caller, Reply, Subscription};
use crate::server::mcp_server::McpServer;
use crate::server::message::{
    Incoming, Notification, RejectedMessage, Request, RpcError, answer, notification,
};
use crate::server::stdio::threads::Output;

/// Connection to the client of a process.
#[derive(Debug)]
pub(crate) struct StdioConnection {
    server: McpServer,
    client: Caller,
    output: Output,
    /// Whether the client has sent `initialize`.
    is_legacy: bool,
    subscriptions: Vec<(Subscription, SubscriptionPermit)>,
    /// Number of calls that were started.
    started: u64,
    running: Arc<RunningCalls>,
    pub(crate) calls: JoinSet<()>,
}

/// Calls that have no answer yet.
#[derive(Debug, Default)]
struct RunningCalls(Mutex<Vec<RunningCall>>);

impl RunningCalls {
    fn lock(&self) -> MutexGuard<'_, Vec<RunningCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, number: u64) {
        self.lock().retain(|call| call.number != number);
    }
}

/// Call that has no answer yet. Two calls with one id are both answered.
#[derive(Debug)]
struct RunningCall {
    number: u64,
    id: Value,
    cancellation: CancellationToken,
}

impl StdioConnection {
    pub(crate) fn new(server: McpServer, output: Output, context: Context) -> Self {
        let principal: Arc<str> = "".into();
        Self {
            client: Caller {
                admission: server.admission(&principal),
                principal,
                context,
                is_notified: true,
                #[cfg(feature = "http")]
                body: None,
            },
            server,
            output,
            is_legacy: false,
            subscriptions: Vec::new(),
            started: 0,
            running: Arc::default(),
            calls: JoinSet::new(),
        }
    }

    /// Handles a line of the client.
    pub(crate) async fn receive(&mut self, line: Line) {
        let message = match line {
            Line::Message(message) => message,
            Line::Ignored => {
                return self
                    .reject_line(Value::Null, "invalid JSON; expected an object")
                    .await;
            }
            Line::Invalid { id } => return self.reject_line(id, "invalid JSON").await,
            Line::TooLarge { id, bytes } => {
                let text = format!("expected a message of at most 16 MiB, got {bytes} bytes");
                return self.reject_line(id.unwrap_or_default(), &text).await;
            }
        };
        match Incoming::from_value(message) {
            Ok(Incoming::Request(request)) => self.answer(request).await,
            Ok(Incoming::Notification(notification)) => self.notified(&notification),
            Ok(Incoming::Response) => {}
            Err(rejected) => {
                let RejectedMessage { id, error } = *rejected;
                self.output.send(&error.into_answer(id)).await;
            }
        }
    }

    async fn reject_line(&self, id: Value, text: &str) {
        let error = RpcError::new(RpcError::PARSE_ERROR, text);
        self.output.send(&error.into_answer(id)).await;
    }

    async fn answer(&mut self, request: Request) {
        let reply = self.reply(&request);
        let id = request.id;
        match reply {
            Ok(Reply::Result(result)) => self.output.send(&answer(id, result)).await,
            Ok(Reply::Call(call)) => self.start(id, *call),
            Ok(Reply::Listen { to_tools }) => {
                let Some(permit) = self.client.admission.subscribe() else {
                    let error = RpcError::too_many_subscriptions();
                    return self.output.send(&error.into_answer(id)).await;
                };
                let subscription = Subscription { id, to_tools };
                self.output.send(&subscription.acknowledgment()).await;
                self.subscriptions.push((subscription, permit));
            }
            Err(error) => self.output.send(&error.into_answer(id)).await,
        }
    }

    /// Returns the reply in the revision of the request: a revision in `_meta` counts, then whether the client has sent
    /// `initialize`. A probe and a ping are answered in any case.
    fn reply(&mut self, request: &Request) -> Result<Reply, RpcError> {
        self.is_legacy |= request.method == "initialize";
        let is_probe = matches!(request.method.as_str(), "server/discover" | "ping");
        if request.revision().is_none() && (self.is_legacy || is_probe) || request.method == "initialize" {
            self.server.legacy_reply(request, &self.client)
        } else {
            self.server.modern_reply(request, &self.client)
        }
    }

    fn start(&mut self, id: Value, call: PendingCall) {
        let (number, cancellation) = (self.started, CancellationToken::new());
        self.started += 1;
        self.running.lock().push(RunningCall {
            number,
            id: id.clone(),
            cancellation: cancellation.clone(),
        });
        let (server, output, running) = (
            self.server.clone(),
            self.output.clone(),
            Arc::clone(&self.running),
        );
        let is_modern = call.is_modern;
        self.calls.spawn(async move {
            let progress = output.clone();
            let result = call
                .run(cancellation, move |notification| progress.try_send(&notification))
                .await;
            running.remove(number);
            if let Some(result) = result {
                let result = if is_modern {
                    server.complete(result)
                } else {
                    result
                };
                output.send(&answer(id, result)).await;
            }
        });
    }

    fn notified(&mut self, notification: &Notification) {
        if notification.method == "notifications/cancelled"
            && let Some(id) = notification.params.get("requestId")
        {
            self.subscriptions
                .retain(|(subscription, _)| subscription.id != *id);
            let running = self.running.lock();
            for call in running.iter().filter(|call| call.id == *id) {
                call.cancellation.cancel();
            }
        }
    }

    /// Notifies the client of changed tools.
    pub(crate) async fn notify_of_change(&self) {
        if self.is_legacy {
            let change = notification("notifications/tools/list_changed", Map::new());
            self.output.send(&change).await;
        }
        for (subscription, _) in &self.subscriptions {
            if let Some(change) = subscription.change() {
                self.output.send(&change).await;
            }
        }
    }

    /// Ends the subscriptions, since the server ends.
    pub(crate) async fn end_subscriptions(&mut self) {
        for (subscription, _) in self.subscriptions.drain(..) {
            let result = self.server.complete(subscription.end());
            self.output.send(&answer(subscription.id, result)).await;
        }
    }

    /// Cancels all calls. They are not answered.
    pub(crate) fn cancel(&self) {
        let running = self.running.lock();
        for call in running.iter() {
            call.cancellation.cancel();
        }
    }
}
