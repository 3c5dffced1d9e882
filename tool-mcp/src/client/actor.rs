//! Actor of a server: starts its process, lists its tools, restarts it, and stops it.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, SubscriptionFilter, SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::adapt::fault::Fault;
use crate::adapt::listing::{Listing, ListingRules};
use crate::adapt::revisions::MODERN;
use crate::client::backoff::Backoff;
use crate::client::connection::{Connection, OpenRequest};
use crate::client::list::list;
use crate::client::process::{LastLines, Process};
use crate::client::settings::{Protocol, Settings};
use crate::client::wire::{Tracker, Wire, WireLimits};

/// Maximum time that a call waits for a server that is starting.
const START_WAIT: Duration = Duration::from_secs(5);
/// Time for output that is still in the pipe when the process has ended.
const DRAIN: Duration = Duration::from_millis(250);
/// Time from a change of the list to its refresh: changes come in groups.
const REFRESH_DELAY: Duration = Duration::from_secs(1);
/// Shortest time between two refreshes.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);

/// State of a server.
#[derive(Debug, Clone)]
pub(crate) enum State {
    /// The process starts, at first or after a failure.
    Starting(Option<Failure>),
    Ready(Arc<Connection>),
    /// The process starts again at `next`.
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
}

/// Server, as its actor and its callers share it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) settings: Settings,
    pub(crate) state: watch::Sender<State>,
    pub(crate) listing: watch::Sender<Arc<Listing>>,
    /// Permits of concurrent calls.
    pub(crate) calls: Semaphore,
    pub(crate) stop: CancellationToken,
}

/// Started server.
struct Running {
    connection: Arc<Connection>,
    process: Process,
    last_lines: LastLines,
}

impl Server {
    pub(crate) fn new(settings: Settings) -> Arc<Self> {
        let calls = Semaphore::new(settings.limits.calls.clamp(1, Semaphore::MAX_PERMITS));
        Arc::new(Self {
            settings,
            state: watch::Sender::new(State::Starting(None)),
            listing: watch::Sender::default(),
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
            let reason = match started {
                Ok(running) => {
                    let start = Instant::now();
                    failure = None;
                    self.state
                        .send_replace(State::Ready(Arc::clone(&running.connection)));
                    let (reason, process) = self.supervise(running).await;
                    healthy = start.elapsed();
                    ended = Some(process);
                    reason
                }
                Err(reason) => reason,
            };
            let next = Instant::now() + backoff.next(healthy);
            let since = failure.map_or_else(Instant::now, |failure| failure.since);
            let last = Failure { since, reason };
            failure = Some(last.clone());
            // Before the process is stopped, so that calls wait for the next one.
            self.state.send_replace(State::Failed { failure: last, next });
            if let Some(process) = ended {
                process.stop().await;
            }
            tokio::select! {
                () = sleep_until(next) => {}
                () = self.stop.cancelled() => {}
            }
            self.state.send_replace(State::Starting(failure.clone()));
        }
        self.state.send_replace(State::Stopped);
    }

    /// Starts the process, and lists its tools. Changes the protocol if the server ends at a probe.
    async fn start(&self, protocol: &mut Protocol) -> Result<Running, String> {
        let limit = self.settings.limits.start;
        match timeout(limit, self.start_in_any_revision(protocol)).await {
            Ok(Ok(running)) => Ok(running),
            Ok(Err(reason)) => Err(reason),
            Err(_) => {
                let reason = format!("not ready after {} s", limit.as_secs());
                tracing::warn!(server = self.settings.name, reason, "MCP server failed");
                Err(reason)
            }
        }
    }

    async fn start_in_any_revision(&self, protocol: &mut Protocol) -> Result<Running, String> {
        let first = self.start_process(*protocol).await;
        match first {
            // Servers of the official SDK for Rust before version 3 end at any request before `initialize`.
            Err(failure) if failure.is_silent_end && *protocol == Protocol::Auto => {
                let second = self.start_process(Protocol::Legacy).await;
                if second.is_ok() {
                    *protocol = Protocol::Legacy;
                }
                second.map_err(|failure| failure.reason)
            }
            first => first.map_err(|failure| failure.reason),
        }
    }

    async fn start_process(&self, protocol: Protocol) -> Result<Running, StartFailure> {
        let settings = &self.settings;
        let (mut process, pipes) = Process::spawn(settings).map_err(|error| StartFailure {
            reason: format!("cannot start `{}`: {error}", settings.program.display()),
            is_silent_end: false,
        })?;
        let (wire, ends) = Wire::new();
        let limits = WireLimits {
            write: settings.limits.call,
            message_bytes: settings.limits.message_bytes,
        };
        let transport = ends.connect(pipes.stdin, pipes.stdout, limits);
        // A process that ends leaves an open pipe if another process has it.
        let ready = async {
            let connection = Connection::open(Arc::clone(&wire), transport, protocol).await?;
            let listing = list(&connection, self.rules(), settings.limits.start).await?;
            Ok::<_, String>((connection, listing))
        };
        tokio::pin!(ready);
        let ready = tokio::select! {
            ready = &mut ready => ready,
            status = process.ended() => {
                // The answers may still be in the pipe, but the server cannot be used.
                let reason = end_reason(status);
                wire.close(reason.as_str());
                Err(reason)
            }
        };
        match ready {
            Ok((connection, listing)) => {
                self.publish(listing);
                Ok(Running {
                    connection: Arc::new(connection),
                    process,
                    last_lines: pipes.last_lines,
                })
            }
            Err(reason) => {
                wire.close(reason.as_str());
                process.stop().await;
                let stderr = pipes.last_lines;
                tracing::warn!(server = settings.name, reason, %stderr, "MCP server failed");
                Err(StartFailure {
                    is_silent_end: !wire.has_answered(),
                    reason,
                })
            }
        }
    }

    /// Waits for the end of the server, and refreshes its list of tools. Returns the reason for the end, and
    /// the process, which may still run.
    async fn supervise(&self, running: Running) -> (String, Process) {
        let Running {
            connection,
            mut process,
            last_lines,
        } = running;
        let wire = Arc::clone(&connection.wire);
        let subscription = self.subscribe(&connection).await;
        tokio::select! {
            status = process.ended() => {
                // The last answers may still be in the pipe.
                let _ = timeout(DRAIN, wire.output_end.cancelled()).await;
                wire.close(end_reason(status));
            }
            () = wire.end.cancelled() => {}
            () = self.stop.cancelled() => wire.close("stopped"),
            () = self.refresh(&connection) => {}
        }
        drop(subscription);
        let reason = wire.end_reason();
        if !self.stop.is_cancelled() {
            tracing::warn!(server = self.settings.name, reason, stderr = %last_lines, "MCP server failed");
        }
        (reason, process)
    }

    /// Asks a server without a handshake to announce changes of its list. Other servers announce them unasked.
    async fn subscribe(&self, connection: &Connection) -> Option<OpenRequest> {
        if connection.version() != MODERN || !connection.announces_changes() {
            return None;
        }
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let params = SubscriptionsListenRequestParams::new(filter);
        let request = ClientRequest::SubscriptionsListenRequest(SubscriptionsListenRequest::new(params));
        connection.send(request, Tracker::default()).await.ok()
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
            match list(connection, self.rules(), self.settings.limits.call).await {
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

    fn rules(&self) -> ListingRules {
        ListingRules {
            max_tools: self.settings.limits.tools,
            trusts_hints: self.settings.trusts_hints,
        }
    }

    /// Publishes a list, if it differs from the last.
    fn publish(&self, listing: Listing) {
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
    /// Whether the server ended without any answer.
    is_silent_end: bool,
}

fn end_reason(status: std::io::Result<std::process::ExitStatus>) -> String {
    match status {
        Ok(status) => format!("ended with {status}"),
        Err(error) => format!("ended: {error}"),
    }
}
