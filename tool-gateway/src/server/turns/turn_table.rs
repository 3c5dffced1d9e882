//! [`TurnTable`]: finds the turn of an equal request, or creates one.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::checkpoint::Checkpoint;
use super::kept_bytes::KeptBytes;
use super::locks::Locks;
use super::running_turn::{RunEnd, RunningTurn, Watcher};
use crate::session::chain::Digest;
use crate::session::principal::Principal;
use crate::session::record::SessionId;

/// Running and recently ended turns, by the digest of their request.
#[derive(Debug, Default)]
pub(crate) struct TurnTable {
    turns: Mutex<Entries>,
    /// Locks by request digest, so that equal requests look for their turn one at a time.
    joining: Locks<Digest>,
    /// Number of bytes that the turns of all clients keep for retries.
    bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Entries {
    by_request: HashMap<Digest, Kept>,
    clients: HashMap<Principal, ClientTurns>,
    /// Number of turns that were created.
    number: u64,
}

/// Turns of a client.
#[derive(Debug)]
struct ClientTurns {
    /// Request digests with the numbers of their turns, the oldest first. Of two turns of one request, the later one is kept.
    order: VecDeque<Position>,
    bytes: KeptBytes,
}

/// The position of a turn in the order of a client: the request of the turn, and its number among all turns.
#[derive(Debug)]
struct Position {
    request: Digest,
    number: u64,
}

/// A turn that is kept for retries.
#[derive(Debug)]
struct Kept {
    number: u64,
    running: Arc<RunningTurn>,
}

impl ClientTurns {
    fn new(of_all: &Arc<AtomicUsize>) -> Self {
        Self {
            order: VecDeque::new(),
            bytes: KeptBytes::for_client(of_all),
        }
    }

    /// Removes the turn at this position of the order.
    fn remove(&mut self, by_request: &mut HashMap<Digest, Kept>, place: usize) {
        if let Some(removed) = self.order.remove(place)
            && turn_at(by_request, &removed).is_some()
        {
            by_request.remove(&removed.request);
        }
    }

    /// Removes expired turns, the oldest first.
    fn remove_expired(&mut self, by_request: &mut HashMap<Digest, Kept>) {
        while let Some(oldest) = self.order.front()
            && turn_at(by_request, oldest).is_none_or(is_expired)
        {
            self.remove(by_request, 0);
        }
    }

    /// Removes the oldest ended turn, preferably one whose answer was delivered. Returns whether a turn was removed.
    fn remove_ended(&mut self, by_request: &mut HashMap<Digest, Kept>) -> bool {
        // A turn whose answer was delivered is also in the store.
        let is_delivered =
            |running: &RunningTurn| matches!(running.ended(), Some(RunEnd::Done)) && running.is_delivered();
        let oldest = |is_wanted: &dyn Fn(&RunningTurn) -> bool| {
            let mut order = self.order.iter();
            order.position(|place| turn_at(by_request, place).is_none_or(is_wanted))
        };
        let Some(oldest) = oldest(&is_delivered).or_else(|| oldest(&RunningTurn::has_ended)) else {
            return false;
        };
        self.remove(by_request, oldest);
        true
    }
}

/// Returns the turn at a position of a client's order, unless a later turn has replaced it.
fn turn_at<'t>(by_request: &'t HashMap<Digest, Kept>, position: &Position) -> Option<&'t RunningTurn> {
    let kept = by_request.get(&position.request)?;
    (kept.number == position.number).then_some(&*kept.running)
}

impl Entries {
    fn insert(&mut self, client: &Principal, request: Digest, running: Arc<RunningTurn>) {
        self.number += 1;
        let number = self.number;
        self.by_request.insert(request, Kept { number, running });
        if let Some(of_client) = self.clients.get_mut(client) {
            of_client.order.push_back(Position { request, number });
        }
    }

    /// Returns the counter of a client's bytes.
    fn bytes_of(&mut self, client: &Principal, of_all: &Arc<AtomicUsize>) -> KeptBytes {
        let of_client = self.clients.entry(client.clone());
        of_client
            .or_insert_with(|| ClientTurns::new(of_all))
            .bytes
            .clone()
    }

    /// Removes the expired turns of a client.
    fn remove_expired_of(&mut self, client: &Principal) {
        if let Some(of_client) = self.clients.get_mut(client) {
            of_client.remove_expired(&mut self.by_request);
        }
    }

    /// Removes the expired turns of all clients.
    fn remove_expired(&mut self) {
        let by_request = &mut self.by_request;
        self.clients.retain(|_, of_client| {
            of_client.remove_expired(by_request);
            // A new turn may already have its counter, but not yet an entry in the order.
            !of_client.order.is_empty() || of_client.bytes.is_used()
        });
    }

    /// Removes ended turns until the limits hold: turns of a client above its own limits, and, while all clients keep too many bytes, turns
    /// of the client that keeps the most.
    fn make_room(&mut self, client: &Principal, of_all: &AtomicUsize) {
        let by_request = &mut self.by_request;
        if let Some(of_client) = self.clients.get_mut(client) {
            let is_over = |client: &ClientTurns| {
                client.order.len() > KEPT_PER_CLIENT || client.bytes.of_client() > KEPT_BYTES_PER_CLIENT
            };
            while is_over(of_client) && of_client.remove_ended(by_request) {}
        }
        while of_all.load(Ordering::Relaxed) > KEPT_BYTES {
            let largest = self
                .clients
                .values_mut()
                .max_by_key(|of_client| of_client.bytes.of_client());
            if !largest.is_some_and(|largest| largest.remove_ended(by_request)) {
                break;
            }
        }
    }
}

/// Maximum number of turns of a client that are kept for retries, and of the bytes of their output.
pub(crate) const KEPT_PER_CLIENT: usize = 1_000;
pub(crate) const KEPT_BYTES_PER_CLIENT: usize = 64 << 20;

/// Maximum number of bytes of all clients' output that are kept for retries.
const KEPT_BYTES: usize = 256 << 20;

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

    /// Returns whether a running turn of this client has sent a call with a matching id, so that the call's result is early.
    pub(crate) fn show_call(&self, client: &Principal, mut is_wanted: impl FnMut(&str) -> bool) -> bool {
        // Other requests do not wait for the search.
        self.all_of(client)
            .iter()
            .any(|running| running.shows_call(&mut is_wanted))
    }

    /// Returns all kept turns of a client.
    fn all_of(&self, client: &Principal) -> Vec<Arc<RunningTurn>> {
        let turns = self.lock();
        let order = turns.clients.get(client).map(|of_client| &of_client.order);
        let kept = order.into_iter().flatten().filter_map(|position| {
            turns
                .by_request
                .get(&position.request)
                .filter(|kept| kept.number == position.number)
        });
        kept.map(|kept| Arc::clone(&kept.running)).collect()
    }

    /// Removes expired turns.
    pub(crate) fn remove_expired(&self) {
        self.lock().remove_expired();
    }

    /// Joins the turn of an equal request, or creates a turn (docs/gateway.md, "Which session it is").
    ///
    /// A new turn belongs to `session`; a turn that continues after an error belongs to the session of its first request.
    ///
    /// `stored` reads the checkpoint of an earlier process, and is awaited only if this process does not have the request's turn.
    pub(crate) async fn join<E>(
        &self,
        client: &Principal,
        request: Digest,
        is_retry: bool,
        session: &SessionId,
        stored: impl Future<Output = Result<Option<Checkpoint>, E>>,
    ) -> Result<Joined, E> {
        // While `stored` is read, no equal request may begin a turn: the effects of that turn would not be in the checkpoint, and would be
        // repeated.
        let _alone = self.joining.lock(request).await;
        let checkpoint = loop {
            match self.earlier(client, request, is_retry) {
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
        Ok(self.begin(client, request, session, checkpoint))
    }

    fn earlier(&self, client: &Principal, request: Digest, is_retry: bool) -> Earlier {
        let mut turns = self.lock();
        turns.remove_expired_of(client);
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
    fn begin(
        &self,
        client: &Principal,
        request: Digest,
        session: &SessionId,
        checkpoint: Option<Box<Checkpoint>>,
    ) -> Joined {
        let bytes = self.lock().bytes_of(client, &self.bytes);
        let (running, watcher) = match &checkpoint {
            Some(checkpoint) => RunningTurn::from_checkpoint(checkpoint, &bytes),
            None => RunningTurn::begin(session.clone(), &bytes),
        };
        {
            let mut turns = self.lock();
            turns.insert(client, request, Arc::clone(&running));
            turns.make_room(client, &self.bytes);
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

    fn ada() -> Principal {
        Principal::from_key_name("ada")
    }

    fn request(name: &str) -> Digest {
        ChainKey::new([1; 32]).digest(&[name.as_bytes()])
    }

    /// Begins a turn that fails with this many bytes.
    fn fail(turns: &TurnTable, client: &Principal, name: &str, bytes: usize) {
        let joined = turns.begin(client, request(name), &SessionId::random(), None);
        let Joined::New(running, _, None) = joined else {
            panic!("a new turn");
        };
        running.end(RunEnd::Failed {
            status: StatusCode::BAD_GATEWAY,
            headers: HeaderMap::new(),
            body: vec![b'x'; bytes].into(),
        });
    }

    fn is_known(turns: &TurnTable, client: &Principal, name: &str) -> bool {
        !matches!(turns.earlier(client, request(name), true), Earlier::Unknown)
    }

    /// Otherwise a client with many requests would displace the turns of others, whose calls would run twice.
    #[test]
    fn failed_turns_of_a_client_displace_no_turn_of_another() {
        let (turns, eve) = (TurnTable::default(), Principal::from_key_name("eve"));
        fail(&turns, &ada(), "ada", 1);
        for number in 0..=KEPT_PER_CLIENT {
            fail(&turns, &eve, &format!("eve {number}"), 1);
        }
        assert!(is_known(&turns, &ada(), "ada"));
        assert!(!is_known(&turns, &eve, "eve 0") && is_known(&turns, &eve, "eve 1"));
        // The bytes of a client and of all clients: the client that keeps the most loses turns.
        for number in 0..70 {
            fail(&turns, &eve, &format!("large {number}"), 1 << 20);
        }
        assert!(turns.bytes.load(Ordering::Relaxed) < KEPT_BYTES_PER_CLIENT + (4 << 20));
        for client in 0..8 {
            let client = Principal::from_key_name(&format!("client {client}"));
            fail(&turns, &client, "first", 30 << 20);
            fail(&turns, &client, "second", 20 << 20);
        }
        assert!(turns.bytes.load(Ordering::Relaxed) < KEPT_BYTES + (32 << 20));
        assert!(is_known(&turns, &ada(), "ada"));
    }

    #[tokio::test(start_paused = true)]
    async fn expired_turns_of_other_clients_are_removed() {
        let (turns, eve) = (TurnTable::default(), Principal::from_key_name("eve"));
        fail(&turns, &eve, "eve", 1000);
        tokio::time::advance(2 * KEPT_FOR).await;
        turns.remove_expired();
        assert_eq!(turns.bytes.load(Ordering::Relaxed), 0);
        assert!(turns.lock().clients.is_empty());
    }

    /// A request may answer many calls: one search looks for all of them.
    #[test]
    fn calls_are_looked_for_once_and_other_requests_do_not_wait() {
        let turns = TurnTable::default();
        let session = SessionId::random();
        let request = |index: usize| request(&index.to_string());
        let call = |id: String| Sent::Block {
            index: 0,
            block: Block::new(format!(
                r#"{{"type":"tool_use","id":"{id}","name":"n","input":{{}}}}"#
            )),
        };
        let begun: Vec<_> = (0..3)
            .map(|turn| {
                let Joined::New(running, watcher, None) = turns.begin(&ada(), request(turn), &session, None)
                else {
                    panic!("a new turn");
                };
                (0..10).for_each(|index| running.send(call(format!("{turn}-{index}"))));
                (running, watcher)
            })
            .collect();
        begun[0].0.end(RunEnd::Done);
        let mut looked_at = Vec::new();
        assert!(!turns.show_call(&ada(), |id| {
            assert!(turns.turns.try_lock().is_ok(), "others wait");
            looked_at.push(id.to_owned());
            false
        }));
        looked_at.sort();
        let shown: Vec<_> = (10..30)
            .map(|call| format!("{}-{}", call / 10, call % 10))
            .collect();
        assert_eq!(looked_at, shown, "those of the turns that run");
        let finds = |client: &Principal, wanted: &str| turns.show_call(client, |id| id == wanted);
        assert!(finds(&ada(), "2-7") && !finds(&ada(), "0-7"));
        // The id of another client's call is an unknown id.
        assert!(!finds(&Principal::from_key_name("eve"), "2-7"));
    }

    /// Otherwise the request would begin again, though the store has its checkpoint.
    #[tokio::test(start_paused = true)]
    async fn turns_that_ended_long_ago_are_not_known() {
        let turns = TurnTable::default();
        let request = ChainKey::new([1; 32]).digest(&[b"request"]);
        let (session, nothing) = (SessionId::random(), async { Ok::<_, ()>(None) });
        // While an earlier turn runs, later ones are not removed.
        let other = ChainKey::new([1; 32]).digest(&[b"other"]);
        let _runs = turns.begin(&ada(), other, &session, None);
        let joined = turns.join(&ada(), request, false, &session, nothing).await;
        let Ok(Joined::New(running, watcher, None)) = joined else {
            panic!("a new turn");
        };
        running.end(RunEnd::Failed {
            status: StatusCode::BAD_GATEWAY,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        });
        drop(watcher);
        assert!(matches!(
            turns.earlier(&ada(), request, true),
            Earlier::Ended(None)
        ));
        tokio::time::advance(2 * KEPT_FOR).await;
        assert!(matches!(turns.earlier(&ada(), request, true), Earlier::Unknown));
    }
}
