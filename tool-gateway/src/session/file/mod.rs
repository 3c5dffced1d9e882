//! [`FileStore`]: sessions in a file, which survive a restart.

mod tables;
mod counters;
mod version_5;
mod create;
mod lookup;
mod remove;
mod limits;
mod save;
mod queue;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redb::{ReadTransaction, ReadableDatabase as _, ReadableTableMetadata as _, WriteTransaction};

use self::limits::{Moment, StoreLimits};
use self::lookup::TurnReader;
use self::queue::WriteQueue;
use self::tables::TURNS;
use super::chain::Digest;
use super::clock::Clock;
use super::database::{Failed, FileDatabase};
use super::record::{Session, SessionId};
use super::store::{
    Appended, DEFAULT_BYTES_PER_CLIENT, DEFAULT_TTL, DEFAULT_TURNS_PER_CLIENT, FoundCall, FoundEntries,
    FoundTurn, Lookup, Progress, Reach, SaveOutcome, SavedTurn, SessionStore, StoreError, StoreFuture,
    StoreSize, StoredTurn,
};
use crate::off_worker::BlockingThreads;

/// Keeps sessions in a file. Saved turns survive a crash, and no other process can open the file at the same time. The file also has the
/// secret of the digests, so that [`Gateway::with_store`](crate::Gateway::with_store) alone finds the sessions after a restart.
///
/// A session expires after a time without a new turn. The progress of a request expires, too. The entries of a client above its limits are
/// removed in the order of their expiration: the oldest turns of a session, and the session with its last turn. Above the limit of all
/// clients, entries of the client with the most bytes are removed. In place of a removed turn, the client's messages are forwarded
/// unchanged.
///
/// ```
/// use std::time::Duration;
/// use tool_gateway::session::file::FileStore;
/// use tool_gateway::session::store::SessionStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("tool-gateway-doc-{}", std::process::id()));
/// let store = FileStore::open(folder.join("sessions.redb"))?.with_ttl(Duration::from_secs(3600));
/// let secret = store.secret();
/// drop(store);
/// let again = FileStore::open(folder.join("sessions.redb"))?;
/// assert!(again.secret().is_some() && again.secret() == secret);
/// # drop(again);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FileStore {
    database: Arc<FileDatabase>,
    queue: Arc<WriteQueue>,
    clock: Clock,
    secret: [u8; 32],
    limits: StoreLimits,
}

/// Maximum number of expired turns and requests that a sweep removes in one transaction.
const MAX_SWEPT: usize = 256;

impl FileStore {
    /// Opens or creates a file. The file and a new folder are accessible only to the owner. The whole file is read, so that a corrupted
    /// file is an error.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or created, is not a session file or is corrupted, has lost its secret, or is open in another process.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::with_database(FileDatabase::open(path.as_ref())?)
    }

    fn with_database(database: FileDatabase) -> Result<Self, StoreError> {
        let secret = database.write(create::create)?;
        let database = Arc::new(database);
        Ok(Self {
            queue: Arc::new(WriteQueue::new(Arc::clone(&database))),
            database,
            clock: Clock::default(),
            secret,
            limits: StoreLimits {
                ttl: DEFAULT_TTL,
                max_bytes: 4 << 30,
                max_turns_per_client: DEFAULT_TURNS_PER_CLIENT,
                max_bytes_per_client: DEFAULT_BYTES_PER_CLIENT,
            },
        })
    }

    /// Sets the time for which a session is kept without a new turn, a day by default. A session with a suspended turn is kept four times
    /// as long.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.limits.ttl = ttl;
        self
    }

    /// Sets the maximum number of bytes of turns and progress, 4 GiB by default. A larger session loses its oldest turns; the turn that is
    /// being saved is always kept.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.limits.max_bytes = bytes;
        self
    }

    /// Sets the maximum number of turns of each client, 10,000 by default, so that no client displaces the turns of others. A session with
    /// more turns loses its oldest ones; the turn that is being saved is always kept.
    #[must_use]
    pub fn with_max_turns_per_client(mut self, turns: u64) -> Self {
        self.limits.max_turns_per_client = turns;
        self
    }

    /// Sets the maximum number of bytes of turns and progress of each client, 256 MiB by default.
    #[must_use]
    pub fn with_max_bytes_per_client(mut self, bytes: u64) -> Self {
        self.limits.max_bytes_per_client = bytes;
        self
    }

    /// Sets the clocks that determine the expiration of sessions.
    #[cfg(test)]
    pub(crate) fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    fn read_now<T>(&self, read: impl FnOnce(&ReadTransaction) -> Result<T, Failed>) -> Result<T, StoreError> {
        self.database.with(|database| read(&database.begin_read()?))
    }

    fn write_now<T>(
        &self,
        write: impl FnOnce(&WriteTransaction) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        self.database.write(write)
    }

    /// Runs a read on a blocking thread, with the seconds since 1970.
    fn read<'a, T: Send + 'static>(
        &self,
        read: impl FnOnce(&ReadTransaction, u64) -> Result<T, Failed> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let store = self.clone();
        on_disk(move || store.read_now(|transaction| read(transaction, store.clock.seconds())))
    }

    /// Runs a write on a blocking thread, in one transaction with the queued writes of other requests.
    fn write<'a, T: Send + 'static>(
        &self,
        write: impl Fn(&WriteTransaction, &StoreLimits, Moment) -> Result<T, Failed> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let store = self.clone();
        let queue = Arc::clone(&self.queue);
        Box::pin(queue.write(move |transaction| write(transaction, &store.limits, store.moment())))
    }

    /// Returns the time of a write.
    fn moment(&self) -> Moment {
        Moment {
            seconds: self.clock.seconds(),
            may_remove: self.clock.may_remove(self.limits.ttl),
        }
    }

    /// Removes expired entries in one transaction. Returns whether there may be more.
    fn remove_expired_now(&self) -> Result<bool, StoreError> {
        let now = self.moment();
        // A sweep without expired entries needs no write transaction.
        if !now.may_remove || !self.read_now(|transaction| limits::has_expired(transaction, now.seconds))? {
            return Ok(false);
        }
        self.write_now(|transaction| Ok(limits::remove_expired(transaction, now, MAX_SWEPT)? == MAX_SWEPT))
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore")
            .field("database", &self.database)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Threads for all operations on files except the writes of a [`WriteQueue`], which have a separate thread.
static READERS: BlockingThreads = BlockingThreads::new(32);

/// Runs an operation that may block on the disk, on a blocking thread.
fn on_disk<'a, T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> StoreFuture<'a, T> {
    Box::pin(async move {
        match READERS.run(work).await {
            Ok(result) => result,
            Err(error) => Err(StoreError(format!("the thread for the file failed: {error}"))),
        }
    })
}

/// A [`Lookup`] that a thread owns.
struct OwnedLookup {
    keys: Vec<Digest>,
    calls: Vec<Digest>,
    points: Vec<Digest>,
    session: Option<SessionId>,
}

impl OwnedLookup {
    fn new(lookup: &Lookup<'_>) -> Self {
        Self {
            keys: lookup.keys.to_vec(),
            calls: lookup.calls.to_vec(),
            points: lookup.points.to_vec(),
            session: lookup.session.cloned(),
        }
    }

    fn find(self, mut reader: TurnReader<'_>) -> Result<FoundEntries, Failed> {
        let session = reader.session_of_keys(&self.keys)?;
        let call = reader.turn_of_calls(&self.calls)?;
        let of_call = match &call {
            Some(FoundCall {
                turn: FoundTurn::Turn(turn),
                ..
            }) => Some(turn.record.session().clone()),
            _ => None,
        };
        let own = self.session.or(of_call).or_else(|| session.clone());
        let points = self
            .points
            .iter()
            .map(|point| reader.turns_of_point(*point, own.as_ref()));
        Ok(FoundEntries {
            points: points.collect::<Result<_, _>>()?,
            session,
            call,
        })
    }
}

impl SessionStore for FileStore {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        let lookup = OwnedLookup::new(lookup);
        self.read(move |transaction, now| lookup.find(TurnReader::new(transaction, client, now)?))
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        let ids = ids.to_vec();
        self.read(move |transaction, now| {
            let mut reader = TurnReader::new(transaction, client, now)?;
            ids.iter().map(|id| reader.turn(id)).collect()
        })
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        let id = id.clone();
        self.read(move |transaction, now| lookup::session(transaction, client, now, id.as_str()))
    }

    fn has_session<'a>(&'a self, client: Option<Digest>, id: &'a SessionId) -> StoreFuture<'a, bool> {
        let id = id.clone();
        self.read(move |transaction, now| {
            let stored = lookup::stored_session(transaction, now, id.as_str())?;
            Ok(stored.is_some_and(|stored| client.is_none_or(|client| stored.client == client)))
        })
    }

    fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        self.write(move |transaction, limits, now| save::save_turn(transaction, limits, now, client, &saved))
    }

    fn reach(&self) -> Reach {
        Reach::Machine
    }

    fn append(&self, client: Digest, progress: Progress) -> StoreFuture<'_, Appended> {
        self.write(move |transaction, limits, now| save::append(transaction, limits, now, client, &progress))
    }

    fn progress(&self, client: Digest, log: Digest) -> StoreFuture<'_, Vec<Vec<u8>>> {
        self.read(move |transaction, now| lookup::progress(transaction, client, now, log))
    }

    fn remove_expired(&self) -> StoreFuture<'_, bool> {
        let store = self.clone();
        on_disk(move || store.remove_expired_now())
    }

    fn secret(&self) -> Option<[u8; 32]> {
        Some(self.secret)
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
        self.limits.ttl
    }

    fn name(&self) -> String {
        format!("file {}", self.database.path().display())
    }
}
