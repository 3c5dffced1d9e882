//! One way of calling the tool, from text and from a value.

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;
use tokio::runtime::{Builder, Runtime};

use crate::allocations;
use crate::clock::Contender;

/// The number of small inputs of a call that are made before the clock runs.
pub const BATCH: u64 = 64;

/// One way of calling the tool.
pub struct Row {
    pub name: &'static str,
    pub from_text: Contender<'static>,
    pub from_value: Contender<'static>,
    /// What a user has to do from text, where that is not one call; the same from a value.
    pub conversions: [&'static str; 2],
}

/// A runtime for one row: one thread, nothing enabled that the tool does not need.
pub fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Does the work with the same borrowed input, over and over.
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

/// Does the work with an input that it uses up. The inputs are made while the clock stands still, a `batch` at a time.
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

/// A clock or counter, read before and after the work.
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
