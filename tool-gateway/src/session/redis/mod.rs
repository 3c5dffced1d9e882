//! [`RedisStore`]: sessions in Redis, which several gateways use at the same time.

mod address;
mod keys;
mod packing;
mod damaged;
mod scripts;
mod health;
mod link;
mod replies;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use redis::Value;

pub use self::address::RedisAddress;
use self::damaged::DamagedRecords;
use self::keys::{ClientKeys, SECRET};
use self::link::{Link, get_secret, set_secret};
use self::packing::Packing;
use self::replies::{ScriptReply, invalid};
use self::scripts::{Scripts, StoreScript};
use super::chain::Digest;
use super::lease::{CLIENT_MARK, LEASE_TIME, SEEN_TIME, UNSEEN_TIME};
use super::record::{Session, SessionId};
use super::store::{
    Appended, DEFAULT_BYTES_PER_CLIENT, DEFAULT_TTL, DEFAULT_TURNS_PER_CLIENT, FoundCall, FoundEntries,
    FoundTurn, Lease, LeaseOutcome, LeaseRequest, Lookup, Progress, Reach, SaveOutcome, SavedTurn,
    SessionStore, StoreError, StoreFuture, StoredTurn, TurnRef,
};
use super::turn_record::TurnRecord;

/// Keeps sessions in Redis 6.2 or later, or in Valkey, for several gateways at the same time. Each operation is one script, which Redis
/// executes atomically. All keys of a client are in one slot of a cluster. Sessions expire by the clock of the server.
///
/// The user of Redis needs the commands of the scripts, `EVALSHA`, `EVAL`, `GET`, `SET`, `PING`, and keys that begin with `tg1:`.
///
/// ```no_run
/// use tool_gateway::session::redis::RedisStore;
///
/// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// let store = RedisStore::new(&"redis://localhost:6379".parse()?, None)?;
/// store.connect().await?;
/// let gateway = tool_gateway::Gateway::new(tool_runtime::ToolRegistry::new(), tool_gateway::upstream::ScriptUpstream::embedded());
/// let gateway = gateway.with_store(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisStore {
    link: Arc<Link>,
    scripts: Arc<Scripts>,
    packing: Packing,
    secret: Arc<OnceLock<[u8; 32]>>,
    /// Whether the secret is in Redis.
    shares_secret: bool,
    /// Whether Redis has another secret.
    lost_secret: Arc<AtomicBool>,
    /// Whether the policy of evictions was read.
    knows_policy: Arc<OnceLock<()>>,
    damaged: Arc<DamagedRecords>,
    /// Hosts and ports.
    name: String,
    ttl: Duration,
    max_turns_per_client: u64,
    max_bytes_per_client: u64,
}

/// Time for which the progress of a request is kept after its last change.
const LOG_TIME: Duration = Duration::from_secs(24 * 3600);

/// Time for which the parts of a segment are kept without their last part.
const PARTS_TIME: Duration = Duration::from_secs(60);

/// Maximum number of turns that one script loads.
const MAX_LOADED: usize = 1024;

/// Estimated sizes in bytes of a turn's entries in Redis, of a call, and of a key of the client.
const ENTRY_BYTES: usize = 1536;
const CALL_BYTES: usize = 256;
const KEY_BYTES: usize = 256;

impl RedisStore {
    /// Creates a store that connects with its first operation.
    ///
    /// # Errors
    ///
    /// If the address is not supported, or has a user without a password: the default user would run the commands.
    pub fn new(address: &RedisAddress, password: Option<&str>) -> Result<Self, StoreError> {
        address.check_password(password.is_some()).map_err(StoreError)?;
        Ok(Self {
            link: Arc::new(Link::new(address, password)?),
            scripts: Arc::new(Scripts::new()),
            packing: Packing::default(),
            secret: Arc::default(),
            shares_secret: true,
            lost_secret: Arc::default(),
            knows_policy: Arc::default(),
            damaged: Arc::default(),
            name: address.to_string(),
            ttl: DEFAULT_TTL,
            max_turns_per_client: DEFAULT_TURNS_PER_CLIENT,
            max_bytes_per_client: DEFAULT_BYTES_PER_CLIENT,
        })
    }

    /// Sets the time for which a session is kept without a new turn, a day by default. A session with a suspended turn is kept four times
    /// as long.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the maximum number of turns of each client, 10,000 by default. A client with more turns loses its oldest sessions; the turn that
    /// is being saved is always kept.
    #[must_use]
    pub fn with_max_turns_per_client(mut self, turns: u64) -> Self {
        self.max_turns_per_client = turns;
        self
    }

    /// Sets the approximate maximum number of bytes of each client, with the progress of its requests, 256 MiB by default. Entries above the
    /// maximum are removed in the order of their expiration.
    #[must_use]
    pub fn with_max_bytes_per_client(mut self, bytes: u64) -> Self {
        self.max_bytes_per_client = bytes;
        self
    }

    /// Sets the secret of the session digests. The default is a secret in Redis.
    #[must_use]
    pub fn with_secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Arc::new(OnceLock::from(secret));
        self.shares_secret = false;
        self
    }

    /// Encrypts the stored turns and the progress of requests with AES-256-GCM and this key. Each record is bound to its key in Redis. Records
    /// without encryption are not found any more.
    #[must_use]
    pub fn with_encryption_key(mut self, key: &[u8; 32]) -> Self {
        self.packing = Packing::encrypted(key);
        self
    }

    /// Sets the number of replicas that must have the record of a call that must not be repeated after 100 ms. With fewer, the operation
    /// fails, so that no call begins whose record a failover would lose. The default is 0. To be called before the store is cloned or used.
    #[must_use]
    pub fn with_wait_replicas(mut self, replicas: u32) -> Self {
        if let Some(link) = Arc::get_mut(&mut self.link) {
            link.set_replicas(replicas);
        }
        self
    }

    /// Connects, and reads the secret of the session digests from Redis, or creates the secret there. A gateway needs the secret before its
    /// first request.
    ///
    /// # Errors
    ///
    /// If Redis does not answer, or has an invalid secret.
    pub async fn connect(&self) -> Result<(), StoreError> {
        self.check_policy().await?;
        if self.secret.get().is_some() {
            return Ok(());
        }
        let secret = self.stored_secret(&crate::random::bytes()).await?;
        // Another call has set an equal secret.
        let _ = self.secret.set(secret);
        self.link.keep_secret(secret);
        Ok(())
    }

    /// Returns the secret in Redis. If there is none, stores this one.
    async fn stored_secret(&self, new: &[u8; 32]) -> Result<[u8; 32], StoreError> {
        let mut stored = self.link.command(get_secret()).await?;
        if stored == Value::Nil {
            self.link.command(set_secret(new)).await?;
            stored = self.link.command(get_secret()).await?;
        }
        let invalid = |_| StoreError(format!("the key {SECRET} of Redis is not a secret of 32 bytes"));
        ScriptReply(stored).bytes()?.try_into().map_err(invalid)
    }

    /// Returns an error if Redis has another secret than this gateway: Redis was empty, and another gateway has created a secret.
    async fn check_secret(&self) -> Result<(), StoreError> {
        let Some(own) = self.secret.get().filter(|_| self.shares_secret) else {
            return Ok(());
        };
        if self.stored_secret(own).await? == *own {
            self.lost_secret.store(false, Ordering::Relaxed);
            return Ok(());
        }
        let error = StoreError(format!(
            "the key {SECRET} of Redis has another secret than this gateway; restart the gateway"
        ));
        if !self.lost_secret.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "sessions of other gateways are not found");
        }
        Err(error)
    }

    /// Logs a warning if Redis removes keys without memory: all keys have a lifetime, so that a policy `volatile-…` removes sessions in use and
    /// leases, too. The first success is the last check.
    async fn check_policy(&self) -> Result<(), StoreError> {
        if self.knows_policy.get().is_some() {
            self.link.command(redis::cmd("PING")).await?;
            return Ok(());
        }
        let mut info = redis::cmd("INFO");
        info.arg("memory");
        // The user may have no access to this command, which is no error of the store.
        let info = self.link.command(info).await;
        self.link.command(redis::cmd("PING")).await?;
        if self.knows_policy.set(()).is_ok()
            && let Some(policy) = info.ok().and_then(|info| ScriptReply(info).policy())
            && policy != "noeviction"
        {
            tracing::warn!(
                policy,
                "Redis removes sessions in use when it has no memory; set `maxmemory-policy` to `noeviction`"
            );
        }
        Ok(())
    }

    fn turn(&self, key: &str, record: &[u8]) -> Result<TurnRecord, StoreError> {
        TurnRecord::decode(&self.packing.unpack(key, record)?)
    }

    /// Reads the record of a turn. A damaged record is a missing turn.
    fn known_turn(&self, key: &str, record: &[u8]) -> Option<TurnRecord> {
        let turn = self.turn(key, record);
        turn.inspect_err(|error| self.damaged.report_turn(key, record, error))
            .ok()
    }

    /// Reads a log. Returns `None` if the log is damaged, or was written with another encryption key.
    fn segments(&self, key: &str, log: ScriptReply) -> Result<Option<Vec<Vec<u8>>>, StoreError> {
        let parts = log.list()?.into_iter().map(ScriptReply::bytes);
        let parts = parts.collect::<Result<Vec<_>, StoreError>>()?;
        let segments = self.packing.unpack_parts(key, parts);
        Ok(segments.inspect_err(|error| self.damaged.report_log(error)).ok())
    }

    /// Stores the parts of a large segment before its last part. Returns the key of the parts, and the arguments of the segment in the
    /// scripts: the fence, the restart, the position, the last part, whether it is the last segment, the time of a lease, the time for which a
    /// log is kept, the number of the other parts, and the size of all parts.
    async fn segment(
        &self,
        keys: &ClientKeys,
        progress: &Progress,
    ) -> Result<(String, [Vec<u8>; 9]), StoreError> {
        let lease = progress.lease;
        let log = keys.log(lease.request, lease.sample);
        let key = [keys.parts(progress)];
        let mut parts = self.packing.pack_parts(&log, &progress.segment)?;
        let size: usize = parts.iter().map(Vec::len).sum();
        let last = parts.pop().unwrap_or_default();
        let count = parts.len();
        for (number, part) in (1..).zip(parts) {
            let arguments = [decimal(number), part, milliseconds(PARTS_TIME)];
            self.link.run(&self.scripts.part, &key, &arguments).await?;
        }
        let arguments = [
            decimal(lease.fence),
            decimal(u64::from(progress.restart)),
            decimal(progress.at),
            last,
            flag(progress.is_last),
            milliseconds(LEASE_TIME),
            milliseconds(LOG_TIME),
            decimal(count as u64),
            decimal(size as u64),
        ];
        let [key] = key;
        Ok((key, arguments))
    }

    async fn find_entries(&self, client: Digest, lookup: &Lookup<'_>) -> Result<FoundEntries, StoreError> {
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

    async fn load_turns(
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

    async fn find_session(&self, client: Digest, id: &SessionId) -> Result<Option<Session>, StoreError> {
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
    async fn knows_session(&self, client: Option<Digest>, id: &SessionId) -> Result<bool, StoreError> {
        let Some(client) = client else {
            return Ok(true);
        };
        let mut exists = redis::cmd("EXISTS");
        exists.arg(ClientKeys::new(client).session(id.as_str()));
        Ok(ScriptReply(self.link.command(exists).await?).number()? == 1)
    }

    async fn save_turn(&self, client: Digest, saved: SavedTurn) -> Result<SaveOutcome, StoreError> {
        let keys = ClientKeys::new(client);
        let record = &saved.record;
        let (id, session) = (record.id(), record.session().as_str());
        let turn = keys.turn(id);
        let packed = self.packing.pack(&turn, &record.encode()?)?;
        let size = packed.len() + ENTRY_BYTES + saved.calls.len() * CALL_BYTES + saved.keys.len() * KEY_BYTES;
        let sizes = keys.sizes();
        let [samples, sample, log, leases] = match &saved.progress {
            Some(Progress { lease, .. }) => keys.of_lease(*lease),
            None => [sizes.clone(), sizes.clone(), sizes.clone(), sizes.clone()],
        };
        let (parts, segment) = match &saved.progress {
            Some(progress) => {
                let (parts, segment) = self.segment(&keys, progress).await?;
                (parts, segment.to_vec())
            }
            None => (sizes.clone(), vec![Vec::new()]),
        };
        let mut all = vec![
            turn,
            keys.point(record.point()),
            keys.turns(session),
            keys.session(session),
            keys.order(),
            sizes,
            samples,
            sample,
            log,
            leases,
            keys.samples_by_end(),
            parts,
        ];
        all.extend(saved.calls.iter().map(|call| keys.call(*call)));
        all.extend(saved.keys.iter().map(|name| keys.name(*name)));
        let mut arguments = vec![
            text(id),
            text(session),
            crate::random::bytes::<16>().to_vec(),
            packed,
            decimal(saved.revision),
            milliseconds(self.ttl),
            flag(record.is_suspended()),
            decimal(size as u64),
            decimal(self.max_turns_per_client),
            decimal(self.max_bytes_per_client),
            decimal(saved.calls.len() as u64),
        ];
        arguments.extend(segment);
        let (state, number, more) = self
            .write(&self.scripts.save, &all, &arguments, saved.precedes_effects)
            .await?;
        match state.as_str() {
            "saved" => {
                self.prolong(&keys, session, more).await;
                Ok(SaveOutcome::Saved { revision: number })
            }
            "conflict" => Ok(SaveOutcome::Conflict { revision: number }),
            "fenced" => Ok(SaveOutcome::Fenced),
            "gap" => Ok(SaveOutcome::Gap { have: number }),
            "full" => Err(full()),
            _ => Err(invalid()),
        }
    }

    /// Executes a script that removes entries above the limits of the client. The script is executed again while there are more entries to
    /// remove than one script removes.
    async fn write(
        &self,
        script: &StoreScript,
        keys: &[String],
        arguments: &[Vec<u8>],
        is_replicated: bool,
    ) -> Result<(String, u64, Option<u64>), StoreError> {
        loop {
            let reply = self.link.write(script, keys, arguments, is_replicated).await?;
            let reply = ScriptReply(reply).state()?;
            if reply.0 != "again" {
                return Ok(reply);
            }
        }
    }

    /// Prolongs the turns of a large session after the turn with this number. After an error, the next save begins again.
    async fn prolong(&self, keys: &ClientKeys, session: &str, mut after: Option<u64>) {
        let all = [keys.session(session), keys.turns(session)];
        let kept = self.ttl.saturating_mul(4).saturating_add(self.ttl / 4);
        while let Some(last) = after {
            let arguments = [decimal(last), milliseconds(kept)];
            let reply = self.link.run(&self.scripts.prolong, &all, &arguments).await;
            let reply = reply.and_then(|reply| ScriptReply(reply).optional_number());
            after = reply.unwrap_or_default();
        }
    }

    async fn append_segment(&self, client: Digest, progress: Progress) -> Result<Appended, StoreError> {
        let keys = ClientKeys::new(client);
        let [samples, sample, log, leases] = keys.of_lease(progress.lease);
        let (parts, segment) = self.segment(&keys, &progress).await?;
        let all = [
            samples,
            sample,
            log,
            leases,
            keys.sizes(),
            keys.order(),
            keys.samples_by_end(),
            parts,
        ];
        let mut arguments = segment.to_vec();
        arguments.push(decimal(self.max_bytes_per_client));
        let (state, number, _) = self
            .write(&self.scripts.append, &all, &arguments, progress.precedes_effects)
            .await?;
        match state.as_str() {
            "kept" => Ok(Appended::Kept),
            "fenced" => Ok(Appended::Fenced),
            "gap" => Ok(Appended::Gap { have: number }),
            "full" => Err(full()),
            "crowded" => Err(StoreError(format!(
                "the client's running requests have more than {} bytes of progress",
                self.max_bytes_per_client
            ))),
            _ => Err(invalid()),
        }
    }

    async fn claim_sample(
        &self,
        client: Digest,
        request: &LeaseRequest<'_>,
    ) -> Result<LeaseOutcome, StoreError> {
        let keys = ClientKeys::new(client);
        let all = [
            keys.samples(request.request),
            keys.leases(),
            keys.sizes(),
            keys.samples_by_end(),
        ];
        let mut arguments = vec![
            text(&format!("{:032x}", request.instance)),
            flag(request.is_retry),
            milliseconds(LEASE_TIME),
            milliseconds(CLIENT_MARK),
            milliseconds(LOG_TIME),
            milliseconds(UNSEEN_TIME),
            request
                .idempotency_key
                .map_or_else(Vec::new, |key| text(&key.to_hex())),
        ];
        arguments.extend(request.running.iter().map(|sample| decimal(*sample)));
        let reply = self.link.run(&self.scripts.claim, &all, &arguments).await?;
        let mut parts = ScriptReply(reply).list()?.into_iter();
        let mut next = || parts.next().ok_or_else(invalid);
        let (state, number) = (next()?.text()?, next()?.number()?);
        let log = keys.log(request.request, number);
        match state.as_str() {
            "held" => Ok(LeaseOutcome::Held {
                left: Duration::from_millis(number),
            }),
            "done" | "taken" => {
                let lease = Lease {
                    request: request.request,
                    sample: number,
                    fence: next()?.number()?,
                };
                Ok(match self.segments(&log, next()?)? {
                    Some(log) if state == "done" => LeaseOutcome::Done { lease, log },
                    Some(log) => LeaseOutcome::Taken {
                        lease,
                        log,
                        log_fence: next()?.number()?,
                    },
                    None => LeaseOutcome::Unreadable { lease },
                })
            }
            _ => Err(invalid()),
        }
    }

    async fn renew_lease(&self, client: Digest, lease: Lease, has_client: bool) -> Result<bool, StoreError> {
        let keys = ClientKeys::new(client);
        let all = keys.of_lease(lease);
        let mark = if has_client {
            milliseconds(CLIENT_MARK)
        } else {
            Vec::new()
        };
        let arguments = [
            decimal(lease.fence),
            milliseconds(LEASE_TIME),
            mark,
            milliseconds(LOG_TIME),
        ];
        let renewed = self.link.run(&self.scripts.renew, &all, &arguments).await?;
        Ok(ScriptReply(renewed).number()? == 1)
    }

    async fn release_lease(&self, client: Digest, lease: Lease, is_seen: bool) -> Result<(), StoreError> {
        let keys = ClientKeys::new(client);
        let all = [
            keys.sample(lease),
            keys.log(lease.request, lease.sample),
            keys.leases(),
            keys.samples_by_end(),
        ];
        let arguments = [decimal(lease.fence), flag(is_seen), milliseconds(SEEN_TIME)];
        self.link.run(&self.scripts.release, &all, &arguments).await?;
        Ok(())
    }

    async fn has_any_lease(&self, client: Digest) -> Result<bool, StoreError> {
        let leases = [ClientKeys::new(client).leases()];
        let valid = self.link.run(&self.scripts.has_lease, &leases, &[]).await?;
        Ok(ScriptReply(valid).number()? > 0)
    }
}

fn full() -> StoreError {
    StoreError("the progress of a request is larger than 64 MiB".to_owned())
}

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn decimal(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

fn flag(is_set: bool) -> Vec<u8> {
    decimal(u64::from(is_set))
}

fn milliseconds(time: Duration) -> Vec<u8> {
    // Redis has times of 63 bits, and the scripts multiply.
    let most = 1 << 48;
    decimal(u64::try_from(time.as_millis()).unwrap_or(most).clamp(1, most))
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("name", &self.name)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

impl SessionStore for RedisStore {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        Box::pin(self.find_entries(client, lookup))
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        Box::pin(self.load_turns(client, ids))
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        Box::pin(self.find_session(client, id))
    }

    fn has_session<'a>(&'a self, client: Option<Digest>, id: &'a SessionId) -> StoreFuture<'a, bool> {
        Box::pin(self.knows_session(client, id))
    }

    fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        Box::pin(self.save_turn(client, saved))
    }

    fn reach(&self) -> Reach {
        Reach::Shared
    }

    fn append(&self, client: Digest, progress: Progress) -> StoreFuture<'_, Appended> {
        Box::pin(self.append_segment(client, progress))
    }

    fn claim<'a>(&'a self, client: Digest, request: &'a LeaseRequest<'a>) -> StoreFuture<'a, LeaseOutcome> {
        Box::pin(self.claim_sample(client, request))
    }

    fn renew(&self, client: Digest, lease: Lease, has_client: bool) -> StoreFuture<'_, bool> {
        Box::pin(self.renew_lease(client, lease, has_client))
    }

    fn release(&self, client: Digest, lease: Lease, is_seen: bool) -> StoreFuture<'_, ()> {
        Box::pin(self.release_lease(client, lease, is_seen))
    }

    fn has_lease(&self, client: Digest) -> StoreFuture<'_, bool> {
        Box::pin(self.has_any_lease(client))
    }

    fn secret(&self) -> Option<[u8; 32]> {
        self.secret.get().copied()
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            if self.secret.get().is_none() || self.knows_policy.get().is_none() {
                return self.connect().await;
            }
            let checked = async {
                self.check_secret().await?;
                // The user may have lost the access to scripts.
                let leases = [ClientKeys::new(blake3::hash(b"check").into()).leases()];
                self.link.run(&self.scripts.has_lease, &leases, &[]).await
            };
            match checked.await {
                Err(error) if self.link.is_unavailable() => Err(error),
                _ => Ok(()),
            }
        })
    }

    fn damaged_records(&self) -> u64 {
        self.damaged.count()
    }

    fn ttl(&self) -> Duration {
        self.ttl
    }

    fn name(&self) -> String {
        format!("redis {}", self.name)
    }
}
