//! Processor time of look-ups and saves, for tests of growth.

use std::time::Duration;

#[path = "../../../../tests/support/clock.rs"]
#[expect(unreachable_pub, reason = "shared with a library of tests")]
mod clock;

/// Shorter times are below the resolution of the clock.
const MEASURABLE: Duration = Duration::from_millis(10);

/// Returns the time of this many runs on this thread: the least of three measurements, since other processes disturb the caches.
pub(in crate::session) fn time_of(runs: usize, mut run: impl FnMut()) -> Duration {
    let time = || {
        let clock = clock::Clock::start();
        (0..runs).for_each(|_| run());
        clock.worked()
    };
    let least = std::iter::repeat_with(time).take(3).min();
    least.unwrap_or_default().max(MEASURABLE)
}
