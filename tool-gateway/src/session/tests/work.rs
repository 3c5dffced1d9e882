//! Counts what look-ups do, for tests of how it grows: clocks are not to be trusted.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// How many steps were counted on this thread meanwhile.
pub(in crate::session) fn steps<T>(work: impl FnOnce() -> T) -> (usize, T) {
    STEPS.set(0);
    let done = work();
    (STEPS.get(), done)
}

pub(in crate::session) fn count(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}
