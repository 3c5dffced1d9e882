//! Runs long computations outside of tokio's worker threads, which serve all requests.

use futures_util::future::Either;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// Maximum size in bytes of a text that is processed on a worker thread.
const LARGE: usize = 256 << 10;

/// Runs `work`, which processes a text of `bytes` bytes. For a large text, `block_in_place` first moves the other tasks of this worker to
/// another thread. In a current-thread runtime, `work` always runs directly.
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

/// Limit on the blocking threads that one kind of work uses at once, so that stuck work of one kind does not exhaust tokio's threads.
///
/// A runtime has 512 blocking threads. Functions of `#[tool(blocking)]` use up to 384 of them, and offloaded files 32 (`tool-builtins`).
#[derive(Debug)]
pub(crate) struct BlockingThreads(Semaphore);

impl BlockingThreads {
    /// Creates a limit of `threads` concurrent threads.
    pub(crate) const fn new(threads: usize) -> Self {
        Self(Semaphore::const_new(threads))
    }

    /// Runs work on one of the threads, once a thread is free. The work runs to its end, even if the caller stops waiting.
    pub(crate) async fn run<T: Send + 'static>(
        &'static self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        // The semaphore is never closed.
        let permit = self.0.acquire().await;
        let work = move || {
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(work).await
    }
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
    /// Runs work that processes a text of this size. A large text is processed on a separate thread, with as many of these threads as
    /// processors.
    ///
    /// A panic of the work is resumed in the caller.
    pub(crate) fn run<F>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> F + Send + 'static,
    ) -> impl Future<Output = F::Output>
    where
        F: Future<Output: Send + 'static>,
    {
        // The future of an `async fn` would have room for `work` beside the future that `work` returns. Every request has two of these futures.
        if bytes <= LARGE {
            return Either::Left(work());
        }
        Either::Right(Box::pin(self.run_on_thread(work)))
    }

    async fn run_on_thread<F>(&self, work: impl FnOnce() -> F + Send + 'static) -> F::Output
    where
        F: Future<Output: Send + 'static>,
    {
        // The semaphore is never closed.
        let _running = self.running.acquire().await;
        let runtime = Handle::current();
        match tokio::task::spawn_blocking(move || runtime.block_on(work())).await {
            Ok(output) => output,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and with it this task.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn blocked_work_leaves_threads_to_other_work() {
        static THREADS: BlockingThreads = BlockingThreads::new(8);
        static GATE: OnceLock<()> = OnceLock::new();
        static BEGUN: AtomicUsize = AtomicUsize::new(0);
        let run = |_| {
            tokio::spawn(THREADS.run(|| {
                BEGUN.fetch_add(1, Ordering::SeqCst);
                GATE.wait();
            }))
        };
        let blocked: Vec<_> = (0..600).map(run).collect();
        while BEGUN.load(Ordering::SeqCst) < 8 {
            tokio::task::yield_now().await;
        }
        assert_eq!(tokio::task::spawn_blocking(|| 5).await.unwrap(), 5);
        assert_eq!(BEGUN.load(Ordering::SeqCst), 8);
        GATE.set(()).unwrap();
        for work in blocked {
            work.await.unwrap().unwrap();
        }
        assert_eq!(BEGUN.load(Ordering::SeqCst), 600);
    }
}
