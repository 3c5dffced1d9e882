//! Counts what look-ups do, for tests of how it grows: clocks are not to be trusted.
//!
//! The code that is tested counts, since nothing outside of it shows this work. A store is asked once, however many records it reads
//! for the answer; the file is read by pages, most of them from a cache; and the calls of a turn are looked at when the store has
//! answered.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Runs a function. Returns the number of steps that were counted on this thread meanwhile, and the output.
pub(in crate::session) fn steps<T>(work: impl FnOnce() -> T) -> (usize, T) {
    STEPS.set(0);
    let done = work();
    (STEPS.get(), done)
}

pub(in crate::session) fn count(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}
