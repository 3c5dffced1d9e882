//! Processor time of tests, beside the time that passed: on a busy machine, everything takes long.

use std::time::{Duration, Instant};

/// A beginning.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    worked: Option<Duration>,
    began: Instant,
}

impl Clock {
    /// Starts.
    pub fn start() -> Self {
        Self {
            worked: worked(),
            began: Instant::now(),
        }
    }

    /// The processor time of this thread since then; where the system does not tell, the time that has passed.
    pub fn worked(self) -> Duration {
        match (self.worked, worked()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.began.elapsed(),
        }
    }
}

/// The processor time that Linux has counted for this thread.
fn worked() -> Option<Duration> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = schedstat.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
