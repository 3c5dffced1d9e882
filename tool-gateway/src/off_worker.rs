//! Work that takes long leaves the worker threads, which serve all requests.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// Size of a text from which on the work on it leaves the worker, in bytes.
const LARGE: usize = 256 << 10;

/// Runs work on a text of this size. A large one is worked on while another thread takes over the tasks of this worker. A runtime with one
/// thread has no other: there, the work runs in place.
pub(crate) fn in_place<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if bytes > LARGE && has_threads() {
        return tokio::task::block_in_place(work);
    }
    work()
}

/// Threads for requests with large bodies.
#[derive(Debug)]
pub(crate) struct LargeRequests {
    running: Semaphore,
}

impl Default for LargeRequests {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            running: Semaphore::new(threads),
        }
    }
}

impl LargeRequests {
    /// Runs a future about a text of this size: a large one on a thread that serves nothing else, as many at once as there are processors.
    ///
    /// A panic of the future is one of the caller.
    pub(crate) async fn run<F>(&self, bytes: usize, work: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        if bytes <= LARGE {
            return work.await;
        }
        // The semaphore is never closed.
        let _running = self.running.acquire().await;
        let runtime = Handle::current();
        match tokio::task::spawn_blocking(move || runtime.block_on(work)).await {
            Ok(output) => output,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and with it this task.
                Err(_) => std::future::pending().await,
            },
        }
    }
}
