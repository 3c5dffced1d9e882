//! A counter of allocations. The program `allocations` counts; the counter of the others stays 0.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static ALL: AtomicU64 = AtomicU64::new(0);
static MEASURED: AtomicU64 = AtomicU64::new(0);

/// Counts one `alloc` or `realloc`; the program's allocator calls it.
pub fn count() {
    ALL.fetch_add(1, Relaxed);
}

/// The number of allocations of the whole program so far.
pub fn all() -> u64 {
    ALL.load(Relaxed)
}

/// Adds those since `before` to what is measured.
pub fn measure_since(before: u64) {
    MEASURED.fetch_add(all() - before, Relaxed);
}

/// Takes what was measured since the last time.
pub fn take_measured() -> u64 {
    MEASURED.swap(0, Relaxed)
}
