//! [`Clock`]: the wall clock and the monotonic clock, and [`ClockWatch`], which stops the removal of expired sessions after a change of the
//! wall clock.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Times of both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Time since 1970 by the wall clock.
    pub(crate) wall: Duration,
    /// Time since the start by the monotonic clock.
    pub(crate) monotonic: Duration,
}

/// Maximum difference between the times that passed on the wall clock and on the monotonic clock. A larger difference means that the wall
/// clock was set, or that the machine was suspended.
const MAX_DIFFERENCE: Duration = Duration::from_secs(5 * 60);

/// The clocks of a store.
#[derive(Clone)]
pub(crate) struct Clock {
    read: Arc<dyn Fn() -> Reading + Send + Sync>,
    watch: Arc<Mutex<ClockWatch>>,
}

impl Clock {
    /// Creates a clock from a function that reads both clocks.
    pub(crate) fn new(read: impl Fn() -> Reading + Send + Sync + 'static) -> Self {
        let watch = ClockWatch::new(read());
        Self {
            read: Arc::new(read),
            watch: Arc::new(Mutex::new(watch)),
        }
    }

    /// Returns the time by the wall clock in seconds since 1970.
    pub(crate) fn seconds(&self) -> u64 {
        (self.read)().wall.as_secs()
    }

    /// Returns whether expired sessions may be removed now.
    pub(crate) fn may_remove(&self, ttl: Duration) -> bool {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.may_remove((self.read)(), ttl)
    }
}

impl Default for Clock {
    fn default() -> Self {
        let start = Instant::now();
        Self::new(move || Reading {
            wall: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            monotonic: start.elapsed(),
        })
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("watch", &self.watch)
            .finish_non_exhaustive()
    }
}

/// Compares the clocks. A wrong time could make all sessions seem expired, so after a difference no session is removed for one time to
/// live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ClockWatch {
    /// The first reading after the last difference.
    since: Reading,
    /// Monotonic time until which no session is removed.
    held_until: Duration,
}

impl ClockWatch {
    fn new(now: Reading) -> Self {
        Self {
            since: now,
            held_until: Duration::ZERO,
        }
    }

    /// Compares the clocks. Returns whether expired sessions may be removed now.
    fn may_remove(&mut self, now: Reading, ttl: Duration) -> bool {
        let monotonic = now.monotonic.saturating_sub(self.since.monotonic);
        let expected = self.since.wall.saturating_add(monotonic);
        if now.wall.abs_diff(expected) > MAX_DIFFERENCE {
            *self = Self {
                since: now,
                held_until: now.monotonic.saturating_add(ttl),
            };
        }
        now.monotonic >= self.held_until
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Creates a clock whose wall clock moves with tokio's, which tests pause.
    pub(crate) fn paused() -> Clock {
        let start = Instant::now();
        Clock::new(move || Reading {
            wall: Duration::from_secs(1 << 30).saturating_add(start.elapsed()),
            monotonic: start.elapsed(),
        })
    }

    /// Rows of the wall time, the monotonic time, and whether expired sessions may be removed at this time. The time to live is 1,000 s.
    #[test]
    fn removes_no_session_for_one_ttl_after_the_clocks_differ() {
        let tables: [&[(u64, u64, bool)]; 6] = [
            // The clocks advance equally, or nearly equally.
            &[(10_000, 0, true), (90_000, 80_000, true), (90_301, 80_001, true)],
            // The wall clock is set forward.
            &[
                (10_000, 0, true),
                (10_401, 100, false),
                (11_300, 999, false),
                (11_401, 1_100, true),
            ],
            // The wall clock is set back.
            &[
                (10_000, 0, true),
                (9_000, 100, false),
                (9_999, 1_099, false),
                (10_000, 1_100, true),
            ],
            // A second change prolongs the time.
            &[
                (10_000, 0, true),
                (20_000, 10, false),
                (10_500, 510, false),
                (11_499, 1_509, false),
                (11_500, 1_510, true),
            ],
            // A difference of exactly five minutes is not a change, and later differences add up.
            &[(10_000, 0, true), (10_301, 1, true), (10_303, 2, false)],
            // The monotonic clock stops, like on a suspended machine.
            &[(10_000, 0, true), (1_000_000, 1, false), (1_001_000, 1_001, true)],
        ];
        for table in tables {
            let reading = |wall, monotonic| Reading {
                wall: Duration::from_secs(wall),
                monotonic: Duration::from_secs(monotonic),
            };
            let mut watch = ClockWatch::new(reading(table[0].0, table[0].1));
            for (wall, monotonic, may_remove) in table {
                let found = watch.may_remove(reading(*wall, *monotonic), Duration::from_secs(1_000));
                assert_eq!(found, *may_remove, "{wall} {monotonic} of {table:?}");
            }
        }
    }
}
