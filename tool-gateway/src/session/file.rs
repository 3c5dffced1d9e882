//! [`FileStore`]: sessions in a file, which outlive the process.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redb::{
    MultimapTableDefinition, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _,
    TableDefinition, WriteTransaction,
};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::chain::Digest;
use super::database::{Failed, FileDatabase};
use super::encoding::{VERSION, decode, encode};
use super::record::{Session, SessionId, Turn};
use super::store::{
    MAX_TURNS_OF_POINT, Progress, SavedTurn, SessionStore, StoreError, StoreFuture, StoreSize,
};

/// Turns by their id.
const TURNS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("turns");
/// The ids of the turns after a point of a conversation, in the order in which they were stored.
const POINTS: MultimapTableDefinition<'_, &[u8; 32], (u64, &str)> = MultimapTableDefinition::new("points");
/// The turns of a session, in the order in which they were stored.
const TURNS_OF_SESSION: TableDefinition<'_, (&str, u64), &str> = TableDefinition::new("turns of a session");
/// The turns of a session after a point, in the order in which they were stored.
const POINTS_OF_SESSION: TableDefinition<'_, (&str, &[u8; 32], u64), &str> =
    TableDefinition::new("points of a session");
/// The turn of a call.
const CALLS: TableDefinition<'_, &[u8; 32], &str> = TableDefinition::new("calls");
/// The session of a client's key.
const KEYS: TableDefinition<'_, &[u8; 32], &str> = TableDefinition::new("keys");
/// Sessions by their id.
const SESSIONS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("sessions");
/// The sessions by when they expire, in seconds since 1970.
const EXPIRY: TableDefinition<'_, (u64, &str), ()> = TableDefinition::new("expiry");
/// The sessions of a client by when they expire.
const SESSIONS_OF_CLIENT: TableDefinition<'_, (&[u8; 32], u64, &str), ()> =
    TableDefinition::new("sessions of a client");
/// How many turns a client has.
const TURNS_OF_CLIENT: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("turns of a client");
/// The number of turns that were ever stored, and how many bytes there are.
const COUNTERS: TableDefinition<'_, &str, u64> = TableDefinition::new("counters");
/// How far requests have come, with when that expires in seconds since 1970.
const PROGRESS: TableDefinition<'_, &[u8; 32], (u64, &[u8])> = TableDefinition::new("progress");
/// The requests whose progress is known, by when it expires.
const PROGRESS_EXPIRY: TableDefinition<'_, (u64, &[u8; 32]), ()> = TableDefinition::new("progress expiry");
/// The secret of the digests.
const SECRET: TableDefinition<'_, (), &[u8; 32]> = TableDefinition::new("secret");
/// The version of these tables and of the records in them.
const FILE_VERSION: TableDefinition<'_, (), u32> = TableDefinition::new("version");

/// Keeps sessions in a file. What was saved is there after a crash, and no other process can open the file meanwhile.
///
/// Sessions expire after a time without a new turn, and so does how far requests have come. Over a cap, what would expire first goes
/// first: the oldest turns of a session, and it with the last of them. The beginning of its history goes up as the client sends it then.
///
/// ```
/// use std::time::Duration;
/// use tool_gateway::session::file::FileStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("tool-gateway-doc-{}", std::process::id()));
/// let store = FileStore::open(folder.join("sessions.redb"))?.with_ttl(Duration::from_secs(3600));
/// assert_eq!(store.secret()?, store.secret()?);
/// # drop(store);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FileStore {
    database: Arc<FileDatabase>,
    ttl: Duration,
    max_bytes: u64,
    max_turns_per_client: u64,
}

/// How much longer a session with a suspended turn is kept than another.
const SUSPENDED_FACTOR: u32 = 4;

/// How many turns and requests a save removes, or as many as it needs for itself: so that no request pays for all.
const MAX_REMOVED: usize = 8;

#[derive(Serialize, Deserialize)]
struct StoredTurn {
    turn: Turn,
    calls: Vec<Digest>,
    /// Its number among all turns.
    number: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredSession {
    session: Session,
    client: Digest,
    keys: Vec<Digest>,
    expires_at: u64,
}

impl FileStore {
    /// Opens a file, or creates it: for its owner alone, as its folder. Reads all of it, to find what something else has changed.
    ///
    /// # Errors
    ///
    /// If it cannot be opened or created, is no such file or a corrupted one, or another process has it open.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let store = Self {
            database: Arc::new(FileDatabase::open(path.as_ref())?),
            ttl: Duration::from_secs(24 * 3600),
            max_bytes: 4 << 30,
            max_turns_per_client: 10_000,
        };
        store.write_now(create_tables)?;
        Ok(store)
    }

    /// Sets how long a session is kept without a new turn, a day by default; one with a suspended turn four times as long.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets how many bytes of turns and of requests' progress are kept, 4 GiB by default. A session that is larger than all of it loses
    /// its oldest turns; only what is saved now is kept in any case.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how many turns of each client are kept, 10,000 by default, so that none displaces those of others. A session that has more
    /// of them loses its oldest ones; only what is saved now is kept in any case.
    #[must_use]
    pub fn with_max_turns_per_client(mut self, turns: u64) -> Self {
        self.max_turns_per_client = turns;
        self
    }

    /// The secret for [`Gateway::with_secret`](crate::Gateway::with_secret), made when the file was created.
    pub fn secret(&self) -> Result<[u8; 32], StoreError> {
        self.read_now(|transaction| {
            let secrets = transaction.open_table(SECRET)?;
            let secret = secrets.get(())?.map(|secret| *secret.value());
            secret.ok_or_else(|| Failed::Store(StoreError("the file has no secret".to_owned())))
        })
    }

    fn read_now<T>(
        &self,
        read: impl FnOnce(&redb::ReadTransaction) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        self.database.with(|database| read(&database.begin_read()?))
    }

    fn write_now<T>(
        &self,
        write: impl FnOnce(&WriteTransaction) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        self.database.with(|database| {
            let transaction = database.begin_write()?;
            let written = write(&transaction)?;
            transaction.commit()?;
            Ok(written)
        })
    }

    /// Writes on a thread for that. What nobody waits for any more when its turn comes is left out: who waited was told that it failed,
    /// and what a retry has stored since must not be replaced by something older.
    fn write<'a>(
        &self,
        write: impl FnOnce(&Self, &WriteTransaction) -> Result<(), Failed> + Send + 'static,
    ) -> StoreFuture<'a, ()> {
        let store = self.clone();
        let waiting = Arc::new(());
        let awaited = Arc::downgrade(&waiting);
        let written = on_disk(move || {
            store.write_now(|transaction| {
                if awaited.strong_count() == 0 {
                    return Err(Failed::Store(StoreError(
                        "nobody waits for it any more".to_owned(),
                    )));
                }
                write(&store, transaction)
            })
        });
        Box::pin(async move {
            let written = written.await;
            drop(waiting);
            written
        })
    }

    fn insert(
        &self,
        transaction: &WriteTransaction,
        turn: Turn,
        client: Digest,
        calls: Vec<Digest>,
        keys: Vec<Digest>,
    ) -> Result<(), Failed> {
        let now = SystemTime::now();
        let mut session = load_session(transaction, &turn.session)?.unwrap_or_else(|| StoredSession {
            session: Session {
                id: turn.session.clone(),
                created_at: now,
                last_active: now,
                state: Map::new(),
            },
            client,
            keys: Vec::new(),
            expires_at: 0,
        });
        let name = turn.session.0.as_str();
        let of_client = session.client;
        transaction
            .open_table(EXPIRY)?
            .remove((session.expires_at, name))?;
        transaction.open_table(SESSIONS_OF_CLIENT)?.remove((
            of_client.as_bytes(),
            session.expires_at,
            name,
        ))?;
        let factor = if turn.is_suspended() { SUSPENDED_FACTOR } else { 1 };
        session.expires_at = seconds(now).saturating_add(self.ttl.saturating_mul(factor).as_secs().max(1));
        session.session.last_active = now;
        session.session.state.clone_from(&turn.state);
        transaction
            .open_table(EXPIRY)?
            .insert((session.expires_at, name), ())?;
        transaction
            .open_table(SESSIONS_OF_CLIENT)?
            .insert((of_client.as_bytes(), session.expires_at, name), ())?;
        {
            let mut all = transaction.open_table(KEYS)?;
            for key in keys {
                all.insert(key.as_bytes(), name)?;
                if !session.keys.contains(&key) {
                    session.keys.push(key);
                }
            }
        }
        if !remove_turn(transaction, &turn.id)? {
            count_turns(transaction, of_client, 1)?;
        }
        transaction
            .open_table(SESSIONS)?
            .insert(name, encode(&session)?.as_slice())?;
        let number = add(transaction, "turns", 1)?;
        {
            let mut all = transaction.open_table(CALLS)?;
            for call in &calls {
                all.insert(call.as_bytes(), turn.id.as_str())?;
            }
        }
        transaction
            .open_multimap_table(POINTS)?
            .insert(turn.point.as_bytes(), (number, turn.id.as_str()))?;
        transaction
            .open_table(TURNS_OF_SESSION)?
            .insert((name, number), turn.id.as_str())?;
        transaction
            .open_table(POINTS_OF_SESSION)?
            .insert((name, turn.point.as_bytes(), number), turn.id.as_str())?;
        let id = turn.id.clone();
        let bytes = encode(&StoredTurn { turn, calls, number })?;
        add_bytes(transaction, bytes.len(), 0)?;
        transaction
            .open_table(TURNS)?
            .insert(id.as_str(), bytes.as_slice())?;
        Ok(())
    }

    fn insert_progress(&self, transaction: &WriteTransaction, progress: &Progress) -> Result<(), Failed> {
        let expires_at = seconds(SystemTime::now()).saturating_add(self.ttl.as_secs().max(1));
        let request = progress.request.as_bytes();
        remove_progress(transaction, request)?;
        transaction
            .open_table(PROGRESS)?
            .insert(request, (expires_at, progress.record.as_slice()))?;
        transaction
            .open_table(PROGRESS_EXPIRY)?
            .insert((expires_at, request), ())?;
        add_bytes(transaction, progress.record.len(), 0)
    }

    /// Removes what would expire first of a client that has too many turns; but not the one that was saved now.
    fn make_room_for_client(
        &self,
        transaction: &WriteTransaction,
        client: Digest,
        saved: &SessionId,
    ) -> Result<(), Failed> {
        for _ in 0..MAX_REMOVED {
            if count_turns(transaction, client, 0)? <= self.max_turns_per_client {
                break;
            }
            if let Some((at, id)) = first_session_of_client(transaction, client, saved)? {
                remove_from_session(transaction, at, &id)?;
            } else if !remove_older_turn(transaction, saved)? {
                break;
            }
        }
        Ok(())
    }

    /// Removes what has expired, and what would expire first while there are too many bytes; but not what was saved now.
    fn make_room(
        &self,
        transaction: &WriteTransaction,
        saved: &Saved<'_>,
        bytes_before: u64,
    ) -> Result<(), Failed> {
        let now = seconds(SystemTime::now());
        for removed in 0.. {
            let bytes = count_bytes(transaction)?;
            let is_over = bytes > self.max_bytes;
            // What is large makes as much room as it takes.
            if removed >= MAX_REMOVED && !(is_over && bytes > bytes_before) {
                break;
            }
            let until = if is_over { u64::MAX } else { now };
            let session = first_session(transaction, saved.session)?.filter(|(at, _)| *at <= until);
            let progress = first_progress(transaction, saved.request)?.filter(|(at, _)| *at <= until);
            match (session, progress) {
                (Some((at, id)), progress) if progress.is_none_or(|(other, _)| at < other) => {
                    remove_from_session(transaction, at, &id)?;
                }
                (_, Some((_, request))) => remove_progress(transaction, &request)?,
                (_, None) => match saved.session {
                    Some(session) if is_over && remove_older_turn(transaction, session)? => {}
                    _ => break,
                },
            }
        }
        Ok(())
    }
}

/// Creates the tables of a new file. A file that has others is refused.
fn create_tables(transaction: &WriteTransaction) -> Result<(), Failed> {
    let is_new = transaction.list_tables()?.next().is_none();
    {
        let mut versions = transaction.open_table(FILE_VERSION)?;
        if is_new {
            versions.insert((), VERSION)?;
        }
        let version = versions.get(())?.map(|version| version.value());
        if version != Some(VERSION) {
            return Err(Failed::Store(StoreError(
                "it was not written by this version of the program; use the one that wrote it, or name another file"
                    .to_owned(),
            )));
        }
    }
    transaction.open_table(TURNS)?;
    transaction.open_multimap_table(POINTS)?;
    transaction.open_table(TURNS_OF_SESSION)?;
    transaction.open_table(POINTS_OF_SESSION)?;
    transaction.open_table(CALLS)?;
    transaction.open_table(KEYS)?;
    transaction.open_table(SESSIONS)?;
    transaction.open_table(EXPIRY)?;
    transaction.open_table(SESSIONS_OF_CLIENT)?;
    transaction.open_table(TURNS_OF_CLIENT)?;
    transaction.open_table(COUNTERS)?;
    transaction.open_table(PROGRESS)?;
    transaction.open_table(PROGRESS_EXPIRY)?;
    let mut secrets = transaction.open_table(SECRET)?;
    if secrets.is_empty()? {
        secrets.insert((), &crate::random::bytes())?;
    }
    Ok(())
}

/// What was saved now.
struct Saved<'s> {
    session: Option<&'s SessionId>,
    request: Option<Digest>,
}

/// The session that expires first, and when; not this one.
fn first_session(
    transaction: &WriteTransaction,
    but: Option<&SessionId>,
) -> Result<Option<(u64, SessionId)>, Failed> {
    let expiry = transaction.open_table(EXPIRY)?;
    for entry in expiry.iter()? {
        let (key, _) = entry?;
        let (at, id) = key.value();
        if but.is_none_or(|but| but.0 != id) {
            return Ok(Some((at, SessionId(id.to_owned()))));
        }
    }
    Ok(None)
}

/// The session of a client that expires first, and when; not this one.
fn first_session_of_client(
    transaction: &WriteTransaction,
    client: Digest,
    but: &SessionId,
) -> Result<Option<(u64, SessionId)>, Failed> {
    let sessions = transaction.open_table(SESSIONS_OF_CLIENT)?;
    let client = client.as_bytes();
    for entry in sessions.range((client, 0, "")..)? {
        let (key, _) = entry?;
        let (other, at, id) = key.value();
        if other != client {
            break;
        }
        if but.0 != id {
            return Ok(Some((at, SessionId(id.to_owned()))));
        }
    }
    Ok(None)
}

/// The request whose progress expires first, and when; not this one.
fn first_progress(
    transaction: &WriteTransaction,
    but: Option<Digest>,
) -> Result<Option<(u64, [u8; 32])>, Failed> {
    let expiry = transaction.open_table(PROGRESS_EXPIRY)?;
    for entry in expiry.iter()? {
        let (key, _) = entry?;
        let (at, request) = key.value();
        if but.is_none_or(|but| but.as_bytes() != request) {
            return Ok(Some((at, *request)));
        }
    }
    Ok(None)
}

fn remove_progress(transaction: &WriteTransaction, request: &[u8; 32]) -> Result<(), Failed> {
    let removed = {
        let mut all = transaction.open_table(PROGRESS)?;
        let removed = all.remove(request)?;
        removed.map(|removed| (removed.value().0, removed.value().1.len()))
    };
    let Some((expires_at, bytes)) = removed else {
        return Ok(());
    };
    transaction
        .open_table(PROGRESS_EXPIRY)?
        .remove((expires_at, request))?;
    add_bytes(transaction, 0, bytes)
}

/// How many bytes of turns and of progress there are.
fn count_bytes(transaction: &WriteTransaction) -> Result<u64, Failed> {
    let counters = transaction.open_table(COUNTERS)?;
    Ok(counters.get("bytes")?.map_or(0, |bytes| bytes.value()))
}

/// Counts bytes that were added and removed.
fn add_bytes(transaction: &WriteTransaction, added: usize, removed: usize) -> Result<(), Failed> {
    let count = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    add(transaction, "bytes", count(added).saturating_sub(count(removed)))?;
    Ok(())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Adds to a counter, and returns what it has then.
fn add(transaction: &WriteTransaction, counter: &str, more: i64) -> Result<u64, Failed> {
    let mut counters = transaction.open_table(COUNTERS)?;
    let before = counters.get(counter)?.map_or(0, |count| count.value());
    let after = before.saturating_add_signed(more);
    counters.insert(counter, after)?;
    Ok(after)
}

/// Adds to the turns of a client, and returns how many it has then.
fn count_turns(transaction: &WriteTransaction, client: Digest, more: i64) -> Result<u64, Failed> {
    let mut counts = transaction.open_table(TURNS_OF_CLIENT)?;
    let before = counts.get(client.as_bytes())?.map_or(0, |count| count.value());
    let after = before.saturating_add_signed(more);
    if after == 0 {
        counts.remove(client.as_bytes())?;
    } else {
        counts.insert(client.as_bytes(), after)?;
    }
    Ok(after)
}

fn load_session(transaction: &WriteTransaction, id: &SessionId) -> Result<Option<StoredSession>, Failed> {
    let sessions = transaction.open_table(SESSIONS)?;
    let session = sessions.get(id.0.as_str())?;
    Ok(session.map(|session| decode(session.value())).transpose()?)
}

/// Removes a turn; says whether it was there.
fn remove_turn(transaction: &WriteTransaction, id: &str) -> Result<bool, Failed> {
    let removed: Option<(StoredTurn, usize)> = {
        let mut turns = transaction.open_table(TURNS)?;
        let removed = turns.remove(id)?;
        match removed {
            Some(bytes) => Some((decode(bytes.value())?, bytes.value().len())),
            None => None,
        }
    };
    let Some((stored, bytes)) = removed else {
        return Ok(false);
    };
    let mut calls = transaction.open_table(CALLS)?;
    for call in &stored.calls {
        calls.remove(call.as_bytes())?;
    }
    transaction
        .open_multimap_table(POINTS)?
        .remove(stored.turn.point.as_bytes(), (stored.number, id))?;
    let session = stored.turn.session.0.as_str();
    transaction
        .open_table(TURNS_OF_SESSION)?
        .remove((session, stored.number))?;
    transaction.open_table(POINTS_OF_SESSION)?.remove((
        session,
        stored.turn.point.as_bytes(),
        stored.number,
    ))?;
    add_bytes(transaction, 0, bytes)?;
    Ok(true)
}

/// Removes the oldest turn of a session, unless it has no other; says whether it did.
fn remove_older_turn(transaction: &WriteTransaction, session: &SessionId) -> Result<bool, Failed> {
    let oldest = {
        let name = session.0.as_str();
        let turns = transaction.open_table(TURNS_OF_SESSION)?;
        let mut turns = turns.range((name, 0)..=(name, u64::MAX))?;
        let (Some(oldest), Some(_)) = (turns.next(), turns.next()) else {
            return Ok(false);
        };
        oldest?.1.value().to_owned()
    };
    let Some(stored) = load_session(transaction, session)? else {
        return Ok(false);
    };
    count_turns(transaction, stored.client, -1)?;
    remove_turn(transaction, &oldest)
}

/// Removes the oldest turn of a session, and the session with its last one.
fn remove_from_session(
    transaction: &WriteTransaction,
    expires_at: u64,
    id: &SessionId,
) -> Result<(), Failed> {
    if remove_older_turn(transaction, id)? {
        return Ok(());
    }
    remove_session(transaction, expires_at, id)
}

/// The ids of a session's turns, the oldest first.
fn turns_of_session(transaction: &WriteTransaction, session: &str) -> Result<Vec<String>, Failed> {
    let turns = transaction.open_table(TURNS_OF_SESSION)?;
    let ids = turns.range((session, 0)..=(session, u64::MAX))?;
    ids.map(|entry| Ok(entry?.1.value().to_owned())).collect()
}

fn remove_session(transaction: &WriteTransaction, expires_at: u64, id: &SessionId) -> Result<(), Failed> {
    let name = id.0.as_str();
    if let Some(stored) = load_session(transaction, id)? {
        let turns = turns_of_session(transaction, name)?;
        for turn in &turns {
            remove_turn(transaction, turn)?;
        }
        count_turns(
            transaction,
            stored.client,
            -i64::try_from(turns.len()).unwrap_or(i64::MAX),
        )?;
        transaction.open_table(SESSIONS_OF_CLIENT)?.remove((
            stored.client.as_bytes(),
            stored.expires_at,
            name,
        ))?;
        let mut keys = transaction.open_table(KEYS)?;
        for key in &stored.keys {
            // The client may have given it to another session since.
            let is_own = keys
                .get(key.as_bytes())?
                .is_some_and(|session| session.value() == name);
            if is_own {
                keys.remove(key.as_bytes())?;
            }
        }
    }
    transaction.open_table(SESSIONS)?.remove(name)?;
    transaction.open_table(EXPIRY)?.remove((expires_at, name))?;
    Ok(())
}

/// The session, unless it has expired.
fn session(transaction: &redb::ReadTransaction, id: &str) -> Result<Option<StoredSession>, Failed> {
    let sessions = transaction.open_table(SESSIONS)?;
    let Some(bytes) = sessions.get(id)? else {
        return Ok(None);
    };
    let session: StoredSession = decode(bytes.value())?;
    Ok((session.expires_at > seconds(SystemTime::now())).then_some(session))
}

/// Reads turns, unless their session has expired. Most turns of a request are of one session, which is read once.
struct TurnReader<'t> {
    transaction: &'t redb::ReadTransaction,
    turns: redb::ReadOnlyTable<&'static str, &'static [u8]>,
    points: redb::ReadOnlyMultimapTable<&'static [u8; 32], (u64, &'static str)>,
    points_of_session: redb::ReadOnlyTable<(&'static str, &'static [u8; 32], u64), &'static str>,
    is_known: HashMap<SessionId, bool>,
}

impl<'t> TurnReader<'t> {
    fn new(transaction: &'t redb::ReadTransaction) -> Result<Self, Failed> {
        Ok(Self {
            transaction,
            turns: transaction.open_table(TURNS)?,
            points: transaction.open_multimap_table(POINTS)?,
            points_of_session: transaction.open_table(POINTS_OF_SESSION)?,
            is_known: HashMap::new(),
        })
    }

    fn turn(&mut self, id: &str) -> Result<Option<Arc<Turn>>, Failed> {
        let Some(bytes) = self.turns.get(id)? else {
            return Ok(None);
        };
        let StoredTurn { turn, .. } = decode(bytes.value())?;
        if !self.is_known.contains_key(&turn.session) {
            let is_known = session(self.transaction, &turn.session.0)?.is_some();
            self.is_known.insert(turn.session.clone(), is_known);
        }
        let is_known = self.is_known.get(&turn.session) == Some(&true);
        Ok(is_known.then(|| Arc::new(turn)))
    }

    /// The turns after a point, the oldest first: the latest, and those of a session.
    fn turns_of_point(
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

/// Runs what may wait for the disk on a thread for that.
fn on_disk<'a, T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> StoreFuture<'a, T> {
    Box::pin(async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => Err(StoreError(format!("the thread for the file failed: {error}"))),
        }
    })
}

impl SessionStore for FileStore {
    fn turns<'a>(
        &'a self,
        points: &'a [Digest],
        session: Option<&'a SessionId>,
    ) -> StoreFuture<'a, Vec<Vec<Arc<Turn>>>> {
        let (store, points, own) = (self.clone(), points.to_vec(), session.cloned());
        on_disk(move || {
            store.read_now(|transaction| {
                let mut reader = TurnReader::new(transaction)?;
                let found = points
                    .iter()
                    .map(|point| reader.turns_of_point(*point, own.as_ref()));
                found.collect()
            })
        })
    }

    fn turn_of_call(&self, call: Digest) -> StoreFuture<'_, Option<Arc<Turn>>> {
        let store = self.clone();
        on_disk(move || {
            store.read_now(|transaction| {
                let calls = transaction.open_table(CALLS)?;
                let Some(id) = calls.get(call.as_bytes())? else {
                    return Ok(None);
                };
                TurnReader::new(transaction)?.turn(id.value())
            })
        })
    }

    fn session_of_key(&self, key: Digest) -> StoreFuture<'_, Option<SessionId>> {
        let store = self.clone();
        on_disk(move || {
            store.read_now(|transaction| {
                let keys = transaction.open_table(KEYS)?;
                let Some(id) = keys.get(key.as_bytes())? else {
                    return Ok(None);
                };
                Ok(session(transaction, id.value())?.map(|stored| stored.session.id))
            })
        })
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        let (store, id) = (self.clone(), id.clone());
        on_disk(move || {
            store.read_now(|transaction| Ok(session(transaction, &id.0)?.map(|stored| stored.session)))
        })
    }

    fn save(&self, saved: SavedTurn) -> StoreFuture<'_, ()> {
        self.write(move |store, transaction| {
            let (session, client) = (saved.turn.session.clone(), saved.client);
            let bytes = count_bytes(transaction)?;
            store.insert(transaction, saved.turn, saved.client, saved.calls, saved.keys)?;
            if let Some(progress) = &saved.progress {
                store.insert_progress(transaction, progress)?;
            }
            store.make_room_for_client(transaction, client, &session)?;
            let saved = Saved {
                session: Some(&session),
                request: saved.progress.map(|progress| progress.request),
            };
            store.make_room(transaction, &saved, bytes)
        })
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn save_progress(&self, progress: Progress) -> StoreFuture<'_, ()> {
        self.write(move |store, transaction| {
            let bytes = count_bytes(transaction)?;
            store.insert_progress(transaction, &progress)?;
            let saved = Saved {
                session: None,
                request: Some(progress.request),
            };
            store.make_room(transaction, &saved, bytes)
        })
    }

    fn progress(&self, request: Digest) -> StoreFuture<'_, Option<Progress>> {
        let store = self.clone();
        on_disk(move || {
            store.read_now(|transaction| {
                let table = transaction.open_table(PROGRESS)?;
                let Some(found) = table.get(request.as_bytes())? else {
                    return Ok(None);
                };
                let (expires_at, record) = found.value();
                let record = (expires_at > seconds(SystemTime::now())).then(|| record.to_vec());
                Ok(record.map(|record| Progress { request, record }))
            })
        })
    }

    fn size(&self) -> StoreFuture<'_, Option<StoreSize>> {
        let store = self.clone();
        on_disk(move || {
            let turns = store.read_now(|transaction| Ok(transaction.open_table(TURNS)?.len()?))?;
            Ok(Some(StoreSize {
                turns: usize::try_from(turns).unwrap_or(usize::MAX),
                bytes: store.database.bytes()?,
            }))
        })
    }

    fn ttl(&self) -> Duration {
        self.ttl
    }

    fn name(&self) -> String {
        format!("file {}", self.database.path().display())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::session::chain::ChainKey;
    use crate::session::tests::work;

    fn digest(name: &str) -> Digest {
        ChainKey::new([1; 32]).digest(&[name.as_bytes()])
    }

    /// A store, and how many bytes of its records a look-up reads, or a save reads and writes.
    struct Look {
        folder: std::path::PathBuf,
        store: FileStore,
    }

    impl Look {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("tool-gateway-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            let store = FileStore::open(folder.join("sessions.redb")).unwrap();
            Self { folder, store }
        }

        /// Stores turns of a session after points of these names, in one go.
        fn save(&self, session: &str, points: impl Iterator<Item = String>) {
            let client = digest("client");
            let save = |transaction: &WriteTransaction| {
                for point in points {
                    let turn = Turn {
                        id: format!("{session} {point}"),
                        session: SessionId(session.to_owned()),
                        point: digest(&point),
                        context: client,
                        answer: client,
                        outline: client,
                        truth: Vec::new(),
                        is_unchanged: true,
                        drops_thinking: false,
                        visible: Vec::new(),
                        calls: Vec::new(),
                        systems: Vec::new(),
                        state: Map::new(),
                    };
                    self.store
                        .insert(transaction, turn, client, Vec::new(), Vec::new())?;
                }
                Ok(())
            };
            self.store.write_now(save).unwrap();
        }

        /// How many bytes are read for these points, and how many turns are found.
        fn at(&self, points: impl Iterator<Item = String>, session: &str) -> (usize, usize) {
            let session = SessionId(session.to_owned());
            let read = || {
                self.store.read_now(|transaction| {
                    let mut reader = TurnReader::new(transaction)?;
                    let mut found = 0;
                    for point in points {
                        found += reader.turns_of_point(digest(&point), Some(&session))?.len();
                    }
                    Ok(found)
                })
            };
            let (bytes, found) = work::steps(read);
            (bytes, found.unwrap())
        }
    }

    impl Drop for Look {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn history_is_read_in_time_linear_in_its_turns() {
        let look = Look::new("linear");
        let points = |turns| (0..turns).map(|number: usize| number.to_string());
        look.save("short", points(200));
        let (short, found) = look.at(points(200), "short");
        assert_eq!(found, 200);
        let look = Look::new("linear-long");
        look.save("long", points(800));
        let (long, found) = look.at(points(800), "long");
        assert_eq!(found, 800);
        assert!(long < 5 * short, "{short} bytes of 200 turns, {long} of 800");
    }

    #[test]
    fn point_of_many_conversations_is_read_in_time_independent_of_their_length() {
        let look = Look::new("common");
        let common = || std::iter::once("common".to_owned());
        look.save("own", common());
        look.save("own", (0..1000).map(|number| number.to_string()));
        look.save("short", common());
        for other in 0..2 * MAX_TURNS_OF_POINT {
            look.save(&format!("other {other}"), common());
        }
        let (short, found) = look.at(common(), "short");
        assert_eq!(found, MAX_TURNS_OF_POINT + 1);
        let (long, found) = look.at(common(), "own");
        assert_eq!(found, MAX_TURNS_OF_POINT + 1);
        assert!(
            long.abs_diff(short) < 16,
            "{short} bytes, and {long} beside a long session"
        );
    }

    #[test]
    fn turn_is_saved_in_time_independent_of_the_length_of_its_session() {
        let look = Look::new("growth");
        let mut saved = 0;
        let mut bytes_of = |turn: usize| {
            look.save("long", (saved..turn - 1).map(|number| format!("{number:05}")));
            saved = turn;
            let last = std::iter::once(format!("{turn:05}"));
            work::steps(|| look.save("long", last)).0
        };
        let (tenth, last) = (bytes_of(10), bytes_of(5_000));
        // Numbers have more digits.
        assert!(
            tenth.abs_diff(last) < 16,
            "{tenth} bytes for the 10th turn, {last} for the 5,000th"
        );
    }

    #[test]
    fn file_of_another_version_is_refused() {
        let look = Look::new("versions");
        look.save("a", std::iter::once("point".to_owned()));
        let write = |version: Option<u32>| {
            let write = |transaction: &WriteTransaction| {
                let mut versions = transaction.open_table(FILE_VERSION)?;
                match version {
                    Some(version) => versions.insert((), version)?,
                    None => versions.remove(())?,
                };
                Ok(())
            };
            look.store.write_now(write).unwrap();
        };
        let create = || look.store.write_now(create_tables);
        assert_eq!(create(), Ok(()));
        // The first ones had none.
        for other in [None, Some(VERSION - 1), Some(VERSION + 1)] {
            write(other);
            let StoreError(error) = create().unwrap_err();
            assert!(
                error.ends_with("use the one that wrote it, or name another file"),
                "{error}"
            );
        }
        write(Some(VERSION));
        assert_eq!(create(), Ok(()));
    }

    /// Who waited has been told that it failed, and has stored something newer since.
    #[tokio::test]
    async fn abandoned_write_is_not_executed_later() {
        let folder = std::env::temp_dir().join(format!("tool-gateway-late-{}", std::process::id()));
        let store = FileStore::open(folder.join("sessions.redb")).unwrap();
        let request = ChainKey::new([1; 32]).digest(&[b"request"]);
        let progress = |record: &[u8]| Progress {
            request,
            record: record.to_vec(),
        };
        store.save_progress(progress(b"first")).await.unwrap();
        // Another write takes long.
        let ((writes, is_writing), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
        let other = store.clone();
        let writing = std::thread::spawn(move || {
            other.write_now(|_| {
                writes.send(()).unwrap();
                ended.recv().unwrap();
                Ok(())
            })
        });
        is_writing.recv().unwrap();
        let late = store.save_progress(progress(b"late"));
        let late = tokio::time::timeout(Duration::from_millis(100), late).await;
        assert!(late.is_err(), "it waits for the other");
        end.send(()).unwrap();
        writing.join().unwrap().unwrap();
        // Long enough for it to be written, if it were.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let found = store.progress(request).await.unwrap();
        assert_eq!(found, Some(progress(b"first")));
        store.save_progress(progress(b"second")).await.unwrap();
        assert_eq!(store.progress(request).await.unwrap(), Some(progress(b"second")));
        drop(store);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
