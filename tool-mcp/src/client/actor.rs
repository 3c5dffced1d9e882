//! Actor of a server: starts its process or connects to its URL, lists its tools, restarts and stops it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, SubscriptionFilter, SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use rmcp::service::ServiceError;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::adapt::fault::Fault;
use crate::adapt::listing::{Listing, ListingRules};
use crate::adapt::revisions::MODERN;
use crate::client::backend::Backend;
use crate::client::backoff::Backoff;
use crate::client::connection::Connection;
use crate::client::list::list;
use crate::client::outgoing::{LocalCode, Tracker};
use crate::client::settings::{Endpoint, Protocol, Settings};
use crate::client::wire::Wire;

/// Maximum time that a call waits for a server that is starting.
const START_WAIT: Duration = Duration::from_secs(5);
/// Time for output that is still in the pipe when the process has ended.
const DRAIN: Duration = Duration::from_millis(250);
/// Shortest and longest time for which a list is fresh, whatever the server writes.
const MIN_TTL: Duration = Duration::from_secs(60);
const MAX_TTL: Duration = Duration::from_secs(24 * 3600);
/// Time from a change of the list to its refresh: changes come in groups.
const REFRESH_DELAY: Duration = Duration::from_secs(1);
/// Shortest time between two refreshes.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);

/// State of a server.
#[derive(Debug, Clone)]
pub(crate) enum State {
    /// The server starts, at first or after a failure.
    Starting(Option<Failure>),
    Ready(Arc<Connection>),
    /// The server starts again at `next`.
    Failed {
        failure: Failure,
        next: Instant,
    },
    Stopped,
}

/// Failure of a server.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// Time of the first failure since the server was ready.
    pub(crate) since: Instant,
    /// Reason for the last one.
    pub(crate) reason: String,
    /// Last lines of standard error, if the start has failed.
    pub(crate) stderr: String,
    /// Whether the server refuses the credentials.
    pub(crate) is_unauthorized: bool,
}

/// Server, as its actor and its callers share it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    pub(crate) settings: Settings,
    pub(crate) state: watch::Sender<State>,
    pub(crate) listing: watch::Sender<Arc<Listing>>,
    /// Time from which the list is stale.
    stale_at: watch::Sender<Instant>,
    /// Permits of concurrent calls.
    pub(crate) calls: Semaphore,
    pub(crate) stop: CancellationToken,
}

/// Started server.
struct Running {
    connection: Arc<Connection>,
    backend: Backend,
}

impl Server {
    pub(crate) fn new(endpoint: Endpoint, settings: Settings) -> Arc<Self> {
        let calls = Semaphore::new(settings.limits.calls.clamp(1, Semaphore::MAX_PERMITS));
        Arc::new(Self {
            endpoint,
            settings,
            state: watch::Sender::new(State::Starting(None)),
            listing: watch::Sender::default(),
            stale_at: watch::Sender::new(Instant::now()),
            calls,
            stop: CancellationToken::new(),
        })
    }

    /// Returns the connection. Waits at most 5 s for a start.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, Fault> {
        let mut states = self.state.subscribe();
        let usable = states.wait_for(|state| match state {
            // The state changes a moment after the end of the connection.
            State::Ready(connection) => !connection.wire.end.is_cancelled(),
            state => matches!(state, State::Stopped),
        });
        let state = match timeout(START_WAIT, usable).await {
            Ok(Ok(state)) => state.clone(),
            Ok(Err(_)) => State::Stopped,
            Err(_) => self.state.borrow().clone(),
        };
        let (failure, next) = match state {
            State::Ready(connection) => return Ok(connection),
            State::Stopped => return Err(Fault::Stopped),
            State::Starting(failure) => (failure, None),
            State::Failed { failure, next } => (Some(failure), Some(next)),
        };
        let (since, reason) = failure.map_or_else(
            || (Instant::now(), "not started yet".to_owned()),
            |failure| (failure.since, failure.reason),
        );
        Err(Fault::NotRunning {
            reason,
            since: since.elapsed(),
            next: next.map(|next| next.saturating_duration_since(Instant::now())),
        })
    }

    /// Runs the server until it is stopped.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut backoff = Backoff::default();
        let mut protocol = self.settings.protocol;
        let mut failure: Option<Failure> = None;
        while !self.stop.is_cancelled() {
            let (mut healthy, mut ended) = (Duration::ZERO, None);
            let started = tokio::select! {
                started = self.start(&mut protocol) => started,
                () = self.stop.cancelled() => break,
            };
            let (reason, stderr, is_unauthorized) = match started {
                Ok(running) => {
                    let start = Instant::now();
                    failure = None;
                    self.state
                        .send_replace(State::Ready(Arc::clone(&running.connection)));
                    let wire = Arc::clone(&running.connection.wire);
                    let backend = self.supervise(running).await;
                    healthy = start.elapsed();
                    ended = Some(backend);
                    (wire.end_reason(), String::new(), wire.is_unauthorized())
                }
                Err(failure) => (failure.reason, failure.stderr, failure.is_unauthorized),
            };
            let next = Instant::now() + backoff.next(healthy);
            let since = failure.map_or_else(Instant::now, |failure| failure.since);
            let last = Failure {
                since,
                reason,
                stderr,
                is_unauthorized,
            };
            failure = Some(last.clone());
            // Before the process is stopped, so that calls wait for the next one.
            self.state.send_replace(State::Failed { failure: last, next });
            if let Some(backend) = ended {
                backend.stop().await;
            }
            tokio::select! {
                () = sleep_until(next) => {}
                () = self.stop.cancelled() => {}
            }
            self.state.send_replace(State::Starting(failure.clone()));
        }
        self.state.send_replace(State::Stopped);
    }

    /// Starts the server, and lists its tools. Changes the protocol if the server ends at a probe.
    async fn start(&self, protocol: &mut Protocol) -> Result<Running, StartFailure> {
        let started = self.start_in_any_revision(protocol).await;
        if let Err(failure) = &started {
            let reason = failure.reason.as_str();
            let stderr = Some(failure.stderr.as_str()).filter(|lines| !lines.is_empty());
            tracing::warn!(
                server = self.settings.name,
                reason,
                stderr = stderr.map(tracing::field::display),
                "MCP server failed"
            );
        }
        started
    }

    async fn start_in_any_revision(&self, protocol: &mut Protocol) -> Result<Running, StartFailure> {
        let deadline = sleep(self.settings.limits.start);
        tokio::pin!(deadline);
        let first = self.start_backend(*protocol, deadline.as_mut()).await;
        let other = match &first {
            // Servers of the official SDK for Rust before version 3 end at any request before `initialize`.
            Err(failure) if failure.is_silent_end => Protocol::Legacy,
            // A server that reads its first message after more than 10 s, for example since it is downloaded at its first start.
            Err(failure) if failure.has_refused_initialize => Protocol::Modern,
            _ => return first,
        };
        if *protocol != Protocol::Auto || deadline.is_elapsed() {
            return first;
        }
        let second = self.start_backend(other, deadline).await;
        if second.is_ok() {
            *protocol = other;
        }
        second
    }

    async fn start_backend(
        &self,
        protocol: Protocol,
        mut deadline: Pin<&mut Sleep>,
    ) -> Result<Running, StartFailure> {
        let settings = &self.settings;
        let (wire, ends) = Wire::new(settings.hooks.clone());
        let started = Backend::start(&self.endpoint, settings, ends);
        let (mut backend, transport) = started.map_err(StartFailure::new)?;
        // A process that ends leaves an open pipe if another process has it.
        let ready = async {
            let connection = Connection::open(Arc::clone(&wire), transport, protocol).await?;
            let listing = list(&connection, self.rules(&connection), settings.limits.start).await?;
            Ok::<_, String>((connection, listing))
        };
        tokio::pin!(ready);
        let ready = tokio::select! {
            biased;
            ready = &mut ready => ready,
            reason = backend.ended() => {
                // The answers may still be in the pipe, but the server cannot be used.
                wire.close(reason.as_str());
                Err(reason)
            }
            () = deadline.as_mut() => {
                let seconds = settings.limits.start.as_secs_f64();
                let detail = if wire.has_answered() { "" } else { ": no answer to the first request" };
                Err(format!("not ready after {seconds} s{detail}"))
            }
        };
        match ready {
            Ok((connection, listing)) => {
                self.publish(listing);
                Ok(Running {
                    connection: Arc::new(connection),
                    backend,
                })
            }
            Err(reason) => {
                wire.close(reason.as_str());
                let stderr = backend.last_lines().await;
                let is_process = backend.is_process();
                // At the deadline, the process is killed.
                tokio::select! {
                    biased;
                    () = deadline.as_mut() => {}
                    () = backend.stop() => {}
                }
                Err(StartFailure {
                    is_silent_end: is_process && !wire.has_answered(),
                    has_refused_initialize: wire.has_refused_initialize(),
                    is_unauthorized: wire.is_unauthorized(),
                    reason,
                    stderr,
                })
            }
        }
    }

    /// Waits for the end of the connection, and refreshes the list of tools. Returns the process, which may still run.
    async fn supervise(&self, running: Running) -> Backend {
        let Running {
            connection,
            mut backend,
        } = running;
        let wire = Arc::clone(&connection.wire);
        tokio::select! {
            reason = backend.ended() => {
                // The last answers may still be in the pipe.
                let _ = timeout(DRAIN, wire.output_end.cancelled()).await;
                wire.close(reason);
            }
            () = wire.end.cancelled() => {}
            () = self.stop.cancelled() => wire.close("stopped"),
            () = self.refresh(&connection) => {}
            () = self.subscribe(&connection) => {}
        }
        let reason = wire.end_reason();
        if !self.stop.is_cancelled() {
            let stderr = backend.last_lines().await;
            tracing::warn!(server = self.settings.name, reason, %stderr, "MCP server failed");
        }
        backend
    }

    /// Asks a server without a handshake to announce changes of its list. Other servers announce them unasked. Returns never.
    async fn subscribe(&self, connection: &Connection) {
        if connection.version() == MODERN && connection.announces_changes() {
            self.listen(connection).await;
        }
        std::future::pending::<()>().await;
    }

    /// Sends `subscriptions/listen` until the server refuses the request. Over HTTP, the stream of its response may end at any time.
    async fn listen(&self, connection: &Connection) {
        let mut backoff = Backoff::default();
        loop {
            let start = Instant::now();
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let params = SubscriptionsListenRequestParams::new(filter);
            let request = SubscriptionsListenRequest::new(params);
            let request = ClientRequest::SubscriptionsListenRequest(request);
            let Ok(mut open) = connection.send(request, Tracker::default()).await else {
                return;
            };
            let answer = open.answer().await;
            let is_refused = matches!(&answer, Err(ServiceError::McpError(error)) if LocalCode::from_error(error).is_none());
            if !connection.wire.is_http() || is_refused {
                return;
            }
            sleep(backoff.next(start.elapsed())).await;
            // Changes in between were not announced.
            connection.wire.list_changed.notify_one();
        }
    }

    /// Lists the tools again, and publishes them.
    #[cfg(feature = "http")]
    pub(crate) async fn list_again(&self, connection: &Connection) -> Result<(), String> {
        let listing = list(connection, self.rules(connection), self.settings.limits.call).await?;
        self.publish(listing);
        Ok(())
    }

    /// Refreshes the list of a ready server in the background, if it is stale.
    pub(crate) fn refresh_if_stale(&self) {
        let now = Instant::now();
        if let State::Ready(connection) = &*self.state.borrow()
            && self.stale_at.send_if_modified(|stale_at| {
                let is_stale = *stale_at <= now;
                if is_stale {
                    // Until the refresh, which may fail.
                    *stale_at = now + MIN_TTL;
                }
                is_stale
            })
        {
            connection.wire.list_changed.notify_one();
        }
    }

    /// Refreshes the list after changes. Returns never.
    pub(crate) async fn refresh(&self, connection: &Connection) {
        let mut last = Instant::now();
        let mut is_first = true;
        loop {
            connection.wire.list_changed.notified().await;
            sleep(REFRESH_DELAY).await;
            if !is_first {
                sleep_until(last + REFRESH_INTERVAL).await;
            }
            (last, is_first) = (Instant::now(), false);
            // Changes from here on need another refresh; earlier ones are part of this.
            let _ = timeout(Duration::ZERO, connection.wire.list_changed.notified()).await;
            match list(connection, self.rules(connection), self.settings.limits.call).await {
                Ok(listing) => self.publish(listing),
                Err(reason) => {
                    tracing::warn!(
                        server = self.settings.name,
                        reason,
                        "the tools of an MCP server remain as they were"
                    );
                }
            }
        }
    }

    #[cfg_attr(
        not(feature = "http"),
        allow(unused_variables, reason = "only HTTP has headers")
    )]
    fn rules(&self, connection: &Connection) -> ListingRules {
        ListingRules {
            #[cfg(feature = "http")]
            reads_headers: connection.has_parameter_headers(),
            max_tools: self.settings.limits.tools,
            trusts_hints: self.settings.trusts_hints,
        }
    }

    /// Publishes a list, if it differs from the last.
    fn publish(&self, listing: Listing) {
        self.stale_at
            .send_replace(Instant::now() + listing.ttl.clamp(MIN_TTL, MAX_TTL));
        let server = self.settings.name.as_str();
        self.listing.send_if_modified(|last| {
            let is_changed = last.tools != listing.tools || last.left_out != listing.left_out;
            if is_changed {
                for warning in &listing.warnings {
                    tracing::warn!(server, warning, "list of tools of an MCP server");
                }
                for left_out in &listing.left_out {
                    tracing::warn!(
                        server,
                        tool = left_out.tool,
                        reason = left_out.detail,
                        "tool is left out"
                    );
                }
                *last = Arc::new(listing);
            }
            is_changed
        });
    }
}

/// Failed start.
#[derive(Debug)]
struct StartFailure {
    reason: String,
    /// Last lines of standard error.
    stderr: String,
    /// Whether the server ended without any answer.
    is_silent_end: bool,
    /// Whether the server has refused `initialize`, which its revisions do not have.
    has_refused_initialize: bool,
    /// Whether the server refuses the credentials.
    is_unauthorized: bool,
}

impl StartFailure {
    fn new(reason: String) -> Self {
        Self {
            reason,
            stderr: String::new(),
            is_silent_end: false,
            has_refused_initialize: false,
            is_unauthorized: false,
        }
    }
}
