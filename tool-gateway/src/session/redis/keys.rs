//! [`ClientKeys`]: the names of a client's keys in Redis.

use crate::session::chain::Digest;
use crate::session::lease::{Lease, Progress};

/// Name of the key with the secret of all gateways, which is the only key without a client and without a lifetime.
pub(super) const SECRET: &str = "tg1:secret";

/// Number of hexadecimal digits of a digest in a key: 128 bits.
const DIGITS: usize = 32;

/// Returns the first digits of a digest.
fn digits(digest: Digest) -> String {
    let mut digits = digest.to_hex();
    digits.truncate(DIGITS);
    digits
}

/// Names of the keys of a client. The braces make Redis Cluster store all of them in one slot.
pub(super) struct ClientKeys(String);

impl ClientKeys {
    pub(super) fn new(client: Digest) -> Self {
        Self(format!("tg1:{{{}}}:", digits(client)))
    }

    fn key(&self, kind: char, name: &str) -> String {
        format!("{}{kind}:{name}", self.0)
    }

    pub(super) fn turn(&self, id: &str) -> String {
        self.key('T', id)
    }

    pub(super) fn point(&self, point: Digest) -> String {
        self.key('P', &digits(point))
    }

    /// Returns the key of the turns of a session.
    pub(super) fn turns(&self, session: &str) -> String {
        self.key('Z', session)
    }

    pub(super) fn session(&self, session: &str) -> String {
        self.key('S', session)
    }

    pub(super) fn call(&self, call: Digest) -> String {
        self.key('C', &digits(call))
    }

    pub(super) fn name(&self, name: Digest) -> String {
        self.key('N', &digits(name))
    }

    /// Returns the key of the sessions in the order of their expiration.
    pub(super) fn order(&self) -> String {
        format!("{}O", self.0)
    }

    /// Returns the key of the client's sizes.
    pub(super) fn sizes(&self) -> String {
        format!("{}U", self.0)
    }

    /// Returns the key of the samples of all requests in the order of the end of their time.
    pub(super) fn samples_by_end(&self) -> String {
        format!("{}E", self.0)
    }

    /// Returns the key of the client's leases in the order of their end.
    pub(super) fn leases(&self) -> String {
        format!("{}A", self.0)
    }

    #[cfg(test)]
    pub(super) fn key_of_skew(&self) -> String {
        format!("{}skew", self.0)
    }

    /// Returns the key of the numbers of a request's samples.
    pub(super) fn samples(&self, request: Digest) -> String {
        self.key('R', &digits(request))
    }

    pub(super) fn sample(&self, lease: Lease) -> String {
        format!("{}:{}", self.samples(lease.request), lease.sample)
    }

    /// Returns the keys that operations on a sample write: the samples of the request, the sample, its log, and the leases of the client.
    pub(super) fn of_lease(&self, lease: Lease) -> [String; 4] {
        [
            self.samples(lease.request),
            self.sample(lease),
            self.log(lease.request, lease.sample),
            self.leases(),
        ]
    }

    /// Returns the key of the parts of a segment, which are stored before the segment.
    pub(super) fn parts(&self, progress: &Progress) -> String {
        let Progress {
            lease, restart, at, ..
        } = progress;
        let request = self.key('M', &digits(lease.request));
        format!("{request}:{}:{}:{restart}:{at}", lease.sample, lease.fence)
    }

    pub(super) fn log(&self, request: Digest, sample: u64) -> String {
        format!("{}:{sample}", self.key('L', &digits(request)))
    }
}
