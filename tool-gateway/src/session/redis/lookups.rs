//! Look-ups of sessions and turns in Redis.

use super::keys::ClientKeys;
use super::redis_store::RedisStore;
use super::replies::{ScriptReply, invalid};
use super::script_arguments::{decimal, text};
use crate::session::chain::Digest;
use crate::session::record::{Session, SessionId};
use crate::session::store::{FoundCall, FoundEntries, FoundTurn, Lookup, StoreError, StoredTurn, TurnRef};
use crate::session::turn_record::TurnRecord;

/// Maximum number of turns that one script loads.
const MAX_LOADED: usize = 1024;

impl RedisStore {
    pub(super) async fn find_entries(
        &self,
        client: Digest,
        lookup: &Lookup<'_>,
    ) -> Result<FoundEntries, StoreError> {
        let keys = ClientKeys::new(client);
        let names = lookup.keys.iter().map(|name| keys.name(*name));
        let calls = lookup.calls.iter().map(|call| keys.call(*call));
        let points = lookup.points.iter().map(|point| keys.point(*point));
        let all: Vec<String> = names.chain(calls).chain(points).collect();
        if all.is_empty() {
            return Ok(FoundEntries::default());
        }
        let (mut names, mut calls) = (lookup.keys.len(), lookup.calls.len());
        let mut own = lookup
            .session
            .map_or_else(String::new, |session| session.as_str().to_owned());
        let mut entries = FoundEntries::default();
        let mut begin = 0;
        // A reply with many turns has only the first points.
        while let Some(asked) = all.get(begin..).filter(|asked| !asked.is_empty()) {
            let arguments = [decimal(names as u64), decimal(calls as u64), text(&own)];
            let found = self.link.run(&self.scripts.find, asked, &arguments).await?;
            let mut found = ScriptReply(found).list()?.into_iter();
            let mut next = || found.next().ok_or_else(invalid);
            let (session, at) = (next()?.text()?, next()?.number()?);
            let (id, revision) = (next()?.text()?, next()?.number()?);
            own = next()?.text()?;
            if begin == 0 {
                entries.call = at.checked_sub(1).map(|at| FoundCall {
                    at: usize::try_from(at).unwrap_or(usize::MAX),
                    turn: FoundTurn::Ref(TurnRef { id, revision }),
                });
                entries.session = Some(session)
                    .filter(|session| !session.is_empty())
                    .map(SessionId::new);
            }
            let points: Vec<_> = found.map(ScriptReply::turns).collect::<Result<_, StoreError>>()?;
            let answered = names + calls + points.len();
            if answered == 0 {
                return Err(invalid());
            }
            begin += answered;
            (names, calls) = (0, 0);
            entries.points.extend(points);
        }
        Ok(entries)
    }

    pub(super) async fn load_turns(
        &self,
        client: Digest,
        ids: &[String],
    ) -> Result<Vec<Option<StoredTurn>>, StoreError> {
        let keys = ClientKeys::new(client);
        let keys: Vec<_> = ids.iter().map(|id| keys.turn(id)).collect();
        let mut turns = Vec::with_capacity(keys.len());
        // A large reply has only the first turns.
        while let Some(asked) = keys.get(turns.len()..).filter(|asked| !asked.is_empty()) {
            let asked = asked.get(..MAX_LOADED).unwrap_or(asked);
            let found = ScriptReply(self.link.run(&self.scripts.load, asked, &[]).await?).list()?;
            if found.is_empty() {
                return Err(invalid());
            }
            for (key, found) in asked.iter().zip(found) {
                let Some([revision, record]) = found.parts()? else {
                    turns.push(None);
                    continue;
                };
                let (revision, record) = (revision.number()?, record.bytes()?);
                let record = self.known_turn(key, &record);
                turns.push(record.map(|record| StoredTurn { revision, record }));
            }
        }
        Ok(turns)
    }

    pub(super) async fn find_session(
        &self,
        client: Digest,
        id: &SessionId,
    ) -> Result<Option<Session>, StoreError> {
        let keys = ClientKeys::new(client);
        let key = [keys.session(id.as_str())];
        let found = ScriptReply(self.link.run(&self.scripts.session, &key, &[]).await?);
        let Some([created, active, turn, record]) = found.parts()? else {
            return Ok(None);
        };
        let latest = self.known_turn(&keys.turn(&turn.text()?), &record.bytes()?);
        let (created_at, last_active) = (created.time()?, active.time()?);
        Ok(latest.map(|latest| Session {
            id: id.clone(),
            created_at,
            last_active,
            state: latest.state().clone(),
        }))
    }

    /// The latest turn need not be readable.
    pub(super) async fn knows_session(
        &self,
        client: Option<Digest>,
        id: &SessionId,
    ) -> Result<bool, StoreError> {
        let Some(client) = client else {
            return Ok(true);
        };
        let mut exists = redis::cmd("EXISTS");
        exists.arg(ClientKeys::new(client).session(id.as_str()));
        Ok(ScriptReply(self.link.command(exists).await?).number()? == 1)
    }

    /// Reads the record of a turn. A damaged record is a missing turn.
    fn known_turn(&self, key: &str, record: &[u8]) -> Option<TurnRecord> {
        let turn = self.turn(key, record);
        turn.inspect_err(|error| self.damaged.report_turn(key, record, error))
            .ok()
    }

    fn turn(&self, key: &str, record: &[u8]) -> Result<TurnRecord, StoreError> {
        TurnRecord::decode(&self.packing.unpack(key, record)?)
    }
}
