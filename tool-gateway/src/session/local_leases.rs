//! [`LocalLeases`]: leases of requests, and their progress, in the memory of a process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::chain::Digest;
use super::lease::{Appended, CLIENT_MARK, LEASE_TIME, Lease, LeaseOutcome, LeaseRequest, Progress};
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
    /// End of the lease.
    until: Instant,
    /// Time until which the owner has a connected client.
    client_until: Instant,
    is_done: bool,
    /// Whether a client has received the end of the answer.
    is_seen: bool,
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
        !self.is_done && self.until > now
    }

    /// Gives the lease to an instance, with a fence that is greater than all earlier fences of the sample, also of lost ones.
    fn take(before: Option<Self>, owner: u128, now: Instant) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        let last = before.as_ref().map_or(0, |sample| sample.fence);
        Self {
            fence: micros.max(last.saturating_add(1)),
            owner,
            until: now + LEASE_TIME,
            client_until: now + CLIENT_MARK,
            is_done: false,
            is_seen: false,
            log: before.map(|sample| sample.log).unwrap_or_default(),
            changed: now,
        }
    }
}

impl LeaseRequest<'_> {
    /// Chooses the sample for the request: a retry gets the oldest sample that no client has received, then the latest one. Another request
    /// gets a sample whose client has left, or else a new one.
    fn choose(&self, samples: &Samples, now: Instant) -> SampleChoice {
        let mut seen = None;
        let is_running = |number: &u64| self.running.contains(number);
        for (number, sample) in samples.iter().filter(|(number, _)| !is_running(number)) {
            // The claim of this instance whose answer was lost.
            let is_own = sample.owner == self.instance;
            if sample.has_lease(now) && !is_own {
                if self.is_retry || sample.client_until <= now {
                    return SampleChoice::Held(sample.until - now);
                }
            } else if !sample.is_done {
                return SampleChoice::Taken(*number);
            } else if !sample.is_seen {
                return SampleChoice::Done(*number);
            } else {
                seen = seen.filter(|_| !self.is_retry).or(Some(*number));
            }
        }
        match seen {
            Some(number) if self.is_retry => SampleChoice::Done(number),
            Some(number) => SampleChoice::Reused(number),
            None => {
                let is_free = |number: &u64| !samples.contains_key(number) && !is_running(number);
                // One of these numbers is free.
                let mut numbers = 0..=(samples.len() + self.running.len()) as u64;
                SampleChoice::Taken(numbers.find(is_free).unwrap_or_default())
            }
        }
    }
}

impl LocalLeases {
    pub(super) fn claim(&self, client: Digest, claimed: &LeaseRequest<'_>) -> LeaseOutcome {
        let now = Instant::now();
        let mut all = self.lock();
        let request = claimed.request;
        let samples = all.entry(RequestKey { client, request }).or_default();
        samples.retain(|_, sample| sample.changed + LOG_TIME > now || sample.has_lease(now));
        let (number, before) = match claimed.choose(samples, now) {
            SampleChoice::Held(left) => return LeaseOutcome::Held { left },
            SampleChoice::Done(sample) => {
                let log = samples.get(&sample).map(|sample| sample.log.segments.clone());
                let log = log.unwrap_or_default();
                return LeaseOutcome::Done { sample, log };
            }
            SampleChoice::Taken(number) => (number, samples.remove(&number)),
            SampleChoice::Reused(number) => {
                let mut before = samples.remove(&number);
                if let Some(before) = &mut before {
                    before.log = SampleLog::default();
                }
                (number, before)
            }
        };
        let sample = Sample::take(before, claimed.instance, now);
        let lease = Lease {
            request,
            sample: number,
            fence: sample.fence,
        };
        let log = sample.log.segments.clone();
        samples.insert(number, sample);
        LeaseOutcome::Taken { lease, log }
    }

    pub(super) fn append(&self, client: Digest, progress: Progress) -> Appended {
        self.with(client, progress.lease, |sample| {
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
            sample.is_done = progress.is_last;
            if !sample.is_done {
                sample.until = sample.until.max(now + LEASE_TIME);
            }
            Appended::Kept
        })
        .unwrap_or(Appended::Fenced)
    }

    /// Prolongs a lease. Returns whether the instance has the lease.
    pub(super) fn renew(&self, client: Digest, lease: Lease, has_client: bool) -> bool {
        let renew = |sample: &mut Sample| {
            let now = Instant::now();
            sample.until = now + LEASE_TIME;
            if has_client {
                sample.client_until = now + CLIENT_MARK;
            }
        };
        self.with(client, lease, renew).is_some()
    }

    pub(super) fn release(&self, client: Digest, lease: Lease, is_seen: bool) {
        self.with(client, lease, |sample| {
            sample.until = Instant::now();
            sample.is_seen |= is_seen;
        });
    }

    /// Changes the sample of a lease; `None` if another instance has the lease.
    fn with<T>(&self, client: Digest, lease: Lease, change: impl FnOnce(&mut Sample) -> T) -> Option<T> {
        let request = lease.request;
        let mut all = self.lock();
        let sample = all
            .get_mut(&RequestKey { client, request })?
            .get_mut(&lease.sample)?;
        (sample.fence == lease.fence).then(|| change(sample))
    }

    fn lock(&self) -> MutexGuard<'_, FoldMap<RequestKey, Samples>> {
        // No change can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
