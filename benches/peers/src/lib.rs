//! Benchmarks of equal tools with this runtime, with its peers, and without either.

#[allow(
    dead_code,
    reason = "shared with the other benches, which need other parts of it"
)]
#[path = "../../src/clock.rs"]
pub mod clock;
pub mod allocations;
pub mod row;
pub mod task;
pub mod floors;
pub mod ours;
#[cfg(feature = "others")]
pub mod others;
pub mod rows;
pub mod shapes;
pub mod ten;
