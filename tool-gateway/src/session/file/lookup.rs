//! Finds turns and sessions in the file.

use std::collections::HashMap;
use std::sync::Arc;

use redb::{ReadTransaction, ReadableTable as _, WriteTransaction};

use super::tables::{
    CALLS, KEYS, LOGS, POINTS, POINTS_OF_SESSION, SEGMENTS, SESSIONS, StoredSession, StoredTurn, TURNS,
};
use crate::session::chain::Digest;
use crate::session::database::Failed;
use crate::session::encoding::decode;
use crate::session::record::{Session, SessionId, Turn};
use crate::session::store::MAX_TURNS_OF_POINT;

/// Reads turns whose session has not expired. Caches the session, since most turns of a request belong to one session.
pub(super) struct TurnReader<'t> {
    transaction: &'t ReadTransaction,
    /// Seconds since 1970.
    now: u64,
    turns: redb::ReadOnlyTable<&'static str, &'static [u8]>,
    points: redb::ReadOnlyMultimapTable<&'static [u8; 32], (u64, &'static str)>,
    points_of_session: redb::ReadOnlyTable<(&'static str, &'static [u8; 32], u64), &'static str>,
    is_known: HashMap<SessionId, bool>,
}

impl<'t> TurnReader<'t> {
    pub(super) fn new(transaction: &'t ReadTransaction, now: u64) -> Result<Self, Failed> {
        Ok(Self {
            transaction,
            now,
            turns: transaction.open_table(TURNS)?,
            points: transaction.open_multimap_table(POINTS)?,
            points_of_session: transaction.open_table(POINTS_OF_SESSION)?,
            is_known: HashMap::new(),
        })
    }

    pub(super) fn turn(&mut self, id: &str) -> Result<Option<Arc<Turn>>, Failed> {
        let Some(bytes) = self.turns.get(id)? else {
            return Ok(None);
        };
        let StoredTurn { turn, .. } = decode(bytes.value())?;
        if !self.is_known.contains_key(&turn.session) {
            let is_known = session(self.transaction, self.now, &turn.session.0)?.is_some();
            self.is_known.insert(turn.session.clone(), is_known);
        }
        let is_known = self.is_known.get(&turn.session) == Some(&true);
        Ok(is_known.then(|| Arc::new(turn)))
    }

    /// Returns the latest [`MAX_TURNS_OF_POINT`] turns that follow a history with the digest `point`, and all such turns of `session`, oldest
    /// first.
    pub(super) fn turns_of_point(
        &mut self,
        point: Digest,
        session: Option<&SessionId>,
    ) -> Result<Vec<Arc<Turn>>, Failed> {
        let (mut ids, mut oldest) = (Vec::new(), 0);
        for entry in self.points.get(point.as_bytes())?.rev().take(MAX_TURNS_OF_POINT) {
            let entry = entry?;
            let (number, id) = entry.value();
            ids.push(id.to_owned());
            oldest = number;
        }
        if ids.len() == MAX_TURNS_OF_POINT
            && let Some(SessionId(name)) = session
        {
            let (name, point) = (name.as_str(), point.as_bytes());
            let older = (name, point, 0)..(name, point, oldest);
            for entry in self.points_of_session.range(older)?.rev() {
                ids.push(entry?.1.value().to_owned());
            }
        }
        let mut turns = Vec::new();
        for id in ids.iter().rev() {
            turns.extend(self.turn(id)?);
        }
        Ok(turns)
    }
}

/// Returns the turn of a call.
pub(super) fn turn_of_call(
    transaction: &ReadTransaction,
    now: u64,
    call: Digest,
) -> Result<Option<Arc<Turn>>, Failed> {
    let calls = transaction.open_table(CALLS)?;
    let Some(id) = calls.get(call.as_bytes())? else {
        return Ok(None);
    };
    TurnReader::new(transaction, now)?.turn(id.value())
}

/// Returns the session of a client's key.
pub(super) fn session_of_key(
    transaction: &ReadTransaction,
    now: u64,
    key: Digest,
) -> Result<Option<SessionId>, Failed> {
    let keys = transaction.open_table(KEYS)?;
    let Some(id) = keys.get(key.as_bytes())? else {
        return Ok(None);
    };
    Ok(session(transaction, now, id.value())?.map(|session| session.id))
}

/// Returns a session, unless it has expired.
pub(super) fn session(transaction: &ReadTransaction, now: u64, id: &str) -> Result<Option<Session>, Failed> {
    let sessions = transaction.open_table(SESSIONS)?;
    let Some(bytes) = sessions.get(id)? else {
        return Ok(None);
    };
    let stored: StoredSession = decode(bytes.value())?;
    let is_known = stored.expires_at > now;
    Ok(is_known.then_some(stored.session))
}

/// Returns the segments of a request's progress, unless it has expired.
pub(super) fn progress(
    transaction: &ReadTransaction,
    now: u64,
    request: Digest,
) -> Result<Vec<Vec<u8>>, Failed> {
    let logs = transaction.open_table(LOGS)?;
    let Some(log) = logs.get(request.as_bytes())? else {
        return Ok(Vec::new());
    };
    let (expires_at, _, count, _) = log.value();
    if expires_at <= now {
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
    let session = sessions.get(id.0.as_str())?;
    Ok(session.map(|session| decode(session.value())).transpose()?)
}
