//! [`RedisStore`]: sessions in Redis, which several gateways use at the same time.

mod address;
mod keys;
mod packing;
mod damaged;
mod scripts;
mod health;
mod link;
mod replies;
mod redis_store;
mod script_arguments;
mod lookups;
mod saves;
mod leases;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::address::RedisAddress;
use self::keys::ClientKeys;
pub use self::redis_store::RedisStore;
use super::chain::Digest;
use super::record::{Session, SessionId};
use super::store::{
    Appended, FoundEntries, Lease, LeaseOutcome, LeaseRequest, Lookup, Progress, Reach, SaveOutcome,
    SavedTurn, SessionStore, StoreFuture, StoredTurn,
};

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
            if self.secret.get().is_none() || self.is_checked.get().is_none() {
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
