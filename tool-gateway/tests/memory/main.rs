//! Memory that a request takes, by the shape of its body, and other requests beside a large one.
//!
//! Bodies have half a MiB, or the number of MiB in the variable `GATEWAY_BODY_MB`. The program has no other tests, since the peak of the
//! allocated bytes is the peak of the process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::format_push_string,
    reason = "a test"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

mod shapes;
mod peak;
mod beside;

/// Counts the bytes that are allocated.
#[global_allocator]
static ALLOCATED: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

/// Returns a lock for a test that must run without other tests, since `cargo test` runs tests as threads of one process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
