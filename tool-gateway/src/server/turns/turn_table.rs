//! [`TurnTable`]: finds the turn of an equal request, or creates one.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::checkpoint::Checkpoint;
use super::kept_turns::{IncomingRequest, Kept, KeptTurns, is_expired};
use super::locks::Locks;
use super::running_turn::{RunEnd, RunningTurn, Successor, Watcher};
use super::stored_turns::{ClaimedTurn, StoredTurns};
use crate::session::chain::Digest;
use crate::session::principal::Principal;
use crate::session::record::SessionId;
use crate::session::store::Lease;
use crate::wire::error::ApiError;

/// Running and recently ended turns, by the digest of their request.
#[derive(Debug, Default)]
pub(crate) struct TurnTable {
    turns: Mutex<KeptTurns>,
    /// Locks by request digest, so that equal requests look for their turn one at a time.
    joining: Locks<Digest>,
    /// Number of bytes that the turns of all clients keep for retries.
    bytes: Arc<AtomicUsize>,
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
    Failed(FailedTurn),
    /// The request joins no turn of this process.
    Unknown,
}

/// A failed turn of this process.
struct FailedTurn {
    lease: Lease,
    checkpoint: Option<Box<Checkpoint>>,
}

impl FailedTurn {
    /// Returns the checkpoint from which a request continues that has claimed a sample. The store has later steps if another gateway has
    /// stored them, if the turn has an answer, or if the number of the answered sample is used again, for a turn that begins anew. Otherwise,
    /// the store may lack the last steps of this process, whose write has failed.
    fn latest(self, claimed: ClaimedTurn) -> Option<Box<Checkpoint>> {
        let ClaimedTurn {
            lease,
            checkpoint: stored,
            stored_fence,
        } = claimed;
        let own = self.checkpoint.filter(|_| self.lease.sample == lease.sample);
        let is_later =
            stored_fence > self.lease.fence || stored.as_ref().is_some_and(Checkpoint::is_complete);
        if is_later {
            return stored.map(Box::new);
        }
        own.or(stored.map(Box::new))
    }
}

impl TurnTable {
    fn lock(&self) -> MutexGuard<'_, KeptTurns> {
        // No change can panic halfway.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all kept turns.
    fn all(&self) -> Vec<Arc<RunningTurn>> {
        self.lock().all().cloned().collect()
    }

    /// Waits for the end of all running turns.
    pub(crate) async fn until_all_ended(&self) {
        for running in self.all() {
            running.until_ended().await;
        }
    }

    /// Returns whether a turn of this session runs, or has failed and may continue with a retry.
    pub(crate) fn has_active(&self, session: &SessionId) -> bool {
        self.lock()
            .all()
            .any(|running| running.session == *session && !matches!(running.ended(), Some(RunEnd::Done)))
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
        self.lock().of_client(client).cloned().collect()
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
                    Earlier::Failed(failed) if !stored.is_shared() => {
                        let lease = request.local_lease(failed.lease.sample);
                        return Ok(self.begin(client, request, lease, session, failed.checkpoint));
                    }
                    Earlier::Failed(failed) => Some(Some(failed)),
                    Earlier::Unknown => Some(None),
                };
                if let Some(failed) = failed {
                    let lease = failed.as_ref().map(|failed| failed.lease);
                    let running = self.samples(request, lease.map(|lease| lease.sample));
                    if let Some(claimed) = stored.claim(&running, lease).await? {
                        let lease = claimed.lease;
                        let checkpoint = match failed {
                            Some(failed) => failed.latest(claimed),
                            None => claimed.checkpoint.map(Box::new),
                        };
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
        // The table may have an expired turn behind an earlier one that still runs.
        let equal: Vec<&Kept> = turns
            .equal_to(request)
            .filter(|kept| !is_expired(&kept.running))
            .collect();
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
            Some(RunEnd::Failed { .. }) => Earlier::Failed(FailedTurn {
                lease: Lease {
                    fence: running.fence(),
                    ..request.local_lease(*sample)
                },
                checkpoint: running.checkpoint(),
            }),
        }
    }

    /// Returns the samples of equal requests that this process has, except one.
    fn samples(&self, request: &IncomingRequest, but: Option<u64>) -> Vec<u64> {
        let turns = self.lock();
        let samples = turns.equal_to(request).map(|kept| kept.sample);
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
            running.set_lease(lease);
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
    use std::sync::atomic::Ordering;

    use axum::http::{HeaderMap, StatusCode};
    use bytes::Bytes;
    use futures_util::FutureExt as _;

    use super::*;
    use crate::server::turns::kept_turns::{KEPT_BYTES, KEPT_BYTES_PER_CLIENT, KEPT_FOR, KEPT_PER_CLIENT};
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

        async fn claim(
            &self,
            running: &[u64],
            _failed: Option<Lease>,
        ) -> Result<Option<ClaimedTurn>, ApiError> {
            let mut samples = 0..=running.len() as u64;
            let free = samples.find(|sample| !running.contains(sample));
            Ok(Some(ClaimedTurn {
                lease: first("request").local_lease(free.unwrap()),
                checkpoint: None,
                stored_fence: 0,
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
            Earlier::Failed(FailedTurn {
                lease: Lease { sample: 0, .. },
                checkpoint: None,
                ..
            })
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
                let equal: Vec<_> = turns.equal_to(request).collect();
                request.choose(&equal).map(|kept| kept.sample)
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
