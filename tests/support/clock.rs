//! Processor time of tests, since the elapsed time depends on the load of the machine.

use std::time::{Duration, Instant};

/// Start of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    worked: Option<Duration>,
    began: Instant,
}

impl Clock {
    /// Starts a measurement.
    pub fn start() -> Self {
        Self {
            worked: worked(),
            began: Instant::now(),
        }
    }

    /// Returns the processor time of this thread since the start, or the elapsed time on a system without processor times.
    pub fn worked(self) -> Duration {
        match (self.worked, worked()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.began.elapsed(),
        }
    }
}

/// Returns the processor time that Linux has counted for this thread.
fn worked() -> Option<Duration> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = schedstat.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
