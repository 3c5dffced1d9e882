//! Counter of allocations. Only the program `allocations` counts; in other programs the counter stays 0.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static ALL: AtomicU64 = AtomicU64::new(0);
static MEASURED: AtomicU64 = AtomicU64::new(0);

/// Counts one `alloc` or `realloc`. Called by the program's allocator.
pub fn count() {
    ALL.fetch_add(1, Relaxed);
}

/// Returns the number of allocations of the whole program so far.
pub fn all() -> u64 {
    ALL.load(Relaxed)
}

/// Adds the allocations since `before` to the measurement.
pub fn measure_since(before: u64) {
    MEASURED.fetch_add(all() - before, Relaxed);
}

/// Returns the measurement since the last call, and resets it.
pub fn take_measured() -> u64 {
    MEASURED.swap(0, Relaxed)
}
