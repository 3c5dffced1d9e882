//! Leases of requests in Redis.

use std::time::Duration;

use super::keys::ClientKeys;
use super::redis_store::{LOG_TIME, RedisStore};
use super::replies::{ScriptReply, invalid};
use super::script_arguments::{decimal, flag, milliseconds, text};
use crate::session::chain::Digest;
use crate::session::lease::{CLIENT_MARK, LEASE_TIME, SEEN_TIME, UNSEEN_TIME};
use crate::session::store::{Lease, LeaseOutcome, LeaseRequest, StoreError};

impl RedisStore {
    pub(super) async fn claim_sample(
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

    pub(super) async fn renew_lease(
        &self,
        client: Digest,
        lease: Lease,
        has_client: bool,
    ) -> Result<bool, StoreError> {
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

    pub(super) async fn release_lease(
        &self,
        client: Digest,
        lease: Lease,
        is_seen: bool,
    ) -> Result<(), StoreError> {
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

    pub(super) async fn has_any_lease(&self, client: Digest) -> Result<bool, StoreError> {
        let leases = [ClientKeys::new(client).leases()];
        let valid = self.link.run(&self.scripts.has_lease, &leases, &[]).await?;
        Ok(ScriptReply(valid).number()? > 0)
    }

    /// Reads a log. Returns `None` if the log is damaged, or was written with another encryption key.
    fn segments(&self, key: &str, log: ScriptReply) -> Result<Option<Vec<Vec<u8>>>, StoreError> {
        let parts = log.list()?.into_iter().map(ScriptReply::bytes);
        let parts = parts.collect::<Result<Vec<_>, StoreError>>()?;
        let segments = self.packing.unpack_parts(key, parts);
        Ok(segments.inspect_err(|error| self.damaged.report_log(error)).ok())
    }
}
