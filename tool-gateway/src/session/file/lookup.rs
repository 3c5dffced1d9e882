//! Finds turns and sessions in the file.

use std::collections::HashMap;

use redb::{ReadTransaction, ReadableTable as _, WriteTransaction};

use super::tables::{
    CALLS, KEYS, LOGS, POINTS, POINTS_OF_SESSION, ReadTurn, SEGMENTS, SESSIONS, StoredSession, TURNS,
};
use super::version_5::UNKNOWN_CLIENT;
use crate::session::chain::Digest;
use crate::session::database::Failed;
use crate::session::encoding::decode;
use crate::session::record::{Session, SessionId};
use crate::session::store::{FoundCall, FoundTurn, MAX_TURNS_OF_POINT, StoredTurn};
use crate::session::turn_record::TurnRecord;

/// Reads turns of a client whose session has not expired. Caches the session, since most turns of a request belong to one session.
pub(super) struct TurnReader<'t> {
    transaction: &'t ReadTransaction,
    client: Digest,
    /// Seconds since 1970.
    now: u64,
    turns: redb::ReadOnlyTable<&'static str, &'static [u8]>,
    points: redb::ReadOnlyMultimapTable<&'static [u8; 32], (u64, &'static str)>,
    points_of_session: redb::ReadOnlyTable<(&'static str, &'static [u8; 32], u64), &'static str>,
    is_known: HashMap<SessionId, bool>,
}

impl<'t> TurnReader<'t> {
    pub(super) fn new(transaction: &'t ReadTransaction, client: Digest, now: u64) -> Result<Self, Failed> {
        Ok(Self {
            transaction,
            client,
            now,
            turns: transaction.open_table(TURNS)?,
            points: transaction.open_multimap_table(POINTS)?,
            points_of_session: transaction.open_table(POINTS_OF_SESSION)?,
            is_known: HashMap::new(),
        })
    }

    pub(super) fn turn(&mut self, id: &str) -> Result<Option<StoredTurn>, Failed> {
        let Some(bytes) = self.turns.get(id)? else {
            return Ok(None);
        };
        let ReadTurn { turn, number, .. } = decode(bytes.value())?;
        if !self.is_known.contains_key(&turn.session) {
            let is_known = session(self.transaction, self.client, self.now, turn.session.as_str())?.is_some();
            self.is_known.insert(turn.session.clone(), is_known);
        }
        let is_known = self.is_known.get(&turn.session) == Some(&true);
        Ok(is_known.then(|| StoredTurn {
            revision: number,
            record: TurnRecord::from_stored(turn),
        }))
    }

    /// Returns the latest [`MAX_TURNS_OF_POINT`] turns that follow a history with the digest `point`, and all such turns of `session`, oldest
    /// first.
    pub(super) fn turns_of_point(
        &mut self,
        point: Digest,
        session: Option<&SessionId>,
    ) -> Result<Vec<FoundTurn>, Failed> {
        let (mut ids, mut oldest) = (Vec::new(), 0);
        for entry in self.points.get(point.as_bytes())?.rev().take(MAX_TURNS_OF_POINT) {
            let entry = entry?;
            let (number, id) = entry.value();
            ids.push(id.to_owned());
            oldest = number;
        }
        if ids.len() == MAX_TURNS_OF_POINT
            && let Some(session) = session
        {
            let (name, point) = (session.as_str(), point.as_bytes());
            let older = (name, point, 0)..(name, point, oldest);
            for entry in self.points_of_session.range(older)?.rev() {
                ids.push(entry?.1.value().to_owned());
            }
        }
        let mut turns = Vec::new();
        for id in ids.iter().rev() {
            turns.extend(self.turn(id)?.map(FoundTurn::Turn));
        }
        Ok(turns)
    }

    /// Returns the turn of the first known call, with the index of the call.
    pub(super) fn turn_of_calls(&mut self, calls: &[Digest]) -> Result<Option<FoundCall>, Failed> {
        let ids = self.transaction.open_table(CALLS)?;
        for (at, call) in calls.iter().enumerate() {
            if let Some(id) = ids.get(call.as_bytes())?
                && let Some(turn) = self.turn(id.value())?
            {
                let turn = FoundTurn::Turn(turn);
                return Ok(Some(FoundCall { at, turn }));
            }
        }
        Ok(None)
    }

    /// Returns the session of the first known key.
    pub(super) fn session_of_keys(&self, keys: &[Digest]) -> Result<Option<SessionId>, Failed> {
        let ids = self.transaction.open_table(KEYS)?;
        for key in keys {
            if let Some(id) = ids.get(key.as_bytes())?
                && let Some(session) = session(self.transaction, self.client, self.now, id.value())?
            {
                return Ok(Some(session.id));
            }
        }
        Ok(None)
    }
}

/// Returns a session of a client, unless it has expired.
pub(super) fn session(
    transaction: &ReadTransaction,
    client: Digest,
    now: u64,
    id: &str,
) -> Result<Option<Session>, Failed> {
    let stored = stored_session(transaction, now, id)?;
    Ok(stored
        .filter(|stored| stored.client == client)
        .map(|stored| stored.session))
}

/// Returns a session of any client, unless it has expired.
pub(super) fn stored_session(
    transaction: &ReadTransaction,
    now: u64,
    id: &str,
) -> Result<Option<StoredSession>, Failed> {
    let sessions = transaction.open_table(SESSIONS)?;
    let Some(bytes) = sessions.get(id)? else {
        return Ok(None);
    };
    let stored: StoredSession = decode(bytes.value())?;
    let is_known = stored.expires_at > now;
    Ok(is_known.then_some(stored))
}

/// Returns the revision of a turn of a client, or 0 if the turn does not exist or its session has expired.
pub(super) fn revision(
    transaction: &WriteTransaction,
    client: Digest,
    now: u64,
    id: &str,
) -> Result<u64, Failed> {
    let turns = transaction.open_table(TURNS)?;
    let Some(bytes) = turns.get(id)? else {
        return Ok(0);
    };
    let ReadTurn { turn, number, .. } = decode(bytes.value())?;
    let session = load_session(transaction, &turn.session)?;
    let is_known = session.is_some_and(|stored| stored.client == client && stored.expires_at > now);
    Ok(if is_known { number } else { 0 })
}

/// Returns the segments of a request's progress, unless it has expired.
pub(super) fn progress(
    transaction: &ReadTransaction,
    client: Digest,
    now: u64,
    request: Digest,
) -> Result<Vec<Vec<u8>>, Failed> {
    let logs = transaction.open_table(LOGS)?;
    let Some(log) = logs.get(request.as_bytes())? else {
        return Ok(Vec::new());
    };
    let (expires_at, owner, count, _) = log.value();
    let is_own = owner == client.as_bytes() || *owner == UNKNOWN_CLIENT;
    if expires_at <= now || !is_own {
        return Ok(Vec::new());
    }
    let segments = transaction.open_table(SEGMENTS)?;
    let request = request.as_bytes();
    let segments = segments.range((request, 0)..(request, count))?;
    segments.map(|segment| Ok(segment?.1.value().to_vec())).collect()
}

/// Loads a session for a change, even if the session has expired.
pub(super) fn load_session(
    transaction: &WriteTransaction,
    id: &SessionId,
) -> Result<Option<StoredSession>, Failed> {
    let sessions = transaction.open_table(SESSIONS)?;
    let session = sessions.get(id.as_str())?;
    Ok(session.map(|session| decode(session.value())).transpose()?)
}
