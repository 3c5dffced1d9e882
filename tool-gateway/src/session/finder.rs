//! [`Finder`]: looks up the sessions and turns of a client, with few operations of the store.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::chain::Digest;
use super::record::{SessionId, Turn};
use super::store::{FoundEntries, FoundTurn, Lookup, Reach, SessionStore, StoreError, StoredTurn};

/// Maximum number of points in an operation.
const MAX_POINTS: usize = 256;

/// Look-ups of a client.
#[derive(Clone, Copy)]
pub(crate) struct Finder<'s> {
    store: &'s dyn SessionStore,
    client: Digest,
}

/// Result of [`Finder::history`].
#[derive(Debug, Default)]
pub(crate) struct FoundHistory {
    /// Session of the first known key.
    pub(crate) session: Option<SessionId>,
    /// Turn of the first known call, and the index of the call.
    pub(crate) call: Option<(usize, Arc<Turn>)>,
    /// Index of the first known call, if the record of its turn is not readable.
    pub(crate) unreadable_call: Option<usize>,
    /// Turns after each point, oldest first.
    pub(crate) turns: Vec<Vec<Arc<Turn>>>,
}

impl<'s> Finder<'s> {
    pub(crate) fn new(store: &'s dyn SessionStore, client: Digest) -> Self {
        Self { store, client }
    }

    /// Returns whether the store may have points of version 5, which is earlier than the first store of several gateways.
    pub(crate) fn has_earlier_records(&self) -> bool {
        self.store.reach() == Reach::Machine
    }

    /// Looks up the sessions and turns of a history. Of a long history, the latest points are looked up, and earlier points as long as the
    /// earliest one of each operation is known. An empty look-up is no operation.
    pub(crate) async fn history(&self, lookup: Lookup<'_>) -> Result<FoundHistory, StoreError> {
        let Lookup {
            keys,
            calls,
            points,
            session,
        } = lookup;
        if keys.is_empty() && calls.is_empty() && points.is_empty() {
            return Ok(FoundHistory::default());
        }
        let mut begin = points.len().saturating_sub(MAX_POINTS);
        let latest = points.get(begin..).unwrap_or_default();
        let first = Lookup {
            points: latest,
            ..lookup
        };
        let mut found = self.find(first).await?;
        if begin == 0 {
            return Ok(found);
        }
        let of_call = found.call.as_ref().map(|(_, turn)| turn.session.clone());
        let own = session.cloned().or(of_call).or_else(|| found.session.clone());
        let mut lists = vec![std::mem::take(&mut found.turns)];
        while begin > 0
            && lists
                .last()
                .and_then(|lists| lists.first())
                .is_some_and(|turns| !turns.is_empty())
        {
            let end = begin;
            begin = begin.saturating_sub(MAX_POINTS);
            let earlier = Lookup {
                points: points.get(begin..end).unwrap_or_default(),
                session: own.as_ref(),
                ..Lookup::default()
            };
            lists.push(self.find(earlier).await?.turns);
        }
        // A list that grows takes up to three times its size.
        found.turns = Vec::with_capacity(points.len());
        found.turns.resize(begin, Vec::new());
        found.turns.extend(lists.into_iter().rev().flatten());
        Ok(found)
    }

    /// Returns the turns after each point, oldest first, with all turns of `session` after the points.
    pub(crate) async fn turns(
        &self,
        points: &[Digest],
        session: Option<&SessionId>,
    ) -> Result<Vec<Vec<Arc<Turn>>>, StoreError> {
        let lookup = Lookup {
            points,
            session,
            ..Lookup::default()
        };
        Ok(self.history(lookup).await?.turns)
    }

    /// Returns the turn of a call.
    pub(crate) async fn turn_of_call(&self, call: Digest) -> Result<Option<Arc<Turn>>, StoreError> {
        let lookup = Lookup {
            calls: &[call],
            ..Lookup::default()
        };
        Ok(self.history(lookup).await?.call.map(|(_, turn)| turn))
    }

    /// Returns a turn with its revision.
    pub(crate) async fn turn(&self, id: &str) -> Result<Option<StoredTurn>, StoreError> {
        let ids = [id.to_owned()];
        Ok(self.store.load(self.client, &ids).await?.pop().flatten())
    }

    async fn find(&self, lookup: Lookup<'_>) -> Result<FoundHistory, StoreError> {
        let FoundEntries {
            session,
            call,
            points,
        } = self.store.find(self.client, &lookup).await?;
        let (at, of_call) = match call {
            Some(call) => (Some(call.at), vec![call.turn]),
            None => (None, Vec::new()),
        };
        let mut lists = points;
        lists.push(of_call);
        let mut turns = self.load(lists).await?;
        let of_call = turns.pop().into_iter().flatten().next();
        Ok(FoundHistory {
            session,
            unreadable_call: at.filter(|_| of_call.is_none()),
            call: at.zip(of_call),
            turns,
        })
    }

    /// Loads the records that the store has not returned yet. Turns that were removed in the meantime are left out.
    async fn load(&self, lists: Vec<Vec<FoundTurn>>) -> Result<Vec<Vec<Arc<Turn>>>, StoreError> {
        // The turn of a call is also after a point.
        let mut seen = HashSet::new();
        let missing: Vec<String> = lists
            .iter()
            .flatten()
            .filter_map(|turn| match turn {
                FoundTurn::Ref(turn) => Some(&turn.id),
                FoundTurn::Turn(_) => None,
            })
            .filter(|id| seen.insert(*id))
            .cloned()
            .collect();
        let mut loaded: HashMap<String, Arc<Turn>> = HashMap::new();
        if !missing.is_empty() {
            let records = self.store.load(self.client, &missing).await?;
            let found = missing.into_iter().zip(records);
            loaded.extend(found.filter_map(|(id, turn)| Some((id, turn?.record.into_turn()))));
        }
        let turn = |found| match found {
            FoundTurn::Turn(stored) => Some(stored.record.into_turn()),
            FoundTurn::Ref(turn) => loaded.get(&turn.id).map(Arc::clone),
        };
        Ok(lists
            .into_iter()
            .map(|turns| turns.into_iter().filter_map(turn).collect())
            .collect())
    }
}
