//! [`TurnTable`]: finds the turn of an equal request, or creates one.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::checkpoint::Checkpoint;
use super::kept_bytes::KeptBytes;
use super::locks::Locks;
use super::running_turn::{RunEnd, RunningTurn, Successor, Watcher};
use super::stored_turns::{ClaimedTurn, StoredTurns};
use crate::fold_map::FoldMap;
use crate::session::chain::Digest;
use crate::session::principal::Principal;
use crate::session::record::SessionId;
use crate::session::store::Lease;
use crate::wire::error::ApiError;

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
    /// Turns by the identity of their request, the oldest first.
    by_request: ByRequest,
    clients: FoldMap<Principal, ClientTurns>,
    /// Number of turns that were created.
    number: u64,
}

type ByRequest = FoldMap<Digest, Vec<Kept>>;

/// Turns of a client.
#[derive(Debug)]
struct ClientTurns {
    /// Request digests with the numbers of their turns, the oldest first.
    order: VecDeque<Position>,
    bytes: KeptBytes,
}

/// The position of a turn in the order of a client: the request of the turn, and its number among all turns.
#[derive(Debug)]
struct Position {
    request: Digest,
    number: u64,
}

impl Position {
    fn find<'t>(&self, by_request: &'t ByRequest) -> Option<&'t Kept> {
        let mut kept = by_request.get(&self.request)?.iter();
        kept.find(|kept| kept.number == self.number)
    }

    fn remove_from(&self, by_request: &mut ByRequest) {
        if let Entry::Occupied(mut kept) = by_request.entry(self.request) {
            kept.get_mut().retain(|kept| kept.number != self.number);
            if kept.get().is_empty() {
                kept.remove();
            }
        }
    }
}

/// A turn that is kept for retries.
#[derive(Debug)]
struct Kept {
    number: u64,
    /// Number of the turn's sample among the samples of equal requests.
    sample: u64,
    idempotency_key: Option<Digest>,
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
    fn remove(&mut self, by_request: &mut ByRequest, place: usize) {
        if let Some(removed) = self.order.remove(place) {
            removed.remove_from(by_request);
        }
    }

    /// Removes expired turns, the oldest first.
    fn remove_expired(&mut self, by_request: &mut ByRequest) {
        while let Some(oldest) = self.order.front()
            && turn_at(by_request, oldest).is_none_or(is_expired)
        {
            self.remove(by_request, 0);
        }
    }

    /// Removes the oldest ended turn except `kept`, preferably one whose answer was delivered. Returns whether a turn was removed.
    fn remove_ended(&mut self, by_request: &mut ByRequest, kept: Option<&RunningTurn>) -> bool {
        // A turn whose answer was delivered is also in the store.
        let is_delivered =
            |running: &RunningTurn| matches!(running.ended(), Some(RunEnd::Done)) && running.is_delivered();
        let oldest = |is_wanted: &dyn Fn(&RunningTurn) -> bool| {
            let mut order = self.order.iter();
            let is_kept = |turn: &RunningTurn| kept.is_some_and(|kept| std::ptr::eq(kept, turn));
            order.position(|place| {
                turn_at(by_request, place).is_none_or(|turn| !is_kept(turn) && is_wanted(turn))
            })
        };
        let Some(oldest) = oldest(&is_delivered).or_else(|| oldest(&RunningTurn::has_ended)) else {
            return false;
        };
        self.remove(by_request, oldest);
        true
    }
}

/// Returns the turn at a position of a client's order, unless a later turn has replaced it.
fn turn_at<'t>(by_request: &'t ByRequest, position: &Position) -> Option<&'t RunningTurn> {
    Some(&position.find(by_request)?.running)
}

impl Entries {
    /// Inserts a turn, in place of an earlier turn of this sample.
    fn insert(
        &mut self,
        client: &Principal,
        request: &IncomingRequest,
        sample: u64,
        running: Arc<RunningTurn>,
    ) {
        self.number += 1;
        let number = self.number;
        // Few requests are equal.
        let kept = self.by_request.entry(request.identity);
        let kept = kept.or_insert_with(|| Vec::with_capacity(1));
        kept.retain(|kept| kept.sample != sample);
        kept.push(Kept {
            number,
            sample,
            idempotency_key: request.idempotency_key,
            running,
        });
        if let Some(of_client) = self.clients.get_mut(client) {
            of_client.order.push_back(Position {
                request: request.identity,
                number,
            });
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

    /// Removes ended turns until the limits hold. First, turns of a client above its limits are removed; then, if all clients together keep
    /// too many bytes, turns of the client with the most bytes. The turn `kept` stays, even if it is larger than the limits.
    fn make_room(&mut self, client: &Principal, of_all: &AtomicUsize, kept: Option<&RunningTurn>) {
        let by_request = &mut self.by_request;
        if let Some(of_client) = self.clients.get_mut(client) {
            let is_over = |client: &ClientTurns| {
                client.order.len() > KEPT_PER_CLIENT || client.bytes.of_client() > KEPT_BYTES_PER_CLIENT
            };
            while is_over(of_client) && of_client.remove_ended(by_request, kept) {}
        }
        while of_all.load(Ordering::Relaxed) > KEPT_BYTES {
            let largest = self
                .clients
                .values_mut()
                .max_by_key(|of_client| of_client.bytes.of_client());
            if !largest.is_some_and(|largest| largest.remove_ended(by_request, kept)) {
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

/// Request that may join the turn of an equal request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IncomingRequest {
    /// Digest that equal requests share.
    pub(crate) identity: Digest,
    /// Whether the client marks the request as a retry.
    pub(crate) is_retry: bool,
    /// Digest of the client's key for all attempts of a request.
    pub(crate) idempotency_key: Option<Digest>,
}

impl IncomingRequest {
    /// Returns the lease of a sample in a store that only this gateway uses.
    pub(crate) fn local_lease(&self, sample: u64) -> Lease {
        Lease {
            request: self.identity,
            sample,
            fence: 0,
        }
    }

    /// Returns the turn that the request joins. The turns are equal requests, the oldest first.
    ///
    /// Without a sign of a retry, an equal request is another sample of the answer, unless the earlier client has disconnected without its
    /// answer.
    fn choose<'k>(&self, turns: &[&'k Kept]) -> Option<&'k Kept> {
        let find = |is_wanted: &dyn Fn(&Kept) -> bool| turns.iter().copied().find(|kept| is_wanted(kept));
        let key = self.idempotency_key;
        if let Some(same_key) = find(&|kept| key.is_some() && kept.idempotency_key == key) {
            return Some(same_key);
        }
        let is_left = find(&|kept| kept.running.is_left());
        if is_left.is_some() || !self.is_retry {
            return is_left;
        }
        // Different keys belong to different requests.
        let is_possible = |kept: &Kept| key.is_none() || kept.idempotency_key.is_none();
        find(&|kept| is_possible(kept) && !kept.running.is_received())
            .or_else(|| turns.iter().copied().rfind(|kept| is_possible(kept)))
    }
}

/// Result of [`TurnTable::join`].
pub(crate) enum Joined {
    /// The request is a retry and watches the turn of an earlier request.
    Same(Watcher),
    /// The request begins a turn, or continues a failed turn after its last complete round.
    New {
        running: Arc<RunningTurn>,
        watcher: Watcher,
        checkpoint: Option<Box<Checkpoint>>,
        /// Lease of the turn. Concurrent equal requests have different samples.
        lease: Lease,
    },
}

/// Turn of an earlier, equal request.
enum Earlier {
    /// The turn, with a new watcher.
    Joined(Watcher),
    /// The turn was abandoned, but calls run that cannot be stopped. After their end, a retry continues from the checkpoint.
    Abandoned(Successor),
    /// The turn has failed. The request continues after the last complete round.
    Failed(u64, Option<Box<Checkpoint>>),
    /// The request joins no turn of this process.
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
        self.lock().by_request.values().flatten().map(running).collect()
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
        let mut kept = turns.by_request.values().flatten().map(|kept| &kept.running);
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
        let kept = order
            .into_iter()
            .flatten()
            .filter_map(|position| position.find(&turns.by_request));
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
    /// `stored` finds the turns of other processes, and is used only if this process has no turn that the request joins.
    pub(crate) async fn join(
        &self,
        client: &Principal,
        request: &IncomingRequest,
        session: &SessionId,
        stored: &impl StoredTurns,
    ) -> Result<Joined, ApiError> {
        let mut abandoned: Option<Successor> = None;
        loop {
            {
                // While `stored` is read, no equal request may begin a turn: the effects of that turn would not be in the checkpoint, and
                // would be repeated.
                let _alone = self.joining.lock(request.identity).await;
                let failed = match self.earlier(client, request, abandoned.as_ref()) {
                    Earlier::Joined(watcher) => return Ok(Joined::Same(watcher)),
                    Earlier::Abandoned(successor) => {
                        abandoned = Some(successor);
                        None
                    }
                    Earlier::Failed(sample, checkpoint) if !stored.is_shared() => {
                        let lease = request.local_lease(sample);
                        return Ok(self.begin(client, request, lease, session, checkpoint));
                    }
                    Earlier::Failed(sample, checkpoint) => Some((Some(sample), checkpoint)),
                    Earlier::Unknown => Some((None, None)),
                };
                if let Some((failed, checkpoint)) = failed {
                    let running = self.samples(request, failed);
                    if let Some(ClaimedTurn {
                        lease,
                        checkpoint: stored,
                    }) = stored.claim(&running).await?
                    {
                        // The store may have later steps, of another gateway. A call that has begun is in the store.
                        let own = checkpoint.filter(|_| failed == Some(lease.sample));
                        let checkpoint = stored.map(Box::new).or(own);
                        return Ok(self.begin(client, request, lease, session, checkpoint));
                    }
                    abandoned = None;
                }
            }
            // The next look-up finds the ended turn, here or in the store. Meanwhile, equal requests do not wait.
            match &abandoned {
                Some(abandoned) => abandoned.until_ended().await,
                None => tokio::time::sleep(POLL).await,
            }
        }
    }

    /// Ends a turn of a client, and removes earlier turns over the limits: concurrent turns can end after the last request of the client. The
    /// ended turn is kept until the next request, so that a retry finds it.
    pub(crate) fn end(&self, client: &Principal, running: &RunningTurn, end: RunEnd) {
        running.end(end);
        self.lock().make_room(client, &self.bytes, Some(running));
    }

    /// Finds the turn that a request joins: the turn whose end the request has awaited, or a turn of another equal request.
    fn earlier(
        &self,
        client: &Principal,
        request: &IncomingRequest,
        waited_for: Option<&Successor>,
    ) -> Earlier {
        let mut turns = self.lock();
        turns.remove_expired_of(client);
        let equal = turns.by_request.get(&request.identity).into_iter().flatten();
        // The table may have an expired turn behind an earlier one that still runs.
        let equal: Vec<&Kept> = equal.filter(|kept| !is_expired(&kept.running)).collect();
        let mut known = equal.iter().copied();
        let waited_for = known.find(|kept| waited_for.is_some_and(|turn| turn.succeeds(&kept.running)));
        let Some(Kept { running, sample, .. }) = waited_for.or_else(|| request.choose(&equal)) else {
            return Earlier::Unknown;
        };
        let Some(watcher) = running.watch() else {
            return Earlier::Abandoned(Successor::new(running));
        };
        match running.ended() {
            None | Some(RunEnd::Done) => Earlier::Joined(watcher),
            Some(RunEnd::Failed { .. }) => Earlier::Failed(*sample, running.checkpoint().map(Box::new)),
        }
    }

    /// Returns the samples of equal requests that this process has, except one.
    fn samples(&self, request: &IncomingRequest, but: Option<u64>) -> Vec<u64> {
        let turns = self.lock();
        let equal = turns.by_request.get(&request.identity).into_iter().flatten();
        let samples = equal.map(|kept| kept.sample);
        samples.filter(|sample| Some(*sample) != but).collect()
    }

    /// Creates a turn. A complete checkpoint ends the turn at once.
    fn begin(
        &self,
        client: &Principal,
        request: &IncomingRequest,
        lease: Lease,
        session: &SessionId,
        checkpoint: Option<Box<Checkpoint>>,
    ) -> Joined {
        let (running, watcher) = {
            let mut turns = self.lock();
            let bytes = turns.bytes_of(client, &self.bytes);
            let (running, watcher) = match &checkpoint {
                Some(checkpoint) => RunningTurn::from_checkpoint(checkpoint, &bytes),
                None => RunningTurn::begin(session.clone(), &bytes),
            };
            turns.insert(client, request, lease.sample, Arc::clone(&running));
            turns.make_room(client, &self.bytes, None);
            (running, watcher)
        };
        if checkpoint
            .as_ref()
            .is_some_and(|checkpoint| checkpoint.is_complete())
        {
            running.end(RunEnd::Done);
            return Joined::Same(watcher);
        }
        Joined::New {
            running,
            watcher,
            checkpoint,
            lease,
        }
    }
}

/// Time between two looks for the end of a turn of another gateway.
const POLL: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, StatusCode};
    use bytes::Bytes;
    use futures_util::FutureExt as _;

    use super::*;
    use crate::session::chain::ChainKey;
    use crate::turn::action::Sent;
    use crate::wire::block::Block;
    use crate::wire::event::StreamEvent;

    fn ada() -> Principal {
        Principal::from_key_name("ada")
    }

    fn request(name: &str) -> Digest {
        ChainKey::new([1; 32]).digest(&[name.as_bytes()])
    }

    fn first(name: &str) -> IncomingRequest {
        IncomingRequest {
            identity: request(name),
            is_retry: false,
            idempotency_key: None,
        }
    }

    /// A store without turns.
    struct Nothing;

    impl StoredTurns for Nothing {
        fn is_shared(&self) -> bool {
            false
        }

        async fn claim(&self, running: &[u64]) -> Result<Option<ClaimedTurn>, ApiError> {
            let mut samples = 0..=running.len() as u64;
            let free = samples.find(|sample| !running.contains(sample));
            Ok(Some(ClaimedTurn {
                lease: first("request").local_lease(free.unwrap()),
                checkpoint: None,
            }))
        }
    }

    fn retry(name: &str) -> IncomingRequest {
        IncomingRequest {
            is_retry: true,
            ..first(name)
        }
    }

    /// Begins a turn that fails with this many bytes.
    fn fail(turns: &TurnTable, client: &Principal, name: &str, bytes: usize) {
        let joined = turns.begin(
            client,
            &first(name),
            first(name).local_lease(0),
            &SessionId::random(),
            None,
        );
        let Joined::New {
            running,
            checkpoint: None,
            ..
        } = joined
        else {
            panic!("a new turn");
        };
        running.end(RunEnd::Failed {
            status: StatusCode::BAD_GATEWAY,
            headers: HeaderMap::new(),
            body: vec![b'x'; bytes].into(),
        });
    }

    /// Otherwise the answers of many concurrent requests would be kept until the next request of the client.
    #[test]
    fn concurrent_turns_over_the_limit_are_removed_at_their_end() {
        let turns = TurnTable::default();
        let begun = ["a", "b", "c"].map(|name| {
            let Joined::New { running, .. } = turns.begin(
                &ada(),
                &first(name),
                first(name).local_lease(0),
                &SessionId::random(),
                None,
            ) else {
                panic!("a new turn");
            };
            running
        });
        // Each turn is larger than the limit of the client.
        for running in &begun {
            let end = RunEnd::failed(StatusCode::BAD_GATEWAY, vec![b'x'; KEPT_BYTES_PER_CLIENT + 1]);
            turns.end(&ada(), running, end);
            assert!(
                Arc::strong_count(running) > 1,
                "the turn is kept for its own retry"
            );
        }
        let known = ["a", "b", "c"].map(|name| is_known(&turns, &ada(), name));
        assert_eq!(known, [false, false, true]);
        drop(begun);
        assert!(turns.bytes.load(Ordering::Relaxed) < KEPT_BYTES_PER_CLIENT + 10_000);
    }

    fn is_known(turns: &TurnTable, client: &Principal, name: &str) -> bool {
        !matches!(turns.earlier(client, &retry(name), None), Earlier::Unknown)
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

    /// A single search finds all calls that a request answers, since a request may answer many.
    #[test]
    fn calls_are_looked_for_once_and_other_requests_do_not_wait() {
        let turns = TurnTable::default();
        let session = SessionId::random();

        let call = |id: String| Sent::Block {
            index: 0,
            block: Block::new(format!(
                r#"{{"type":"tool_use","id":"{id}","name":"n","input":{{}}}}"#
            )),
        };
        let begun: Vec<_> = (0..3)
            .map(|turn| {
                let Joined::New {
                    running,
                    watcher,
                    checkpoint: None,
                    ..
                } = turns.begin(
                    &ada(),
                    &first(&turn.to_string()),
                    first(&turn.to_string()).local_lease(0),
                    &session,
                    None,
                )
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
        let (session, nothing) = (SessionId::random(), Nothing);
        // While an earlier turn runs, later ones are not removed.
        let _runs = turns.begin(
            &ada(),
            &first("other"),
            first("other").local_lease(0),
            &session,
            None,
        );
        let joined = turns.join(&ada(), &first("request"), &session, &nothing).await;
        let Ok(Joined::New {
            running,
            watcher,
            checkpoint: None,
            ..
        }) = joined
        else {
            panic!("a new turn");
        };
        running.end(RunEnd::Failed {
            status: StatusCode::BAD_GATEWAY,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        });
        drop(watcher);
        assert!(matches!(
            turns.earlier(&ada(), &retry("request"), None),
            Earlier::Failed(0, None)
        ));
        tokio::time::advance(2 * KEPT_FOR).await;
        assert!(matches!(
            turns.earlier(&ada(), &retry("request"), None),
            Earlier::Unknown
        ));
    }

    fn failed() -> RunEnd {
        RunEnd::Failed {
            status: StatusCode::BAD_GATEWAY,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    #[tokio::test]
    async fn requests_join_turns_without_clients_and_retries_the_oldest_unreceived_one() {
        let rows = [
            ("", None, None),
            // The turn runs with its client, its client has disconnected, or the turn has failed.
            ("r", None, Some(0)),
            ("a", Some(0), Some(0)),
            ("f", Some(0), Some(0)),
            // The turn has ended, and the answer was not received, or was.
            ("u", Some(0), Some(0)),
            ("d", None, Some(0)),
            ("rf", Some(1), Some(1)),
            ("ru", Some(1), Some(1)),
            ("fa", Some(0), Some(0)),
            ("rr", None, Some(0)),
            ("dr", None, Some(1)),
            ("dd", None, Some(1)),
            ("rdua", Some(2), Some(2)),
        ];
        for (states, by_request, by_retry) in rows {
            let (turns, session) = (TurnTable::default(), SessionId::random());
            let mut watchers = Vec::new();
            for (slot, state) in (0..).zip(states.chars()) {
                let begun = turns.begin(
                    &ada(),
                    &first("request"),
                    first("request").local_lease(slot),
                    &session,
                    None,
                );
                let Joined::New {
                    running, mut watcher, ..
                } = begun
                else {
                    panic!("a new turn");
                };
                match state {
                    'r' | 'a' => {}
                    'f' => running.end(failed()),
                    'u' => running.end(RunEnd::Done),
                    _ => {
                        running.send(Sent::Event(StreamEvent::MessageStop));
                        running.end(RunEnd::Done);
                        watcher.next().await;
                    }
                }
                if state == 'r' {
                    watchers.push(watcher);
                }
            }
            let chosen = |request: &IncomingRequest| {
                let turns = turns.lock();
                let equal = turns.by_request.get(&request.identity).into_iter().flatten();
                request.choose(&equal.collect::<Vec<_>>()).map(|kept| kept.sample)
            };
            let chosen = (chosen(&first("request")), chosen(&retry("request")));
            assert_eq!(chosen, (by_request, by_retry), "{states}");
        }
    }

    #[tokio::test]
    async fn requests_that_wait_for_an_abandoned_turn_are_its_clients() {
        let (turns, session) = (TurnTable::default(), SessionId::random());
        let begun = turns.begin(
            &ada(),
            &first("request"),
            first("request").local_lease(0),
            &session,
            None,
        );
        let Joined::New { running, watcher, .. } = begun else {
            panic!("a new turn");
        };
        drop(watcher);
        let nothing = Nothing;
        let (ada, request) = (ada(), first("request"));
        let mut waiting = Box::pin(turns.join(&ada, &request, &session, &nothing));
        assert!((&mut waiting).now_or_never().is_none());
        // Another equal request is a sample.
        let other = turns.join(&ada, &request, &session, &nothing).await.unwrap();
        assert!(matches!(other, Joined::New { lease, .. } if lease.sample == 1));
        // A request that no longer waits leaves the turn to others.
        drop(waiting);
        let mut waiting = Box::pin(turns.join(&ada, &request, &session, &nothing));
        assert!((&mut waiting).now_or_never().is_none());
        running.end(failed());
        let continued = waiting.await.unwrap();
        assert!(matches!(continued, Joined::New { lease, .. } if lease.sample == 0));
    }
}
