//! How often memory was asked for. The program `allocations` counts; in the others nothing does, and the figures stay 0.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static ALL: AtomicU64 = AtomicU64::new(0);
static MEASURED: AtomicU64 = AtomicU64::new(0);

/// What the program's allocator calls, once for each `alloc` and `realloc`.
pub fn count() {
    ALL.fetch_add(1, Relaxed);
}

/// Those of the whole program so far.
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
