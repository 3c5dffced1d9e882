//! [`KeptTurns`]: turns that are kept for retries, and the limits of their number, size and time.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::kept_bytes::KeptBytes;
use super::running_turn::{RunEnd, RunningTurn};
use crate::fold_map::FoldMap;
use crate::session::chain::Digest;
use crate::session::principal::Principal;
use crate::session::store::Lease;

/// Turns that are kept for retries.
#[derive(Debug, Default)]
pub(super) struct KeptTurns {
    /// Turns by the identity of their request, the oldest first.
    by_request: ByRequest,
    pub(super) clients: FoldMap<Principal, ClientTurns>,
    /// Number of turns that were created.
    number: u64,
}

type ByRequest = FoldMap<Digest, Vec<Kept>>;

/// A turn that is kept for retries.
#[derive(Debug)]
pub(super) struct Kept {
    number: u64,
    /// Number of the turn's sample among the samples of equal requests.
    pub(super) sample: u64,
    idempotency_key: Option<Digest>,
    pub(super) running: Arc<RunningTurn>,
}

/// Turns of a client.
#[derive(Debug)]
pub(super) struct ClientTurns {
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

impl KeptTurns {
    /// Returns all turns.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<RunningTurn>> {
        self.by_request.values().flatten().map(|kept| &kept.running)
    }

    /// Returns the turns of a client, the oldest first.
    pub(super) fn of_client(&self, client: &Principal) -> impl Iterator<Item = &Arc<RunningTurn>> {
        let order = self.clients.get(client).map(|of_client| &of_client.order);
        order
            .into_iter()
            .flatten()
            .filter_map(|position| position.find(&self.by_request))
            .map(|kept| &kept.running)
    }

    /// Returns the turns of equal requests, the oldest first.
    pub(super) fn equal_to(&self, request: &IncomingRequest) -> impl Iterator<Item = &Kept> {
        self.by_request.get(&request.identity).into_iter().flatten()
    }

    /// Inserts a turn, in place of an earlier turn of this sample.
    pub(super) fn insert(
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
    pub(super) fn bytes_of(&mut self, client: &Principal, of_all: &Arc<AtomicUsize>) -> KeptBytes {
        let of_client = self.clients.entry(client.clone());
        of_client
            .or_insert_with(|| ClientTurns::new(of_all))
            .bytes
            .clone()
    }

    /// Removes the expired turns of a client.
    pub(super) fn remove_expired_of(&mut self, client: &Principal) {
        if let Some(of_client) = self.clients.get_mut(client) {
            of_client.remove_expired(&mut self.by_request);
        }
    }

    /// Removes the expired turns of all clients.
    pub(super) fn remove_expired(&mut self) {
        let by_request = &mut self.by_request;
        self.clients.retain(|_, of_client| {
            of_client.remove_expired(by_request);
            // A new turn may already have its counter, but not yet an entry in the order.
            !of_client.order.is_empty() || of_client.bytes.is_used()
        });
    }

    /// Removes ended turns until the limits hold. First, turns of a client above its limits are removed; then, if all clients together keep
    /// too many bytes, turns of the client with the most bytes. The turn `kept` stays, even if it is larger than the limits.
    pub(super) fn make_room(&mut self, client: &Principal, of_all: &AtomicUsize, kept: Option<&RunningTurn>) {
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

/// Returns whether a turn ended so long ago that no client retries its request.
pub(super) fn is_expired(running: &RunningTurn) -> bool {
    running.ended_for().is_some_and(|time| time > KEPT_FOR)
}

/// Maximum number of turns of a client that are kept for retries, and of the bytes of their output.
pub(crate) const KEPT_PER_CLIENT: usize = 1_000;
pub(crate) const KEPT_BYTES_PER_CLIENT: usize = 64 << 20;

/// Maximum number of bytes of all clients' output that are kept for retries.
pub(super) const KEPT_BYTES: usize = 256 << 20;

/// Time for which an ended turn is kept for retries.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(600);

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
    pub(super) fn choose<'k>(&self, turns: &[&'k Kept]) -> Option<&'k Kept> {
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
