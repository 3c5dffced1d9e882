//! [`Running`]: a turn that several requests may watch: the first, and its retries.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tool_runtime::CancellationToken;

use super::checkpoint::Checkpoint;
use super::locks::Locks;
use super::session_state::State;
use crate::session::chain::Digest;
use crate::session::record::SessionId;
use crate::turn::action::Sent;
use crate::turn::machine::TurnMachine;
use crate::wire::delta::Delta;
use crate::wire::error::ApiError;
use crate::wire::event::StreamEvent;

/// A turn that runs or has ended. Everything that the client sees is kept, so that a retry receives it from its beginning.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) session: SessionId,
    state: Mutex<RunState>,
    /// Wakes those who wait for what happens.
    changed: Notify,
    /// Cancelled when nobody waits any more.
    pub(super) abandoned: CancellationToken,
    /// How many bytes all turns keep.
    kept: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct RunState {
    /// Of the upstream's first response.
    headers: Option<HeaderMap>,
    sent: Vec<Sent>,
    /// How many bytes `sent` has, about.
    bytes: usize,
    /// How many bytes the checkpoint has, about.
    checkpoint_bytes: usize,
    end: Option<RunEnd>,
    ended_at: Option<Instant>,
    waiting: usize,
    /// Whether the last client that waited has gone.
    is_abandoned: bool,
    /// Whether a client has received all of it.
    is_delivered: bool,
    checkpoint: Option<Checkpoint>,
}

/// How a turn ended.
#[derive(Debug, Clone)]
pub(super) enum RunEnd {
    Done,
    /// With a response of the upstream, or an error of the gateway's.
    Failed {
        status: StatusCode,
        headers: HeaderMap,
        body: Bytes,
    },
}

/// Nobody reads this but a retry that comes in the same moment, and may come again.
pub(super) fn abandoned() -> ApiError {
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the request was abandoned by its client; send it again",
    )
}

/// What a watcher finds next.
#[derive(Debug)]
pub(super) enum Next {
    Sent(Sent),
    End(RunEnd),
}

impl Running {
    fn new(session: SessionId, kept: &Arc<AtomicUsize>) -> Self {
        Self {
            session,
            state: Mutex::default(),
            changed: Notify::new(),
            abandoned: CancellationToken::new(),
            kept: Arc::clone(kept),
        }
    }

    /// A turn that goes on from a checkpoint.
    fn from_checkpoint(checkpoint: &Checkpoint, kept: &Arc<AtomicUsize>) -> Self {
        let running = Self::new(checkpoint.session.clone(), kept);
        {
            let mut state = running.lock();
            state.headers.clone_from(&checkpoint.headers);
        }
        running.set_checkpoint(checkpoint.clone());
        for sent in &checkpoint.sent {
            running.send(sent.clone());
        }
        running
    }

    fn lock(&self) -> MutexGuard<'_, RunState> {
        // No change can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// The headers of the upstream's first response.
    pub(super) fn set_headers(&self, headers: HeaderMap) {
        self.lock().headers.get_or_insert(headers);
        self.notify();
    }

    pub(super) fn send(&self, sent: Sent) {
        let bytes = size(&sent);
        self.kept.fetch_add(bytes, Ordering::Relaxed);
        {
            let mut state = self.lock();
            state.bytes += bytes;
            state.sent.push(sent);
        }
        self.notify();
    }

    pub(super) fn end(&self, end: RunEnd) {
        {
            let mut state = self.lock();
            if matches!(end, RunEnd::Done) {
                state.checkpoint = None;
                let bytes = std::mem::take(&mut state.checkpoint_bytes);
                self.kept.fetch_sub(bytes, Ordering::Relaxed);
            }
            state.end.get_or_insert(end);
            state.ended_at.get_or_insert_with(Instant::now);
        }
        self.notify();
    }

    /// Where the turn is now.
    pub(super) fn now(
        &self,
        machine: &TurnMachine,
        without_thinking: Option<usize>,
        session_state: State,
    ) -> Checkpoint {
        let state = self.lock();
        Checkpoint {
            session: self.session.clone(),
            machine: machine.clone(),
            headers: state.headers.clone(),
            // Who comes back has not waited for tools.
            sent: state.sent.iter().filter(|sent| **sent != PING).cloned().collect(),
            without_thinking,
            state: session_state,
            rest: Vec::new(),
        }
    }

    /// Sets where the turn goes on after a failure.
    pub(super) fn set_checkpoint(&self, checkpoint: Checkpoint) {
        let bytes = checkpoint.machine.size() + checkpoint.sent.iter().map(size).sum::<usize>();
        self.kept.fetch_add(bytes, Ordering::Relaxed);
        let mut state = self.lock();
        let before = std::mem::replace(&mut state.checkpoint_bytes, bytes);
        self.kept.fetch_sub(before, Ordering::Relaxed);
        state.checkpoint = Some(checkpoint);
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        self.lock().checkpoint.clone()
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    /// How it ended; `None` while it runs.
    pub(super) fn ended(&self) -> Option<RunEnd> {
        self.lock().end.clone()
    }

    /// Whether it runs, and has shown a call of the client whose id is wanted.
    fn shows_call(&self, mut is_wanted: impl FnMut(&str) -> bool) -> bool {
        let state = self.lock();
        let is_call = |sent: &Sent| match sent {
            Sent::Event(StreamEvent::BlockStart { block, .. }) => {
                let id = block.get("id").and_then(Value::as_str);
                id.is_some_and(&mut is_wanted)
            }
            Sent::Block { block, .. } => block.tool_use().is_some_and(|call| is_wanted(&call.id)),
            Sent::Event(_) | Sent::Message(_) => false,
        };
        state.end.is_none() && state.sent.iter().any(is_call)
    }

    /// Whether it ended so long ago that nobody repeats its request.
    fn is_expired(&self) -> bool {
        let ended_at = self.lock().ended_at;
        ended_at.is_some_and(|ended_at| ended_at.elapsed() > KEPT_FOR)
    }

    /// Waits until it has ended.
    pub(super) async fn until_ended(&self) {
        self.until(|running| running.has_ended().then_some(())).await;
    }

    /// Waits until there is something to find.
    async fn until<T>(&self, mut find: impl FnMut(&Self) -> Option<T>) -> T {
        // What is there at once needs no place among those who wait.
        if let Some(found) = find(self) {
            return found;
        }
        loop {
            let mut changed = pin!(self.changed.notified());
            // What happens between the look and the wait wakes, too.
            changed.as_mut().enable();
            if let Some(found) = find(self) {
                return found;
            }
            changed.await;
        }
    }

    /// What comes after the first `at` pieces, if it has happened.
    fn next(&self, at: &mut usize) -> Option<Next> {
        let mut state = self.lock();
        if let Some(sent) = state.sent.get(*at).cloned() {
            *at += 1;
            state.is_delivered |= is_end(&sent);
            return Some(Next::Sent(sent));
        }
        state.end.clone().map(Next::End)
    }

    fn is_delivered(&self) -> bool {
        self.lock().is_delivered
    }

    /// Registers a watcher, before its request is answered; `None` if the last one has gone.
    fn watch(self: &Arc<Self>) -> Option<Watcher> {
        let mut state = self.lock();
        let is_given_up = state.is_abandoned && state.end.is_none();
        (!is_given_up).then(|| Watcher::new(self, &mut state))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let state = self.lock();
        self.kept
            .fetch_sub(state.bytes + state.checkpoint_bytes, Ordering::Relaxed);
    }
}

/// What says that a turn is alive.
const PING: Sent = Sent::Event(StreamEvent::Ping);

/// Whether nothing comes after it.
fn is_end(sent: &Sent) -> bool {
    matches!(sent, Sent::Event(StreamEvent::MessageStop) | Sent::Message(_))
}

/// How many bytes a piece takes, about.
fn size(sent: &Sent) -> usize {
    let texts = |fields: &Map<String, Value>| -> usize {
        let texts = fields.values().filter_map(Value::as_str);
        texts.map(|text| text.len() + 64).sum()
    };
    let size = match sent {
        Sent::Block { block, .. } => block.as_str().len(),
        // The blocks are copies of what is in it.
        Sent::Message(message) => 2 * message.as_str().len(),
        Sent::Event(StreamEvent::BlockDelta { delta, .. }) => match delta {
            Delta::Text(_, text) => text.len(),
            Delta::Texts(run) => run.size(),
            Delta::Other(fields) => texts(fields),
        },
        Sent::Event(StreamEvent::BlockStart { block, .. }) => texts(block),
        Sent::Event(_) => 0,
    };
    size + size_of::<Sent>()
}

impl Watcher {
    fn new(running: &Arc<Running>, state: &mut RunState) -> Self {
        state.waiting += 1;
        Self {
            running: Arc::clone(running),
            at: 0,
        }
    }

    /// The session of the turn.
    pub(super) fn session(&self) -> SessionId {
        self.running.session.clone()
    }
}

/// One request that waits for a turn. When the last is dropped, the turn is abandoned.
#[derive(Debug)]
pub(super) struct Watcher {
    running: Arc<Running>,
    at: usize,
}

impl Watcher {
    /// What comes next; it is there at once if it has happened.
    pub(super) async fn next(&mut self) -> Next {
        let Self { running, at } = self;
        running.until(|running| running.next(at)).await
    }

    /// Hands what has happened to `show`, until that has enough; how the turn ended, if that comes next.
    pub(super) fn ready(&mut self, mut show: impl FnMut(&Sent) -> ControlFlow<()>) -> Option<RunEnd> {
        let mut state = self.running.lock();
        let state = &mut *state;
        while let Some(sent) = state.sent.get(self.at) {
            self.at += 1;
            state.is_delivered |= is_end(sent);
            if show(sent).is_break() {
                return None;
            }
        }
        state.end.clone()
    }

    /// Waits until the turn has something to show, and gives the headers of the upstream's response.
    pub(super) async fn upstream_headers(&mut self) -> Result<HeaderMap, RunEnd> {
        let headers = |running: &Running| {
            let state = running.lock();
            if !state.sent.is_empty() {
                return Some(Ok(state.headers.clone().unwrap_or_default()));
            }
            state.end.clone().map(Err)
        };
        self.running.until(headers).await
    }

    /// Waits until something comes after what was seen.
    pub(super) async fn changed(&self) {
        let is_there = |running: &Running| {
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
        if state.waiting == 0 && state.end.is_none() {
            state.is_abandoned = true;
            drop(state);
            self.running.abandoned.cancel();
        }
    }
}

/// The turns that run, and those that ended not long ago, by their request.
#[derive(Debug, Default)]
pub(super) struct RunningTurns {
    turns: Mutex<Turns>,
    /// The requests whose turns are looked for: one of those that are equal at a time.
    joining: Locks<Digest>,
    /// How many bytes they keep for retries.
    bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Turns {
    by_request: HashMap<Digest, Kept>,
    /// The requests with the numbers of their turns, the oldest first. Of two turns of one request, the later is kept.
    order: VecDeque<(Digest, u64)>,
    /// How many turns there were.
    number: u64,
}

/// A turn that is kept for retries.
#[derive(Debug)]
struct Kept {
    number: u64,
    running: Arc<Running>,
}

impl Turns {
    fn insert(&mut self, request: Digest, running: Arc<Running>) {
        self.number += 1;
        let number = self.number;
        self.by_request.insert(request, Kept { number, running });
        self.order.push_back((request, number));
    }

    /// The turn at this place, unless another has replaced it.
    fn at(&self, (request, number): &(Digest, u64)) -> Option<&Running> {
        let kept = self.by_request.get(request)?;
        (kept.number == *number).then_some(&*kept.running)
    }

    /// Removes the turn at this place in the order.
    fn remove(&mut self, place: usize) {
        if let Some(removed) = self.order.remove(place)
            && self.at(&removed).is_some()
        {
            self.by_request.remove(&removed.0);
        }
    }

    /// The place of the oldest turn of which this holds, or that was replaced.
    fn oldest(&self, mut is_wanted: impl FnMut(&Running) -> bool) -> Option<usize> {
        let mut order = self.order.iter();
        order.position(|place| self.at(place).is_none_or(&mut is_wanted))
    }

    /// Removes turns that ended long ago, the oldest first.
    fn remove_expired(&mut self) {
        while let Some(oldest) = self.order.front()
            && self.at(oldest).is_none_or(Running::is_expired)
        {
            self.remove(0);
        }
    }

    /// Removes turns until there is room for those that are kept, but none that runs.
    fn make_room(&mut self, bytes: &AtomicUsize) {
        while self.order.len() > KEPT || bytes.load(Ordering::Relaxed) > KEPT_BYTES {
            // What was done by those whose answer a client has is stored.
            let is_delivered =
                |running: &Running| matches!(running.ended(), Some(RunEnd::Done)) && running.is_delivered();
            let oldest = self.oldest(is_delivered);
            let Some(oldest) = oldest.or_else(|| self.oldest(Running::has_ended)) else {
                break;
            };
            self.remove(oldest);
        }
    }
}

/// How many turns are kept for retries, and how many bytes of what they sent.
pub(super) const KEPT: usize = 1_000;
pub(super) const KEPT_BYTES: usize = 64 << 20;

/// How long a turn that has ended is kept for retries.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(600);

/// What a request is to an earlier, equal one.
pub(super) enum Joined {
    /// A retry of it: it watches the same turn.
    Same(Watcher),
    /// The first of its kind, or a new branch; or it goes on after the last complete round of one that failed.
    New(Arc<Running>, Watcher, Option<Box<Checkpoint>>),
}

/// What is known of an earlier, equal request.
enum Earlier {
    /// Its turn is watched.
    Joined(Watcher),
    /// It was abandoned, and calls that cannot be stopped still run: when it has ended, a retry goes on from there.
    Abandoned(Arc<Running>),
    /// A turn that begins is a new branch, or goes on after the last complete round of one that failed.
    Ended(Option<Box<Checkpoint>>),
    /// There was none in this process, or too long ago.
    Unknown,
}

impl RunningTurns {
    fn lock(&self) -> MutexGuard<'_, Turns> {
        // No change can panic half-way.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turns that are kept now.
    fn all(&self) -> Vec<Arc<Running>> {
        let running = |kept: &Kept| Arc::clone(&kept.running);
        self.lock().by_request.values().map(running).collect()
    }

    /// Waits until all turns have ended that run now.
    pub(super) async fn until_all_ended(&self) {
        for running in self.all() {
            running.until_ended().await;
        }
    }

    /// Whether a turn of this session runs, or has failed and goes on with a retry.
    pub(super) fn go_on(&self, session: &SessionId) -> bool {
        let turns = self.lock();
        let mut kept = turns.by_request.values().map(|kept| &kept.running);
        kept.any(|running| running.session == *session && !matches!(running.ended(), Some(RunEnd::Done)))
    }

    /// Whether a turn that has not ended has shown a call whose id is wanted: what answers it comes too early.
    pub(super) fn show_call(&self, mut is_wanted: impl FnMut(&str) -> bool) -> bool {
        // No other request waits while what they have shown is looked through.
        self.all()
            .iter()
            .any(|running| running.shows_call(&mut is_wanted))
    }

    /// Joins an equal request, or begins a turn (docs/gateway.md, "Which session it is").
    ///
    /// A new turn belongs to `session`; one that goes on after an error, to that of the first.
    ///
    /// `stored` reads how far it had come in a process before this one; it is awaited only if this one does not know the request.
    pub(super) async fn join<E>(
        &self,
        request: Digest,
        is_retry: bool,
        session: &SessionId,
        stored: impl Future<Output = Result<Option<Checkpoint>, E>>,
    ) -> Result<Joined, E> {
        // No equal request begins a turn while `stored` is read: what it does would not be in there, and would be done again.
        let _alone = self.joining.lock(request).await;
        let checkpoint = loop {
            match self.earlier(request, is_retry) {
                Earlier::Joined(watcher) => return Ok(Joined::Same(watcher)),
                // How far it has come by then is looked for anew.
                Earlier::Abandoned(running) => running.until_ended().await,
                Earlier::Ended(checkpoint) => break checkpoint,
                Earlier::Unknown => {
                    let stored = stored.await?;
                    let stored = stored.filter(|stored| is_retry || !stored.is_complete());
                    break stored.map(Box::new);
                }
            }
        };
        Ok(self.begin(request, session, checkpoint))
    }

    fn earlier(&self, request: Digest, is_retry: bool) -> Earlier {
        let mut turns = self.lock();
        turns.remove_expired();
        let kept = turns.by_request.get(&request);
        // Behind one that runs, it may have expired and still be there.
        let Some(Kept { running, .. }) = kept.filter(|kept| !kept.running.is_expired()) else {
            return Earlier::Unknown;
        };
        let Some(watcher) = running.watch() else {
            return Earlier::Abandoned(Arc::clone(running));
        };
        match running.ended() {
            None => Earlier::Joined(watcher),
            Some(RunEnd::Done) if is_retry || !running.is_delivered() => Earlier::Joined(watcher),
            Some(RunEnd::Done) => Earlier::Ended(None),
            Some(RunEnd::Failed { .. }) => Earlier::Ended(running.checkpoint().map(Box::new)),
        }
    }

    /// Begins a turn; one that is complete has its end already.
    fn begin(&self, request: Digest, session: &SessionId, checkpoint: Option<Box<Checkpoint>>) -> Joined {
        let running = Arc::new(match &checkpoint {
            Some(checkpoint) => Running::from_checkpoint(checkpoint, &self.bytes),
            None => Running::new(session.clone(), &self.bytes),
        });
        let watcher = Watcher::new(&running, &mut running.lock());
        {
            let mut turns = self.lock();
            turns.insert(request, Arc::clone(&running));
            turns.make_room(&self.bytes);
        }
        if checkpoint
            .as_ref()
            .is_some_and(|checkpoint| checkpoint.is_complete())
        {
            running.end(RunEnd::Done);
            return Joined::Same(watcher);
        }
        Joined::New(running, watcher, checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::chain::ChainKey;
    use crate::wire::block::Block;

    /// A request may answer as many calls as it has room for: none is looked for on its own.
    #[test]
    fn calls_are_looked_for_once_and_other_requests_do_not_wait() {
        let turns = RunningTurns::default();
        let session = SessionId::random();
        let request = |index: u8| ChainKey::new([1; 32]).digest(&[&[index]]);
        let call = |id: String| Sent::Block {
            index: 0,
            block: Block::new(format!(
                r#"{{"type":"tool_use","id":"{id}","name":"n","input":{{}}}}"#
            )),
        };
        let begun: Vec<_> = (0..3)
            .map(|turn| {
                let Joined::New(running, watcher, None) = turns.begin(request(turn), &session, None) else {
                    panic!("a new turn");
                };
                (0..10).for_each(|index| running.send(call(format!("{turn}-{index}"))));
                (running, watcher)
            })
            .collect();
        begun[0].0.end(RunEnd::Done);
        let mut looked_at = Vec::new();
        assert!(!turns.show_call(|id| {
            assert!(turns.turns.try_lock().is_ok(), "others wait");
            looked_at.push(id.to_owned());
            false
        }));
        looked_at.sort();
        let shown: Vec<_> = (10..30)
            .map(|call| format!("{}-{}", call / 10, call % 10))
            .collect();
        assert_eq!(looked_at, shown, "those of the turns that run");
        assert!(turns.show_call(|id| id == "2-7") && !turns.show_call(|id| id == "0-7"));
    }

    /// Else its request would begin anew, though the store has how far it had come.
    #[tokio::test]
    async fn turns_that_ended_long_ago_are_not_known() {
        let turns = RunningTurns::default();
        let request = ChainKey::new([1; 32]).digest(&[b"request"]);
        let (session, nothing) = (SessionId::random(), async { Ok::<_, ()>(None) });
        // Behind one that runs, what is kept is not removed yet.
        let other = ChainKey::new([1; 32]).digest(&[b"other"]);
        let _runs = turns.begin(other, &session, None);
        let joined = turns.join(request, false, &session, nothing).await;
        let Ok(Joined::New(running, watcher, None)) = joined else {
            panic!("a new turn");
        };
        running.end(RunEnd::Failed {
            status: StatusCode::BAD_GATEWAY,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        });
        drop(watcher);
        assert!(matches!(turns.earlier(request, true), Earlier::Ended(None)));
        running.lock().ended_at = Instant::now().checked_sub(2 * KEPT_FOR);
        assert!(running.is_expired());
        assert!(matches!(turns.earlier(request, true), Earlier::Unknown));
    }
}
