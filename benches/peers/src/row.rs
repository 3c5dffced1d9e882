//! A way to call the tool, from text and from a value.

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;
use tokio::runtime::{Builder, Runtime};

use crate::allocations;
use crate::clock::Contender;

/// Number of small inputs that are created before the measurement.
pub const BATCH: u64 = 64;

/// A way to call the tool.
pub struct Row {
    pub name: &'static str,
    pub from_text: Contender<'static>,
    pub from_value: Contender<'static>,
    /// Steps of a user from text, if they are not one call, and from a value.
    pub conversions: [&'static str; 2],
}

/// Builds the runtime of a row, with one thread and without unnecessary features.
pub fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Repeats the work with one borrowed input.
pub fn again<T>(mut once: impl AsyncFnMut() -> T + 'static) -> Contender<'static> {
    let runtime = runtime();
    Box::new(move |times| {
        runtime.block_on(async {
            let meter = Meter::start();
            for _ in 0..times {
                black_box(once().await);
            }
            meter.stop()
        })
    })
}

/// Repeats the work with inputs that it consumes. Inputs are created outside of the measurement, `batch` at a time.
pub fn each_with<I, T>(
    batch: u64,
    make: impl Fn() -> I + 'static,
    mut once: impl AsyncFnMut(I) -> T + 'static,
) -> Contender<'static> {
    let runtime = runtime();
    Box::new(move |times| {
        runtime.block_on(async {
            let mut took = Duration::ZERO;
            let mut inputs = Vec::new();
            let mut left = times;
            while left > 0 {
                let now = left.min(batch);
                left -= now;
                inputs.extend((0..now).map(|_| make()));
                let meter = Meter::start();
                for input in inputs.drain(..) {
                    black_box(once(black_box(input)).await);
                }
                took += meter.stop();
            }
            took
        })
    })
}

/// A clock or a counter, read before and after the work.
struct Meter(u64, ThreadTime);

impl Meter {
    fn start() -> Self {
        Self(allocations::all(), ThreadTime::now())
    }

    fn stop(self) -> Duration {
        let took = self.1.elapsed();
        allocations::measure_since(self.0);
        took
    }
}
