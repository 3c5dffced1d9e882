//! Locks of suspended turns: one request at a time runs the deferred calls of a turn ([`Claims`]).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::OwnedMutexGuard;

use super::kept_turns::{KEPT_BYTES_PER_CLIENT, KEPT_FOR, KEPT_PER_CLIENT};
use super::locks::Locks;
use crate::session::principal::Principal;
use crate::session::record::Turn;

/// Claims on suspended turns by turn id, within this process.
///
/// Results of deferred calls that could not be stored are kept here, with the time and size limits of other retries, so that a retry
/// repeats no call.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    locks: Locks<String>,
    unstored: Mutex<HashMap<String, Unstored>>,
}

/// A turn with results that could not be stored.
#[derive(Debug)]
struct Unstored {
    client: Principal,
    turn: Turn,
    bytes: usize,
    since: Instant,
}

/// The exclusive right to run the deferred calls of a suspended turn, until dropped.
#[derive(Debug)]
pub(crate) struct Claim<'c> {
    claims: &'c Claims,
    /// The id of the turn.
    turn: String,
    _lock: OwnedMutexGuard<()>,
}

impl Claims {
    /// Claims a turn. Waits until no other request has a claim on this turn.
    pub(crate) async fn claim(&self, turn: &str) -> Claim<'_> {
        Claim {
            claims: self,
            turn: turn.to_owned(),
            _lock: self.locks.lock(turn.to_owned()).await,
        }
    }

    /// Removes expired turns, and locks the remaining ones.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Unstored>> {
        // No change can panic halfway.
        let mut turns = self.unstored.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, unstored| unstored.since.elapsed() <= KEPT_FOR);
        turns
    }
}

impl Claim<'_> {
    /// Returns the kept turn with results that could not be stored, if there is one.
    pub(crate) fn unstored(&self) -> Option<Turn> {
        Some(self.claims.lock().get(&self.turn)?.turn.clone())
    }

    /// Keeps the turn in memory, instead of an earlier version. Above the limits of a client, removes the client's oldest turns.
    pub(crate) fn keep(&self, client: &Principal, turn: Turn) {
        let unstored = Unstored {
            client: client.clone(),
            bytes: turn.size(),
            since: Instant::now(),
            turn,
        };
        let mut turns = self.claims.lock();
        turns.insert(self.turn.clone(), unstored);
        loop {
            let of_client = || turns.iter().filter(|(_, unstored)| unstored.client == *client);
            let (count, bytes) = of_client().fold((0, 0), |(count, bytes), (_, unstored)| {
                (count + 1, bytes + unstored.bytes)
            });
            if count <= KEPT_PER_CLIENT && bytes <= KEPT_BYTES_PER_CLIENT {
                break;
            }
            let others = of_client().filter(|(id, _)| **id != self.turn);
            let oldest = others.min_by_key(|(_, unstored)| unstored.since);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                break;
            };
            turns.remove(&oldest);
        }
    }

    /// Removes the turn from memory after a successful save.
    pub(crate) fn forget(&self) {
        self.claims.lock().remove(&self.turn);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::session::record::TrueMessage;
    use crate::wire::block::Block;
    use crate::wire::role::Role;

    fn turn(id: &str, bytes: usize) -> Turn {
        Turn {
            truth: vec![TrueMessage {
                role: Role::User,
                blocks: vec![Block::text(&"x".repeat(bytes))],
            }],
            ..crate::session::tests::turn(id, "session", "point")
        }
    }

    fn ids(claims: &Claims) -> Vec<String> {
        let turns = claims.lock();
        let in_order: BTreeMap<_, _> = turns.values().map(|turn| (turn.since, &turn.turn.id)).collect();
        in_order.into_values().cloned().collect()
    }

    async fn keep(claims: &Claims, client: &str, turn: Turn) {
        let client = Principal::from_key_name(client);
        claims.claim(&turn.id.clone()).await.keep(&client, turn);
    }

    #[tokio::test]
    async fn a_second_claim_waits_for_the_first() {
        let claims = Claims::default();
        let first = claims.claim("a").await;
        assert!(claims.claim("a").now_or_never().is_none());
        assert!(claims.claim("b").now_or_never().is_some());
        drop(first);
        assert!(claims.claim("a").now_or_never().is_some());
    }

    #[tokio::test]
    async fn expired_turns_are_forgotten() {
        let claims = Claims::default();
        keep(&claims, "ada", turn("old", 1)).await;
        keep(&claims, "ada", turn("new", 1)).await;
        assert_eq!(ids(&claims), ["old", "new"]);
        claims.lock().get_mut("old").unwrap().since = Instant::now().checked_sub(2 * KEPT_FOR).unwrap();
        assert!(claims.claim("old").await.unstored().is_none());
        assert!(claims.claim("new").await.unstored().is_some());
        assert_eq!(ids(&claims), ["new"]);
    }

    #[tokio::test]
    async fn removes_the_oldest_turns_over_the_limit() {
        let claims = Claims::default();
        keep(&claims, "bob", turn("bob", 1)).await;
        for number in 0..KEPT_PER_CLIENT + 2 {
            keep(&claims, "ada", turn(&format!("{number}"), 1)).await;
        }
        assert_eq!(ids(&claims).len(), KEPT_PER_CLIENT + 1);
        assert_eq!(ids(&claims)[..2], ["bob", "2"], "no other client loses a turn");
        keep(&claims, "ada", turn("large", KEPT_BYTES_PER_CLIENT)).await;
        assert_eq!(ids(&claims), ["bob", "large"], "the newest stays in any case");
        claims.claim("bob").await.forget();
        claims.claim("large").await.forget();
        assert!(ids(&claims).is_empty());
    }
}
