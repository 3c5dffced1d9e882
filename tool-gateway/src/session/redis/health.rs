//! [`RedisHealth`]: the failures of Redis in a row.

use std::time::Duration;

use tokio::time::Instant;

/// Number of failures in a row after which operations fail without an attempt for [`REST`].
const MAX_FAILURES: u32 = 3;

/// Time without attempts.
const REST: Duration = Duration::from_secs(1);

/// Time of failures after which a load balancer should send requests to another gateway.
const MAX_DOWN: Duration = Duration::from_secs(10);

/// Failures since the last answer. An answer with an error of the server is no failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RedisHealth {
    failures: u32,
    /// Time of the first failure.
    since: Option<Instant>,
    rests_until: Option<Instant>,
}

impl RedisHealth {
    /// Returns whether an operation fails now without an attempt.
    pub(super) fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| until > now)
    }

    /// Returns whether Redis has answered the latest operation, with an error or without.
    pub(super) fn has_answered(&self) -> bool {
        self.failures == 0
    }

    /// Returns whether Redis has not answered for a time.
    pub(super) fn is_down(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| since + MAX_DOWN <= now)
    }

    /// Records an operation that began at this time and ended now without an answer.
    pub(super) fn fail(&mut self, began: Instant, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.since = self.since.or(Some(began));
        if self.failures >= MAX_FAILURES {
            self.rests_until = Some(now + REST);
        }
    }

    /// Records an answer.
    pub(super) fn answer(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn operations_fail_at_once_after_three_failures_in_a_row() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut health = RedisHealth::default();
        for failed in 1..=2 {
            health.fail(start, start + second * 2);
            assert!(!health.rests(start + second * 2), "{failed}");
        }
        health.answer();
        health.fail(start, start + second * 2);
        assert!(!health.rests(start + second * 2), "the row has ended");
        health.fail(start, start + second * 3);
        health.fail(start, start + second * 4);
        assert!(health.rests(start + second * 4));
        assert!(!health.rests(start + second * 5));
        // The next failure begins another pause.
        health.fail(start + second * 5, start + second * 7);
        assert!(health.rests(start + second * 7));
        assert!(!health.is_down(start + second * 9));
        assert!(health.is_down(start + second * 10));
        health.answer();
        assert_eq!(health, RedisHealth::default());
    }
}
