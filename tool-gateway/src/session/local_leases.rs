//! [`LocalLeases`]: leases of requests, and their progress, in the memory of a process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::chain::Digest;
use super::lease::{
    Appended, CLIENT_MARK, LEASE_TIME, Lease, LeaseOutcome, LeaseRequest, MAX_SAMPLES, Progress, SEEN_TIME,
    UNSEEN_TIME,
};
use crate::fold_map::FoldMap;

/// Leases of the requests of all clients.
#[derive(Debug, Default)]
pub(super) struct LocalLeases(Mutex<FoldMap<RequestKey, Samples>>);

/// A client and its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct RequestKey {
    client: Digest,
    request: Digest,
}

/// Samples of the answer to a request by number.
type Samples = BTreeMap<u64, Sample>;

/// Time for which the progress of a request is kept after its last change.
const LOG_TIME: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug)]
struct Sample {
    fence: u64,
    owner: u128,
    idempotency_key: Option<Digest>,
    /// End of the lease; `None` after its release.
    until: Option<Instant>,
    /// Time until which the owner has a connected client.
    client_until: Instant,
    /// Time of the last segment of a complete sample.
    done: Option<Instant>,
    /// Time at which a client has received the end of the answer.
    seen: Option<Instant>,
    log: SampleLog,
    changed: Instant,
}

/// Segments of a sample, and the position of the log among the logs of the sample.
#[derive(Debug, Default)]
struct SampleLog {
    fence: u64,
    restart: u32,
    segments: Vec<Vec<u8>>,
}

/// The sample that a request gets.
enum SampleChoice {
    Held(Duration),
    Done(u64),
    /// The sample continues from its log, or begins.
    Taken(u64),
    /// The sample has been answered, and its number is used again.
    Reused(u64),
}

impl Sample {
    fn has_lease(&self, now: Instant) -> bool {
        self.done.is_none() && self.until.is_some_and(|until| until > now)
    }

    /// Returns whether no client has received the answer for so long that only retries get it.
    fn is_left(&self, now: Instant) -> bool {
        self.seen.is_none() && self.done.is_some_and(|done| done + UNSEEN_TIME < now)
    }

    /// Returns whether the sample is kept. A lease that was never claimed again ends after its time.
    fn is_kept(&self, now: Instant) -> bool {
        let is_expired = match self.seen {
            Some(seen) => seen + SEEN_TIME <= now,
            None => self.changed + LOG_TIME <= now,
        };
        !is_expired || self.has_lease(now)
    }

    /// Returns the choice of this sample.
    fn joined(&self, number: u64, instance: u128, now: Instant) -> SampleChoice {
        // An instance does not wait for its own claim, whose answer was lost.
        if self.has_lease(now) && self.owner != instance {
            SampleChoice::Held(self.until.map_or(Duration::ZERO, |until| until - now))
        } else if self.done.is_some() {
            SampleChoice::Done(number)
        } else {
            SampleChoice::Taken(number)
        }
    }

    /// Creates the sample of a lease that the store has lost.
    fn lost(lease: Lease) -> Self {
        let now = Instant::now();
        Self {
            fence: lease.fence,
            owner: 0,
            idempotency_key: None,
            until: Some(now),
            client_until: now,
            done: None,
            seen: None,
            log: SampleLog::default(),
            changed: now,
        }
    }

    /// Gives the lease to an instance, with a fence that is greater than all earlier fences of the sample, also of lost ones.
    fn take(before: Option<Self>, request: &LeaseRequest<'_>, now: Instant) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        let last = before.as_ref().map_or(0, |sample| sample.fence);
        Self {
            fence: micros.max(last.saturating_add(1)),
            owner: request.instance,
            idempotency_key: request
                .idempotency_key
                .or(before.as_ref().and_then(|sample| sample.idempotency_key)),
            until: Some(now + LEASE_TIME),
            client_until: now + CLIENT_MARK,
            done: None,
            seen: None,
            log: before.map(|sample| sample.log).unwrap_or_default(),
            changed: now,
        }
    }
}

impl LeaseRequest<'_> {
    /// Chooses the sample for the request: the one with its idempotency key, or else the oldest one whose client has left. Otherwise, a retry
    /// gets the oldest sample that no client has received, then the latest one, and another request gets a new one.
    fn choose(&self, samples: &Samples, now: Instant) -> SampleChoice {
        let is_running = |number: &u64| self.running.contains(number);
        let others = || samples.iter().filter(|(number, _)| !is_running(number));
        let key = self.idempotency_key;
        if let Some((number, sample)) =
            others().find(|(_, sample)| key.is_some() && sample.idempotency_key == key)
        {
            return sample.joined(*number, self.instance, now);
        }
        let (mut held, mut seen) = (None, None);
        for (number, sample) in others() {
            // Different keys belong to different requests.
            let is_retried = self.is_retry && (key.is_none() || sample.idempotency_key.is_none());
            match sample.joined(*number, self.instance, now) {
                joined @ SampleChoice::Held(_) if sample.client_until > now => {
                    held = held.or(Some(joined).filter(|_| is_retried));
                }
                SampleChoice::Done(_) if !is_retried && sample.seen.is_some() => {
                    // A retry with the key of the sample gets its answer.
                    if !self.is_retry && sample.idempotency_key.is_none() {
                        seen = seen.or(Some(SampleChoice::Reused(*number)));
                    }
                }
                SampleChoice::Done(_) if !self.is_retry && sample.is_left(now) => {}
                SampleChoice::Done(_) if sample.seen.is_some() => seen = Some(SampleChoice::Done(*number)),
                // Its client may be receiving the answer.
                joined @ SampleChoice::Done(_) if sample.client_until > now => held = held.or(Some(joined)),
                joined => return joined,
            }
        }
        held.or(seen).unwrap_or_else(|| {
            if samples.len() as u64 >= MAX_SAMPLES
                && let Some((oldest, _)) = others()
                    .filter(|(_, sample)| sample.done.is_some())
                    .min_by_key(|(_, sample)| (sample.seen.is_none(), sample.fence))
            {
                return SampleChoice::Reused(*oldest);
            }
            let is_free = |number: &u64| !samples.contains_key(number) && !is_running(number);
            // One of these numbers is free.
            let mut numbers = 0..=(samples.len() + self.running.len()) as u64;
            SampleChoice::Taken(numbers.find(is_free).unwrap_or_default())
        })
    }
}

impl LocalLeases {
    pub(super) fn claim(&self, client: Digest, claimed: &LeaseRequest<'_>) -> LeaseOutcome {
        let now = Instant::now();
        let mut all = self.lock();
        let request = claimed.request;
        let samples = all.entry(RequestKey { client, request }).or_default();
        samples.retain(|_, sample| sample.is_kept(now));
        let mut is_reused = false;
        let (number, before) = match claimed.choose(samples, now) {
            SampleChoice::Held(left) => return LeaseOutcome::Held { left },
            SampleChoice::Done(sample) => {
                let stored = samples.get(&sample);
                let lease = Lease {
                    request,
                    sample,
                    fence: stored.map_or(0, |stored| stored.fence),
                };
                let log = stored.map(|stored| stored.log.segments.clone());
                return LeaseOutcome::Done {
                    lease,
                    log: log.unwrap_or_default(),
                };
            }
            SampleChoice::Taken(number) => (number, samples.remove(&number)),
            SampleChoice::Reused(number) => {
                is_reused = true;
                let mut before = samples.remove(&number);
                if let Some(before) = &mut before {
                    before.log = SampleLog::default();
                    before.idempotency_key = None;
                }
                (number, before)
            }
        };
        let mut sample = Sample::take(before, claimed, now);
        if is_reused {
            sample.log.fence = sample.fence;
        }
        let lease = Lease {
            request,
            sample: number,
            fence: sample.fence,
        };
        let SampleLog { segments, fence, .. } = &sample.log;
        let (log, log_fence) = (segments.clone(), *fence);
        samples.insert(number, sample);
        LeaseOutcome::Taken {
            lease,
            log,
            log_fence,
        }
    }

    pub(super) fn append(&self, client: Digest, progress: Progress) -> Appended {
        self.renewed(client, progress.lease, |sample| {
            let now = Instant::now();
            let log = &mut sample.log;
            let (position, new) = ((log.fence, log.restart), (progress.lease.fence, progress.restart));
            if new < position {
                return Appended::Fenced;
            }
            let have = if new > position {
                0
            } else {
                log.segments.len() as u64
            };
            if progress.at > have {
                return Appended::Gap { have };
            }
            if progress.at < have {
                return Appended::Kept;
            }
            if new > position {
                *log = SampleLog {
                    fence: progress.lease.fence,
                    restart: progress.restart,
                    segments: Vec::new(),
                };
            }
            log.segments.push(progress.segment);
            sample.changed = now;
            sample.done = progress.is_last.then_some(now);
            if sample.done.is_none() {
                // A released lease stays so.
                sample.until = sample.until.map(|until| until.max(now + LEASE_TIME));
            }
            Appended::Kept
        })
        .unwrap_or(Appended::Fenced)
    }

    /// Prolongs a lease. Returns whether the instance has the lease.
    pub(super) fn renew(&self, client: Digest, lease: Lease, has_client: bool) -> bool {
        let renew = |sample: &mut Sample| {
            let now = Instant::now();
            // A renewal may be executed after the release.
            let Some(until) = &mut sample.until else {
                return false;
            };
            *until = now + LEASE_TIME;
            sample.client_until = if has_client { now + CLIENT_MARK } else { now };
            true
        };
        self.renewed(client, lease, renew).unwrap_or(false)
    }

    pub(super) fn release(&self, client: Digest, lease: Lease, is_seen: bool) {
        let request = lease.request;
        let mut all = self.lock();
        let samples = all.get_mut(&RequestKey { client, request });
        if let Some(sample) = samples.and_then(|samples| samples.get_mut(&lease.sample))
            && sample.fence == lease.fence
        {
            sample.until = None;
            if is_seen {
                sample.seen = Some(Instant::now());
            }
        }
    }

    /// Returns whether an instance has a lease of this client.
    pub(super) fn has_lease(&self, client: Digest) -> bool {
        let now = Instant::now();
        let all = self.lock();
        let mut of_client = all.iter().filter(|(key, _)| key.client == client);
        of_client.any(|(_, samples)| samples.values().any(|sample| sample.has_lease(now)))
    }

    /// Removes the samples of requests that were not claimed again.
    pub(super) fn remove_expired(&self) {
        let now = Instant::now();
        self.lock().retain(|_, samples| {
            samples.retain(|_, sample| sample.is_kept(now));
            !samples.is_empty()
        });
    }

    /// Changes the sample of a lease; `None` if another instance has the lease. A sample that the store has lost still belongs to its owner.
    fn renewed<T>(&self, client: Digest, lease: Lease, change: impl FnOnce(&mut Sample) -> T) -> Option<T> {
        let request = lease.request;
        let mut all = self.lock();
        let samples = all.entry(RequestKey { client, request }).or_default();
        let sample = samples.entry(lease.sample).or_insert_with(|| Sample::lost(lease));
        (sample.fence == lease.fence).then(|| change(sample))
    }

    /// Loses all samples, as a server does in a restart.
    #[cfg(test)]
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, FoldMap<RequestKey, Samples>> {
        // No change can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::digest;

    #[tokio::test(start_paused = true)]
    async fn samples_that_are_not_claimed_again_are_removed() {
        let leases = LocalLeases::default();
        let claim = |request: &str| {
            let claimed = LeaseRequest {
                request: digest(request),
                instance: 1,
                running: &[],
                is_retry: false,
                idempotency_key: None,
            };
            leases.claim(digest("client"), &claimed)
        };
        claim("left");
        let LeaseOutcome::Taken { lease, .. } = claim("renewed") else {
            panic!("the sample is new");
        };
        tokio::time::advance(LOG_TIME / 2).await;
        leases.remove_expired();
        assert_eq!(leases.lock().len(), 2);
        tokio::time::advance(LOG_TIME / 2).await;
        assert!(leases.renew(digest("client"), lease, true));
        tokio::time::advance(LEASE_TIME / 2 + Duration::from_secs(1)).await;
        leases.remove_expired();
        assert_eq!(
            leases.lock().keys().map(|key| key.request).collect::<Vec<_>>(),
            [digest("renewed")]
        );
        leases.release(digest("client"), lease, true);
        tokio::time::advance(SEEN_TIME / 2).await;
        leases.remove_expired();
        assert_eq!(leases.lock().len(), 1);
        tokio::time::advance(SEEN_TIME / 2).await;
        leases.remove_expired();
        assert!(leases.lock().is_empty());
    }
}
