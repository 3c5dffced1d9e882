//! [`RunningTurn`]: a turn with several watchers, which are the first request and its retries.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;
use tool_runtime::CancellationToken;

use super::checkpoint::Checkpoint;
use super::kept_bytes::KeptBytes;
use super::session_state::StateMap;
use super::upstream_headers::UpstreamHeaders;
use crate::session::chain::Digest;
use crate::session::record::SessionId;
use crate::session::store::Lease;
use crate::turn::action::Sent;
use crate::turn::machine::TurnMachine;
use crate::turn::thinking::RefusedThinking;
use crate::wire::delta::{Delta, TextRun};
use crate::wire::error::ApiError;
use crate::wire::event::StreamEvent;

/// A turn that runs or has ended. All output for the client is kept, so that a retry receives the output from its beginning.
#[derive(Debug)]
pub(crate) struct RunningTurn {
    pub(crate) session: SessionId,
    state: Mutex<RunState>,
    /// Wakes the watchers.
    changed: Notify,
    /// Cancelled when the last watcher is dropped.
    pub(crate) abandoned: CancellationToken,
    /// Number of bytes that turns keep.
    kept: KeptBytes,
}

#[derive(Debug, Default)]
struct RunState {
    /// Headers of the upstream's first response.
    headers: Option<UpstreamHeaders>,
    sent: Vec<Sent>,
    /// Estimated size in bytes of `sent` and of the response of a failed turn.
    bytes: usize,
    /// Estimated size of the checkpoint in bytes.
    checkpoint_bytes: usize,
    end: Option<RunEnd>,
    ended_at: Option<Instant>,
    waiting: usize,
    /// Number of requests that wait for the end of the abandoned turn.
    successors: usize,
    /// Whether the last watcher has been dropped before the end.
    is_abandoned: bool,
    /// Whether a client has received the whole output.
    is_delivered: bool,
    /// Lease of the turn among the gateways of the store.
    lease: Option<Lease>,
    /// Boxed, since ended turns are kept, and a turn that ended without an error has no checkpoint.
    checkpoint: Option<Box<Checkpoint>>,
}

impl RunState {
    /// Merges the consecutive changes of each text of an ended turn without watchers: a text of many pieces takes a third of the memory
    /// then. Returns the number of freed bytes.
    fn merge_texts(&mut self) -> usize {
        self.sent
            .dedup_by(|later, sent| match (text_run(sent), text_run(later)) {
                (Some((index, run)), Some((later_index, later))) => index == later_index && run.append(later),
                _ => false,
            });
        for (_, run) in self.sent.iter_mut().filter_map(text_run) {
            run.shrink();
        }
        self.sent.shrink_to_fit();
        let before = std::mem::replace(&mut self.bytes, self.sent.iter().map(size).sum());
        before.saturating_sub(self.bytes)
    }
}

/// Returns the block and the changes of its text, if the output consists of these.
fn text_run(sent: &mut Sent) -> Option<(usize, &mut TextRun)> {
    match sent {
        Sent::Event(StreamEvent::BlockDelta {
            index,
            delta: Delta::Texts(run),
        }) => Some((*index, run)),
        _ => None,
    }
}

/// End of a turn.
#[derive(Debug, Clone)]
pub(crate) enum RunEnd {
    Done,
    /// The turn failed, with an upstream response or an error of the gateway.
    Failed {
        status: StatusCode,
        headers: HeaderMap,
        body: Bytes,
    },
}

impl RunEnd {
    /// Creates the end of a turn with an error in the API's form.
    pub(crate) fn failed(status: StatusCode, error: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self::Failed {
            status,
            headers,
            body: error.into(),
        }
    }
}

impl From<&ApiError> for RunEnd {
    fn from(error: &ApiError) -> Self {
        let mut end = Self::failed(error.status, error.body().to_string());
        if let (Self::Failed { headers, .. }, Some(seconds)) = (&mut end, error.retry_after) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        end
    }
}

/// Returns the error of an abandoned turn. Only a simultaneous retry receives this error, and may be sent again.
pub(crate) fn abandoned() -> ApiError {
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the request was abandoned by its client; retry the request",
    )
}

/// Next output of a turn, or its end.
#[derive(Debug)]
pub(crate) enum Next {
    Sent(Sent),
    End(RunEnd),
}

impl RunningTurn {
    /// Creates a turn with its first watcher.
    pub(crate) fn begin(session: SessionId, kept: &KeptBytes) -> (Arc<Self>, Watcher) {
        let running = Arc::new(Self {
            session,
            state: Mutex::default(),
            changed: Notify::new(),
            abandoned: CancellationToken::new(),
            kept: kept.clone(),
        });
        running.kept.add(OWN_BYTES);
        let watcher = Watcher::new(&running, &mut running.lock());
        (running, watcher)
    }

    /// Creates a turn that continues from a checkpoint.
    pub(crate) fn from_checkpoint(checkpoint: &Checkpoint, kept: &KeptBytes) -> (Arc<Self>, Watcher) {
        let (running, watcher) = Self::begin(checkpoint.session.clone(), kept);
        running.lock().headers.clone_from(&checkpoint.headers);
        running.set_checkpoint(checkpoint.clone());
        for sent in &checkpoint.sent {
            running.send(sent.clone());
        }
        (running, watcher)
    }

    fn lock(&self) -> MutexGuard<'_, RunState> {
        // No change can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// Sets the headers of the upstream's first response.
    pub(crate) fn set_headers(&self, received: &HeaderMap) {
        let headers = UpstreamHeaders::copied(received);
        self.lock().headers.get_or_insert(headers);
        self.notify();
    }

    pub(crate) fn send(&self, sent: Sent) {
        let bytes = size(&sent);
        self.kept.add(bytes);
        {
            let mut state = self.lock();
            state.bytes += bytes;
            state.sent.push(sent);
        }
        self.notify();
    }

    /// Returns whether clients have received anything.
    pub(crate) fn has_output(&self) -> bool {
        !self.lock().sent.is_empty()
    }

    pub(crate) fn end(&self, end: RunEnd) {
        {
            let mut state = self.lock();
            if matches!(end, RunEnd::Done) {
                state.checkpoint = None;
                let bytes = std::mem::take(&mut state.checkpoint_bytes);
                self.kept.subtract(bytes);
            }
            if let RunEnd::Failed { body, .. } = &end
                && state.end.is_none()
            {
                self.kept.add(body.len());
                state.bytes += body.len();
            }
            state.end.get_or_insert(end);
            state.ended_at.get_or_insert_with(Instant::now);
        }
        self.notify();
    }

    /// Creates a checkpoint of the turn.
    pub(crate) fn now(
        &self,
        machine: &TurnMachine,
        refused_thinking: Option<RefusedThinking>,
        session_state: StateMap,
        generation: Option<Digest>,
    ) -> Checkpoint {
        let state = self.lock();
        Checkpoint {
            session: self.session.clone(),
            machine: machine.clone(),
            headers: state.headers.clone(),
            // A retry does not need earlier `ping` events.
            sent: state.sent.iter().filter(|sent| **sent != PING).cloned().collect(),
            refused_thinking,
            state: session_state,
            generation,
            rest: Vec::new(),
        }
    }

    /// Sets the checkpoint from which the turn continues after a failure.
    pub(crate) fn set_checkpoint(&self, checkpoint: Checkpoint) {
        let sent = checkpoint.sent.iter().map(size).sum::<usize>();
        let bytes = size_of::<Checkpoint>() + checkpoint.machine.size() + sent;
        self.kept.add(bytes);
        let mut state = self.lock();
        let before = std::mem::replace(&mut state.checkpoint_bytes, bytes);
        self.kept.subtract(before);
        state.checkpoint = Some(Box::new(checkpoint));
    }

    pub(crate) fn set_lease(&self, lease: Lease) {
        self.lock().lease = Some(lease);
    }

    /// Returns the fence of the turn's lease; 0 in a store that one gateway uses at a time.
    pub(crate) fn fence(&self) -> u64 {
        self.lock().lease.map_or(0, |lease| lease.fence)
    }

    pub(crate) fn checkpoint(&self) -> Option<Box<Checkpoint>> {
        self.lock().checkpoint.clone()
    }

    /// Returns whether the turn has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    /// Returns the end of the turn; `None` while the turn runs.
    pub(crate) fn ended(&self) -> Option<RunEnd> {
        self.lock().end.clone()
    }

    /// Returns whether the turn runs and has sent an external call with a matching id.
    pub(crate) fn shows_call(&self, mut is_wanted: impl FnMut(&str) -> bool) -> bool {
        let state = self.lock();
        let is_call = |sent: &Sent| match sent {
            Sent::Event(StreamEvent::BlockStart { block, .. }) | Sent::Block { block, .. } => {
                block.tool_use().is_some_and(|call| is_wanted(&call.id))
            }
            Sent::Event(_) | Sent::Message(_) => false,
        };
        state.end.is_none() && state.sent.iter().any(is_call)
    }

    /// Returns the time since the end; `None` while the turn runs.
    pub(crate) fn ended_for(&self) -> Option<Duration> {
        let ended_at = self.lock().ended_at;
        ended_at.map(|ended_at| ended_at.elapsed())
    }

    /// Waits until the turn has ended.
    pub(crate) async fn until_ended(&self) {
        self.until(|running| running.has_ended().then_some(())).await;
    }

    /// Waits until `find` returns a value.
    async fn until<T>(&self, mut find: impl FnMut(&Self) -> Option<T>) -> T {
        // If a value is ready, no waiter has to be registered.
        if let Some(found) = find(self) {
            return found;
        }
        loop {
            let mut changed = pin!(self.changed.notified());
            // Registers the waiter first, so that a change before the wait wakes the task, too.
            changed.as_mut().enable();
            if let Some(found) = find(self) {
                return found;
            }
            changed.await;
        }
    }

    /// Returns the output after the first `at` pieces, if there is more.
    fn next(&self, at: &mut usize) -> Option<Next> {
        let mut state = self.lock();
        if let Some(sent) = state.sent.get(*at).cloned() {
            *at += 1;
            let is_end = is_end(&sent);
            state.is_delivered |= is_end;
            drop(state);
            if is_end {
                self.notify();
            }
            return Some(Next::Sent(sent));
        }
        state.end.clone().map(Next::End)
    }

    /// Returns whether the turn failed, or whether no client waits for an answer that no client has received.
    pub(crate) fn is_left(&self) -> bool {
        let state = self.lock();
        match &state.end {
            Some(RunEnd::Failed { .. }) => state.successors == 0,
            Some(RunEnd::Done) if state.is_delivered => false,
            Some(RunEnd::Done) | None => state.waiting == 0 && state.successors == 0,
        }
    }

    /// Returns whether a client has received the complete answer.
    pub(crate) fn is_received(&self) -> bool {
        let state = self.lock();
        state.is_delivered && matches!(state.end, Some(RunEnd::Done))
    }

    /// Waits until a client has received the complete answer, or no client waits for it. Returns whether a client has received the answer.
    pub(crate) async fn until_received(&self) -> bool {
        self.until(|running| {
            let is_received = running.is_received();
            (is_received || running.is_left()).then_some(is_received)
        })
        .await
    }

    pub(crate) fn is_delivered(&self) -> bool {
        self.lock().is_delivered
    }

    /// Registers a watcher. Returns `None` if the turn was abandoned.
    pub(crate) fn watch(self: &Arc<Self>) -> Option<Watcher> {
        let mut state = self.lock();
        let is_given_up = state.is_abandoned && state.end.is_none();
        (!is_given_up).then(|| Watcher::new(self, &mut state))
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        let state = self.lock();
        self.kept
            .subtract(OWN_BYTES + state.bytes + state.checkpoint_bytes);
    }
}

/// Estimated size in bytes of a turn without output, with its entry in the table of turns.
const OWN_BYTES: usize = size_of::<RunningTurn>() + 256;

/// Event that keeps a connection alive.
pub(crate) const PING: Sent = Sent::Event(StreamEvent::Ping);

/// Returns whether this is the last piece of a turn.
fn is_end(sent: &Sent) -> bool {
    matches!(sent, Sent::Event(StreamEvent::MessageStop) | Sent::Message(_))
}

/// Estimates the size of a piece in bytes.
fn size(sent: &Sent) -> usize {
    let size = match sent {
        Sent::Block { block, .. } => block.size(),
        // The blocks are copies of the text.
        Sent::Message(message) => 2 * message.as_str().len(),
        Sent::Event(event) => event.size(),
    };
    size + size_of::<Sent>()
}

/// A request that waits for a turn. The turn is abandoned when its last watcher is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    running: Arc<RunningTurn>,
    at: usize,
}

impl Watcher {
    fn new(running: &Arc<RunningTurn>, state: &mut RunState) -> Self {
        state.waiting += 1;
        Self {
            running: Arc::clone(running),
            at: 0,
        }
    }

    /// Returns the session of the turn.
    pub(crate) fn session(&self) -> SessionId {
        self.running.session.clone()
    }

    /// Waits for the next output or the end.
    pub(crate) async fn next(&mut self) -> Next {
        let Self { running, at } = self;
        running.until(|running| running.next(at)).await
    }

    /// Passes the available output to `show`, until `show` breaks. Returns the end of the turn, if it is next.
    pub(crate) fn ready(&mut self, mut show: impl FnMut(&Sent) -> ControlFlow<()>) -> Option<RunEnd> {
        let mut state = self.running.lock();
        let state = &mut *state;
        while let Some(sent) = state.sent.get(self.at) {
            self.at += 1;
            if is_end(sent) {
                state.is_delivered = true;
                self.running.notify();
            }
            if show(sent).is_break() {
                return None;
            }
        }
        state.end.clone()
    }

    /// Waits until the turn has output. Returns the headers of the upstream's response.
    pub(crate) async fn upstream_headers(&mut self) -> Result<UpstreamHeaders, RunEnd> {
        let headers = |running: &RunningTurn| {
            let state = running.lock();
            if !state.sent.is_empty() {
                return Some(Ok(state.headers.clone().unwrap_or_default()));
            }
            state.end.clone().map(Err)
        };
        self.running.until(headers).await
    }

    /// Returns the turn with its lease, if the turn is complete and no client has received its answer.
    pub(crate) fn unseen(&self) -> Option<(Arc<RunningTurn>, Lease)> {
        let state = self.running.lock();
        let is_unseen = matches!(state.end, Some(RunEnd::Done)) && !state.is_delivered;
        let lease = state.lease.filter(|lease| is_unseen && lease.fence > 0)?;
        Some((Arc::clone(&self.running), lease))
    }

    /// Returns the headers of the upstream's response.
    pub(crate) fn headers(&self) -> UpstreamHeaders {
        self.running.lock().headers.clone().unwrap_or_default()
    }

    /// Waits for more output or the end.
    pub(crate) async fn changed(&self) {
        let is_there = |running: &RunningTurn| {
            let state = running.lock();
            (state.sent.len() > self.at || state.end.is_some()).then_some(())
        };
        self.running.until(is_there).await;
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut state = self.running.lock();
        state.waiting -= 1;
        if state.waiting > 0 {
            return;
        }
        match state.end {
            None => {
                state.is_abandoned = true;
                drop(state);
                self.running.abandoned.cancel();
            }
            Some(RunEnd::Done) => {
                self.running.kept.subtract(state.merge_texts());
                drop(state);
                self.running.notify();
            }
            Some(RunEnd::Failed { .. }) => {}
        }
    }
}

/// Request that waits for the end of an abandoned turn, and continues from its checkpoint then.
#[derive(Debug)]
pub(crate) struct Successor(Arc<RunningTurn>);

impl Successor {
    pub(crate) fn new(running: &Arc<RunningTurn>) -> Self {
        running.lock().successors += 1;
        Self(Arc::clone(running))
    }

    /// Returns whether the request waits for this turn.
    pub(crate) fn succeeds(&self, running: &Arc<RunningTurn>) -> bool {
        Arc::ptr_eq(&self.0, running)
    }

    /// Waits until the turn has ended.
    pub(crate) async fn until_ended(&self) {
        self.0.until_ended().await;
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        self.0.lock().successors -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::delta::TextEvent;

    #[test]
    fn retries_receive_the_events_of_merged_texts() {
        let kept = KeptBytes::default();
        let (running, mut watcher) = RunningTurn::begin(SessionId::random(), &kept);
        let piece = |index, text: &str| {
            let event = format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
            );
            let delta = Delta::Texts(TextRun::new(&TextEvent::parse(event.as_bytes()).unwrap()));
            running.send(Sent::Event(StreamEvent::BlockDelta { index, delta }));
        };
        let output = |watcher: &mut Watcher| {
            let (mut text, mut pieces) = (String::new(), 0);
            watcher.ready(|sent| {
                pieces += 1;
                if let Sent::Event(event) = sent {
                    event.write_sse(&mut text);
                }
                ControlFlow::Continue(())
            });
            (text, pieces)
        };
        for text in ["a", "b", "c"] {
            piece(0, text);
        }
        piece(1, "d");
        running.send(Sent::Event(StreamEvent::MessageStop));
        running.end(RunEnd::Done);
        let (first, pieces) = output(&mut watcher);
        let before = kept.of_client();
        drop(watcher);
        assert!(kept.of_client() < before);
        assert_eq!(pieces, 5);
        assert_eq!(output(&mut running.watch().unwrap()), (first, 3));
        drop(running);
        assert_eq!(kept.of_client(), 0);
    }

    /// The limit of kept turns counts everything that the upstream sends.
    #[test]
    fn counts_all_that_an_event_holds() {
        let usage = format!(r#""usage":{{"of":[{{"it":"{}"}}]}}"#, "a".repeat(1000));
        for data in [
            format!(r#"{{"type":"message_start","message":{{{usage}}}}}"#),
            format!(r#"{{"type":"content_block_start","index":0,"content_block":{{{usage}}}}}"#),
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{{usage}}}}}"#),
            format!(r#"{{"type":"message_delta",{usage}}}"#),
            format!(r#"{{"type":"error",{usage}}}"#),
            format!(r#"{{"type":"later",{usage}}}"#),
        ] {
            let event = StreamEvent::parse(&data).unwrap();
            assert!(size(&Sent::Event(event)) > 1000, "{data}");
        }
    }
}
