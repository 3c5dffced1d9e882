//! Times between restarts.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Longest time between two starts, and time without a failure after which the next time is the shortest again.
const LONGEST: Duration = Duration::from_secs(60);

/// Times between restarts: 1 s, 2 s, 4 s and so on up to 60 s, each longer or shorter by up to 20 %.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Returns the time up to the next start, after a server that was healthy for `healthy`.
    pub(crate) fn next(&mut self, healthy: Duration) -> Duration {
        if healthy >= LONGEST {
            self.failures = 0;
        }
        let seconds = 1_u64.checked_shl(self.failures.min(6)).unwrap_or(u64::MAX);
        self.failures = self.failures.saturating_add(1);
        // So that servers that ended together do not start together.
        let random = RandomState::new().hash_one(0) % 401;
        let share = 800 + u32::try_from(random).unwrap_or_default();
        Duration::from_secs(seconds).min(LONGEST) * share / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_a_minute_and_starts_again_after_a_healthy_minute() {
        let mut backoff = Backoff::default();
        let mut next = |healthy| backoff.next(Duration::from_secs(healthy)).as_secs_f64();
        for seconds in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0] {
            let found = next(59);
            assert!(
                (seconds * 0.8..=seconds * 1.2).contains(&found),
                "{seconds}: {found}"
            );
        }
        assert!(next(60) <= 1.2);
        let found: std::collections::HashSet<_> =
            (0..20).map(|_| Backoff::default().next(Duration::ZERO)).collect();
        assert!(found.len() > 1, "servers that ended together start together");
    }
}
