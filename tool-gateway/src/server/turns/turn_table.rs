//! [`TurnTable`]: finds the turn of an equal request, or creates one.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::checkpoint::Checkpoint;
use super::locks::Locks;
use super::running_turn::{RunEnd, RunningTurn, Watcher};
use crate::session::chain::Digest;
use crate::session::record::SessionId;

/// Running and recently ended turns, by the digest of their request.
#[derive(Debug, Default)]
pub(crate) struct TurnTable {
    turns: Mutex<Entries>,
    /// Locks by request digest, so that equal requests look for their turn one at a time.
    joining: Locks<Digest>,
    /// Number of bytes that the turns keep for retries.
    bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Entries {
    by_request: HashMap<Digest, Kept>,
    /// Request digests with the numbers of their turns, the oldest first. Of two turns of one request, the later one is kept.
    order: VecDeque<(Digest, u64)>,
    /// Number of turns that were created.
    number: u64,
}

/// A turn that is kept for retries.
#[derive(Debug)]
struct Kept {
    number: u64,
    running: Arc<RunningTurn>,
}

impl Entries {
    fn insert(&mut self, request: Digest, running: Arc<RunningTurn>) {
        self.number += 1;
        let number = self.number;
        self.by_request.insert(request, Kept { number, running });
        self.order.push_back((request, number));
    }

    /// Returns the turn at this position, unless a later turn has replaced it.
    fn at(&self, (request, number): &(Digest, u64)) -> Option<&RunningTurn> {
        let kept = self.by_request.get(request)?;
        (kept.number == *number).then_some(&*kept.running)
    }

    /// Removes the turn at this position of the order.
    fn remove(&mut self, place: usize) {
        if let Some(removed) = self.order.remove(place)
            && self.at(&removed).is_some()
        {
            self.by_request.remove(&removed.0);
        }
    }

    /// Returns the position of the oldest turn that matches or was replaced.
    fn oldest(&self, mut is_wanted: impl FnMut(&RunningTurn) -> bool) -> Option<usize> {
        let mut order = self.order.iter();
        order.position(|place| self.at(place).is_none_or(&mut is_wanted))
    }

    /// Removes expired turns, the oldest first.
    fn remove_expired(&mut self) {
        while let Some(oldest) = self.order.front()
            && self.at(oldest).is_none_or(is_expired)
        {
            self.remove(0);
        }
    }

    /// Removes ended turns until the limits hold.
    fn make_room(&mut self, bytes: &AtomicUsize) {
        while self.order.len() > KEPT || bytes.load(Ordering::Relaxed) > KEPT_BYTES {
            // A turn whose answer was delivered is also in the store.
            let is_delivered = |running: &RunningTurn| {
                matches!(running.ended(), Some(RunEnd::Done)) && running.is_delivered()
            };
            let oldest = self.oldest(is_delivered);
            let Some(oldest) = oldest.or_else(|| self.oldest(RunningTurn::has_ended)) else {
                break;
            };
            self.remove(oldest);
        }
    }
}

/// Maximum number of turns that are kept for retries, and maximum number of bytes of their output.
pub(crate) const KEPT: usize = 1_000;
pub(crate) const KEPT_BYTES: usize = 64 << 20;

/// Time for which an ended turn is kept for retries.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(600);

/// Returns whether a turn ended so long ago that no client retries its request.
fn is_expired(running: &RunningTurn) -> bool {
    running.ended_for().is_some_and(|time| time > KEPT_FOR)
}

/// Result of [`TurnTable::join`].
pub(crate) enum Joined {
    /// The request is a retry and watches the turn of an earlier request.
    Same(Watcher),
    /// The request begins a turn, or continues a failed turn after its last complete round.
    New(Arc<RunningTurn>, Watcher, Option<Box<Checkpoint>>),
}

/// Turn of an earlier, equal request.
enum Earlier {
    /// The turn, with a new watcher.
    Joined(Watcher),
    /// The turn was abandoned, but calls run that cannot be stopped. After their end, a retry continues from the checkpoint.
    Abandoned(Arc<RunningTurn>),
    /// The turn has ended. The request begins a new branch, or continues after the last complete round of a failed turn.
    Ended(Option<Box<Checkpoint>>),
    /// This process does not have the turn, or no longer.
    Unknown,
}

impl TurnTable {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        // No change can panic halfway.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all kept turns.
    fn all(&self) -> Vec<Arc<RunningTurn>> {
        let running = |kept: &Kept| Arc::clone(&kept.running);
        self.lock().by_request.values().map(running).collect()
    }

    /// Waits for the end of all running turns.
    pub(crate) async fn until_all_ended(&self) {
        for running in self.all() {
            running.until_ended().await;
        }
    }

    /// Returns whether a turn of this session runs, or has failed and may continue with a retry.
    pub(crate) fn has_active(&self, session: &SessionId) -> bool {
        let turns = self.lock();
        let mut kept = turns.by_request.values().map(|kept| &kept.running);
        kept.any(|running| running.session == *session && !matches!(running.ended(), Some(RunEnd::Done)))
    }

    /// Returns whether a running turn has sent a call with a matching id, so that the call's result is early.
    pub(crate) fn show_call(&self, mut is_wanted: impl FnMut(&str) -> bool) -> bool {
        // Other requests do not wait for the search.
        self.all()
            .iter()
            .any(|running| running.shows_call(&mut is_wanted))
    }

    /// Joins the turn of an equal request, or creates a turn (docs/gateway.md, "Which session it is").
    ///
    /// A new turn belongs to `session`; a turn that continues after an error belongs to the session of its first request.
    ///
    /// `stored` reads the checkpoint of an earlier process, and is awaited only if this process does not have the request's turn.
    pub(crate) async fn join<E>(
        &self,
        request: Digest,
        is_retry: bool,
        session: &SessionId,
        stored: impl Future<Output = Result<Option<Checkpoint>, E>>,
    ) -> Result<Joined, E> {
        // While `stored` is read, no equal request may begin a turn: the effects of that turn would not be in the checkpoint, and would be
        // repeated.
        let _alone = self.joining.lock(request).await;
        let checkpoint = loop {
            match self.earlier(request, is_retry) {
                Earlier::Joined(watcher) => return Ok(Joined::Same(watcher)),
                // The next look-up finds the checkpoint of the ended turn.
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
        // The table may have an expired turn behind an earlier one that still runs.
        let Some(Kept { running, .. }) = kept.filter(|kept| !is_expired(&kept.running)) else {
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

    /// Creates a turn. A complete checkpoint ends the turn at once.
    fn begin(&self, request: Digest, session: &SessionId, checkpoint: Option<Box<Checkpoint>>) -> Joined {
        let (running, watcher) = match &checkpoint {
            Some(checkpoint) => RunningTurn::from_checkpoint(checkpoint, &self.bytes),
            None => RunningTurn::begin(session.clone(), &self.bytes),
        };
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
    use axum::http::{HeaderMap, StatusCode};
    use bytes::Bytes;

    use super::*;
    use crate::session::chain::ChainKey;
    use crate::turn::action::Sent;
    use crate::wire::block::Block;

    /// A request may answer many calls: one search looks for all of them.
    #[test]
    fn calls_are_looked_for_once_and_other_requests_do_not_wait() {
        let turns = TurnTable::default();
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

    /// Otherwise the request would begin again, though the store has its checkpoint.
    #[tokio::test(start_paused = true)]
    async fn turns_that_ended_long_ago_are_not_known() {
        let turns = TurnTable::default();
        let request = ChainKey::new([1; 32]).digest(&[b"request"]);
        let (session, nothing) = (SessionId::random(), async { Ok::<_, ()>(None) });
        // While an earlier turn runs, later ones are not removed.
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
        tokio::time::advance(2 * KEPT_FOR).await;
        assert!(matches!(turns.earlier(request, true), Earlier::Unknown));
    }
}
