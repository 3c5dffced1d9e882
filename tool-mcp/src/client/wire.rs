//! Messages between `rmcp` and a server: the pipes of its process, or HTTP. `rmcp` receives only what its types can
//! hold: results of calls and lists as raw JSON, and errors for messages that were dropped.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, ErrorCode, ErrorData, GetExtensions, GetMeta,
    JsonRpcMessage, NumberOrString, ServerResult,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
#[cfg(feature = "http")]
use tokio_util::sync::DropGuard;

use crate::adapt::era::{UNSUPPORTED_VERSION, discover_answer, initialize_answer};
use crate::adapt::lines::Line;
use crate::client::hooks::{Hooks, MessageKind};
use crate::client::outgoing::{INVALID, Outgoing, TOO_LARGE, Tracker};
use crate::client::pipe_reader::PipeReader;

/// Maximum number of messages that wait for the server to read them.
const QUEUE: usize = 256;
/// Maximum time from the end of standard output to the end of the process.
const EXIT_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of characters of an unknown method in the answer to its request.
const METHOD_CHARS: usize = 100;
/// Maximum number of bytes of the id of a request of the server. The answer repeats the id, so a long id would cost memory twice.
const ID_BYTES: usize = 1024;

/// Request whose answer is expected.
#[derive(Debug)]
struct Pending {
    kind: Kind,
    token: Option<Value>,
    tracker: Tracker,
    /// Cancels the exchange over HTTP when the answer is no longer expected.
    #[cfg(feature = "http")]
    _ended: DropGuard,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Discover,
    Initialize,
    Other,
}

/// Messages in both directions, and the end of the connection.
#[derive(Debug)]
pub(crate) struct Wire {
    outgoing: mpsc::Sender<Outgoing>,
    pending: Mutex<HashMap<i64, Pending>>,
    /// Id of the last request.
    last_id: AtomicI64,
    hooks: Hooks,
    /// Notified when the server's list of tools has changed.
    pub(crate) list_changed: Notify,
    /// Whether the server has answered a request.
    has_answered: AtomicBool,
    /// Whether the server has answered `initialize`.
    has_initialized: AtomicBool,
    /// Whether the server has refused `initialize`, which its revisions do not have.
    has_refused_initialize: AtomicBool,
    /// Whether the messages are sent over HTTP.
    is_http: AtomicBool,
    /// Whether the server has refused the credentials.
    is_unauthorized: AtomicBool,
    /// Cancelled at the end of standard output.
    pub(crate) output_end: CancellationToken,
    /// Cancelled at the end of the connection.
    pub(crate) end: CancellationToken,
    end_reason: Mutex<Option<String>>,
}

/// Parts of a wire that tasks own.
#[derive(Debug)]
pub(crate) struct WireEnds {
    pub(crate) transport: WireTransport,
    queue: mpsc::Receiver<Outgoing>,
    incoming: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
}

/// Parts of a wire that the task of a server over HTTP owns.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct HttpEnds {
    pub(crate) wire: Arc<Wire>,
    pub(crate) queue: mpsc::Receiver<Outgoing>,
    pub(crate) incoming: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
}

impl Wire {
    /// Creates a wire without pipes.
    pub(crate) fn new(hooks: Hooks) -> (Arc<Self>, WireEnds) {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let (incoming, received) = mpsc::channel(1);
        let wire = Arc::new(Self {
            outgoing,
            pending: Mutex::default(),
            last_id: AtomicI64::new(-1),
            hooks,
            list_changed: Notify::new(),
            has_answered: AtomicBool::new(false),
            has_initialized: AtomicBool::new(false),
            has_refused_initialize: AtomicBool::new(false),
            is_http: AtomicBool::new(false),
            is_unauthorized: AtomicBool::new(false),
            output_end: CancellationToken::new(),
            end: CancellationToken::new(),
            end_reason: Mutex::default(),
        });
        let transport = WireTransport {
            wire: Arc::clone(&wire),
            received,
        };
        let ends = WireEnds {
            transport,
            queue,
            incoming,
        };
        (wire, ends)
    }

    /// Ends the connection. The first reason counts.
    pub(crate) fn close(&self, reason: impl Into<String>) {
        let mut end_reason = self.end_reason.lock().unwrap_or_else(PoisonError::into_inner);
        end_reason.get_or_insert_with(|| reason.into());
        drop(end_reason);
        self.end.cancel();
    }

    /// Ends the connection to a server that refuses the credentials.
    #[cfg(feature = "http")]
    pub(crate) fn close_unauthorized(&self, reason: impl Into<String>) {
        self.is_unauthorized.store(true, Ordering::Relaxed);
        self.close(reason);
    }

    /// Returns whether the answer to a request is expected.
    #[cfg(feature = "http")]
    pub(crate) fn is_pending(&self, id: i64) -> bool {
        self.pending().contains_key(&id)
    }

    /// Returns the reason for the end of the connection.
    pub(crate) fn end_reason(&self) -> String {
        let reason = self.end_reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.clone().unwrap_or_else(|| "connection closed".to_owned())
    }

    /// Returns whether the server has answered a request.
    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// Returns whether the server has answered `initialize`.
    pub(crate) fn has_initialized(&self) -> bool {
        self.has_initialized.load(Ordering::Relaxed)
    }

    /// Returns whether the server has refused `initialize`, which its revisions do not have.
    pub(crate) fn has_refused_initialize(&self) -> bool {
        self.has_refused_initialize.load(Ordering::Relaxed)
    }

    /// Returns whether the server has refused the credentials.
    pub(crate) fn is_unauthorized(&self) -> bool {
        self.is_unauthorized.load(Ordering::Relaxed)
    }

    /// Returns whether the messages are sent over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.is_http.load(Ordering::Relaxed)
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<i64, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a message for the server.
    fn send(&self, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut outgoing = Outgoing::new(line);
        match message {
            JsonRpcMessage::Request(request) => {
                let NumberOrString::Number(id) = request.id else {
                    return Err(io::Error::other("expected a number as the id"));
                };
                outgoing.tracker = request.request.extensions().get::<Tracker>().cloned();
                let pending = self.expect(id, &request.request, outgoing.tracker.clone().unwrap_or_default());
                outgoing.set_request(id, &request.request, pending);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    if let Some(NumberOrString::Number(id)) = &cancelled.params.request_id {
                        self.pending().remove(id);
                    }
                    if self.is_http() && !self.has_initialized() {
                        // The end of the response's stream is the cancellation.
                        return Ok(());
                    }
                }
                #[cfg(feature = "http")]
                {
                    outgoing.is_initialized = matches!(
                        notification.notification,
                        ClientNotification::InitializedNotification(_)
                    );
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        let sent = self.outgoing.try_send(outgoing);
        sent.map_err(|_| io::Error::new(io::ErrorKind::WouldBlock, "the queue to the server is full"))
    }

    /// Notes that the server will answer a request. Returns a token that is cancelled when the answer is no longer expected.
    fn expect(&self, id: i64, request: &ClientRequest, tracker: Tracker) -> CancellationToken {
        let kind = match request {
            ClientRequest::DiscoverRequest(_) => Kind::Discover,
            ClientRequest::InitializeRequest(_) => Kind::Initialize,
            _ => Kind::Other,
        };
        let token = request.get_meta().get_progress_token();
        let token = token.map(|token| token.0.into_json_value());
        let ended = CancellationToken::new();
        self.last_id.fetch_max(id, Ordering::Relaxed);
        let mut pending = self.pending();
        if kind == Kind::Initialize {
            // A late answer to `server/discover` is not an answer to `initialize`.
            pending.clear();
        }
        let request = Pending {
            kind,
            token,
            tracker,
            #[cfg(feature = "http")]
            _ended: ended.clone().drop_guard(),
        };
        pending.insert(id, request);
        ended
    }

    /// Handles a message of the server. Returns the message for `rmcp`.
    pub(crate) fn receive(&self, message: Value, received: &mut Vec<RxJsonRpcMessage<RoleClient>>) {
        match message {
            Value::Array(batch) => {
                for message in batch {
                    // A batch in a batch is no message.
                    if let Value::Object(message) = message {
                        received.extend(self.receive_object(message));
                    }
                }
            }
            Value::Object(message) => received.extend(self.receive_object(message)),
            _ => self.hooks.observe(MessageKind::Invalid),
        }
    }

    fn receive_object(&self, message: Map<String, Value>) -> Option<RxJsonRpcMessage<RoleClient>> {
        match message.get("method").and_then(Value::as_str) {
            Some(method) => {
                match message.get("id") {
                    Some(id) if is_answerable(id) => self.answer(method, id),
                    Some(_) => {}
                    None => self.notify(method, message.get("params").unwrap_or(&Value::Null)),
                }
                None
            }
            None => self.receive_answer(message),
        }
    }

    /// Answers a request of the server. The client declares no capabilities, so only `ping` is expected.
    fn answer(&self, method: &str, id: &Value) {
        let answer = if method == "ping" {
            json!({ "jsonrpc": "2.0", "id": id, "result": {} })
        } else {
            let method: String = method.chars().take(METHOD_CHARS).collect();
            let error = json!({ "code": -32601, "message": format!("unknown method `{method}`") });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        };
        let line = format!("{answer}\n").into_bytes();
        // If the server does not read, it does not read the answer either.
        let _ = self.outgoing.try_send(Outgoing::answer(line));
    }

    fn notify(&self, method: &str, params: &Value) {
        match method {
            "notifications/tools/list_changed" => {
                self.hooks.observe(MessageKind::ListChanged);
                self.list_changed.notify_one();
            }
            "notifications/progress" => {
                let token = params.get("progressToken");
                let pending = self.pending();
                let pending = pending
                    .values()
                    .find(|pending| token.is_some() && pending.token.as_ref() == token);
                if let Some(pending) = pending {
                    pending.tracker.progress.send_replace(params.clone());
                }
            }
            _ => {}
        }
    }

    /// Returns an answer in the form for `rmcp`. Unknown, late and duplicate answers are dropped.
    fn receive_answer(&self, message: Map<String, Value>) -> Option<RxJsonRpcMessage<RoleClient>> {
        let id = message.get("id");
        let is_answer = message.contains_key("result") || message.contains_key("error");
        let Some(id) = id.filter(|_| is_answer) else {
            self.hooks.observe(MessageKind::Invalid);
            return None;
        };
        let Some((id, pending)) = self.take(id) else {
            self.hooks.observe(self.unexpected(id));
            return None;
        };
        self.has_answered.store(true, Ordering::Relaxed);
        let mut message = match pending.kind {
            Kind::Discover => discover_answer(message, self.is_http()),
            Kind::Initialize => {
                self.has_initialized.store(true, Ordering::Relaxed);
                let code = message.get("error").and_then(|error| error.get("code"));
                let is_refused = code.and_then(Value::as_i64) == Some(UNSUPPORTED_VERSION);
                self.has_refused_initialize.store(is_refused, Ordering::Relaxed);
                initialize_answer(message)
            }
            Kind::Other => message,
        };
        let id = NumberOrString::Number(id);
        if let Some(error) = message.remove("error") {
            return Some(JsonRpcMessage::error(error_data(&error), Some(id)));
        }
        let result = message.remove("result").unwrap_or_default();
        let result = match pending.kind {
            Kind::Other => ServerResult::CustomResult(CustomResult(result)),
            Kind::Discover | Kind::Initialize => serde_json::from_value(result).ok()?,
        };
        Some(JsonRpcMessage::response(result, id))
    }

    /// Returns the request that an answer belongs to.
    fn take(&self, id: &Value) -> Option<(i64, Pending)> {
        let id = number(id)?;
        let pending = self.pending().remove(&id)?;
        Some((id, pending))
    }

    /// Returns the kind of an answer without a request.
    fn unexpected(&self, id: &Value) -> MessageKind {
        let last = self.last_id.load(Ordering::Relaxed);
        match number(id) {
            Some(id) if (0..=last).contains(&id) => MessageKind::Late,
            _ => MessageKind::UnknownId,
        }
    }

    /// Returns an error in place of an answer that could not be read.
    pub(crate) fn fail(&self, id: &Value, error: ErrorData) -> Option<RxJsonRpcMessage<RoleClient>> {
        let (id, _) = self.take(id)?;
        Some(JsonRpcMessage::error(error, Some(NumberOrString::Number(id))))
    }

    /// Reads standard output up to its end, or the end of the connection.
    pub(crate) async fn read(
        self: Arc<Self>,
        mut stdout: impl AsyncRead + Unpin,
        incoming: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
        max_bytes: usize,
    ) {
        let (mut reader, mut received) = (PipeReader::new(max_bytes), Vec::new());
        loop {
            let count = tokio::select! {
                count = stdout.read(&mut reader.buffer) => count.unwrap_or(0),
                () = self.end.cancelled() => return,
            };
            if reader.is_long(count) {
                let decoded = spawn_blocking(move || reader.decoded(count)).await;
                match decoded {
                    Ok(decoded) => reader = decoded,
                    // The runtime ends.
                    Err(_) => return self.close("connection closed"),
                }
            } else {
                reader = reader.decoded(count);
            }
            for line in reader.lines.drain(..) {
                if let Err(reason) = self.receive_line(line, &mut received) {
                    return self.close(reason);
                }
            }
            for message in received.drain(..) {
                if incoming.send(message).await.is_err() {
                    return self.close("connection closed");
                }
            }
            if reader.is_flooded() {
                return self.close("wrote 1 MiB to standard output without a message");
            }
            if count == 0 {
                self.output_end.cancel();
                // The exit status of a server that has ended is a better reason.
                let _ = tokio::time::timeout(EXIT_DELAY, self.end.cancelled()).await;
                return self.close("closed standard output");
            }
        }
    }

    fn receive_line(
        &self,
        line: Line,
        received: &mut Vec<RxJsonRpcMessage<RoleClient>>,
    ) -> Result<(), &'static str> {
        match line {
            Line::Message(message) => self.receive(message, received),
            Line::Ignored => self.hooks.observe(MessageKind::Ignored),
            Line::Invalid { id } => {
                self.hooks.observe(MessageKind::Invalid);
                received.extend(self.fail(&id, INVALID.error("invalid JSON")));
            }
            Line::TooLarge { id, bytes } => {
                self.hooks.observe(MessageKind::Invalid);
                let id = id.ok_or("wrote a message above the limit, whose id is unknown")?;
                received.extend(self.fail(&id, TOO_LARGE.error(format!("{bytes} bytes"))));
            }
        }
        Ok(())
    }

    /// Writes the queue to standard input up to the end of the connection, then closes standard input. A server that takes no bytes
    /// for `limit` ends the connection.
    async fn write(
        self: Arc<Self>,
        mut stdin: impl AsyncWrite + Unpin,
        mut queue: mpsc::Receiver<Outgoing>,
        limit: Duration,
    ) {
        let writes = async {
            while let Some(message) = queue.recv().await {
                if let Some(tracker) = &message.tracker {
                    tracker.is_sent.store(true, Ordering::Relaxed);
                }
                let mut rest = message.line.as_slice();
                while !rest.is_empty() {
                    match tokio::time::timeout(limit, stdin.write(rest)).await {
                        Ok(Ok(count)) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
                        Ok(_) => return "closed standard input".to_owned(),
                        Err(_) => return format!("read no input for {} s", limit.as_secs()),
                    }
                }
                if stdin.flush().await.is_err() {
                    return "closed standard input".to_owned();
                }
            }
            "connection closed".to_owned()
        };
        tokio::select! {
            reason = writes => {
                // The output of a server that has ended may have the answers to earlier requests.
                if reason == "closed standard input" {
                    self.end.cancelled().await;
                }
                self.close(reason);
            }
            () = self.end.cancelled() => {}
        }
    }
}

impl WireEnds {
    /// Connects the pipes of a server, and returns the transport for `rmcp`.
    pub(crate) fn connect(
        self,
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        limits: WireLimits,
    ) -> WireTransport {
        let wire = &self.transport.wire;
        tokio::spawn(Arc::clone(wire).write(stdin, self.queue, limits.write));
        tokio::spawn(Arc::clone(wire).read(stdout, self.incoming, limits.message_bytes));
        self.transport
    }

    /// Returns the transport for `rmcp`, and the parts for a task that sends the messages over HTTP.
    #[cfg(feature = "http")]
    pub(crate) fn into_http(self) -> (WireTransport, HttpEnds) {
        let wire = Arc::clone(&self.transport.wire);
        wire.is_http.store(true, Ordering::Relaxed);
        let ends = HttpEnds {
            wire,
            queue: self.queue,
            incoming: self.incoming,
        };
        (self.transport, ends)
    }
}

/// Limits of the pipes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireLimits {
    /// Maximum time of a write.
    pub(crate) write: Duration,
    pub(crate) message_bytes: usize,
}

/// Returns whether the id of a request of the server can be repeated in an answer.
fn is_answerable(id: &Value) -> bool {
    id.is_number() || id.as_str().is_some_and(|id| id.len() <= ID_BYTES)
}

/// Returns the id of a request. Some servers return numbers as strings.
fn number(id: &Value) -> Option<i64> {
    id.as_i64().or_else(|| id.as_str()?.parse().ok())
}

/// Returns an error of the server. Its fields may have any form.
fn error_data(error: &Value) -> ErrorData {
    let code = error.get("code").and_then(Value::as_i64);
    let message = match error.get("message") {
        Some(Value::String(message)) => message.clone(),
        _ => error.to_string(),
    };
    let code = code.and_then(|code| i32::try_from(code).ok()).unwrap_or(-32603);
    ErrorData::new(ErrorCode(code), message, error.get("data").cloned())
}

/// Transport for `rmcp`.
#[derive(Debug)]
pub(crate) struct WireTransport {
    wire: Arc<Wire>,
    received: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

impl Transport<RoleClient> for WireTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        // Never waits: reading continues while the server does not read.
        std::future::ready(self.wire.send(&message))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.received.recv().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.wire.close("connection closed");
        Ok(())
    }
}

/// A dropped start ends the task of a server over HTTP. A process has its own end.
impl Drop for WireTransport {
    fn drop(&mut self) {
        if self.wire.is_http() {
            self.wire.close("connection closed");
        }
    }
}
