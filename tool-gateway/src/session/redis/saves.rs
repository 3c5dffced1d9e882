//! Storage of turns, and of the progress of requests, in Redis.

use std::time::Duration;

use super::keys::ClientKeys;
use super::redis_store::{LOG_TIME, RedisStore};
use super::replies::{ScriptReply, invalid};
use super::script_arguments::{decimal, flag, milliseconds, text};
use super::scripts::StoreScript;
use crate::session::chain::Digest;
use crate::session::lease::LEASE_TIME;
use crate::session::store::{Appended, Progress, SaveOutcome, SavedTurn, StoreError};

/// Time for which the parts of a segment are kept without their last part.
const PARTS_TIME: Duration = Duration::from_secs(60);

/// Estimated sizes in bytes of a turn's entries in Redis, of a call, and of a key of the client.
const ENTRY_BYTES: usize = 1536;
const CALL_BYTES: usize = 256;
const KEY_BYTES: usize = 256;

impl RedisStore {
    pub(super) async fn save_turn(
        &self,
        client: Digest,
        saved: SavedTurn,
    ) -> Result<SaveOutcome, StoreError> {
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

    pub(super) async fn append_segment(
        &self,
        client: Digest,
        progress: Progress,
    ) -> Result<Appended, StoreError> {
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
}

fn full() -> StoreError {
    StoreError("the progress of a request is larger than 64 MiB".to_owned())
}
