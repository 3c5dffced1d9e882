//! [`on_thread`]: runs file operations on a limited number of tokio's blocking threads.

use thiserror::Error;
use tokio::runtime::{Handle, TryCurrentError};
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// Maximum number of concurrent file operations. A runtime has 512 blocking threads, which blocking tools and the host use,
/// too, so operations on a directory that hangs must not use all of them.
const MAX_RUNNING: usize = 32;

/// Permits of concurrent file operations.
static PERMITS: Semaphore = Semaphore::const_new(MAX_RUNNING);

/// Error of work that returned no output.
#[derive(Debug, Error)]
pub(super) enum ThreadError {
    /// There is no tokio runtime.
    #[error(transparent)]
    NoRuntime(#[from] TryCurrentError),
    /// The work panicked, or the runtime was shut down before the work began.
    #[error(transparent)]
    Join(#[from] JoinError),
}

/// Waits for a permit, and runs work on a blocking thread. The work runs to its end, even if the future is dropped.
pub(super) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ThreadError> {
    let runtime = Handle::try_current()?;
    // The semaphore is never closed.
    let permit = PERMITS.acquire().await;
    let work = move || {
        let _permit = permit;
        work()
    };
    Ok(runtime.spawn_blocking(work).await?)
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tool_runtime::{ToolCall, ToolRegistry, tool};

    use super::*;

    /// Returns 5.
    #[tool(blocking)]
    fn five() -> u8 {
        5
    }

    /// Without the limit, the tool would wait for a thread until the directory answers.
    #[tokio::test]
    #[cfg_attr(miri, ignore = "hundreds of tasks")]
    async fn blocking_tool_runs_beside_a_directory_that_hangs() {
        static GATE: OnceLock<()> = OnceLock::new();
        static BEGUN: AtomicUsize = AtomicUsize::new(0);
        let blocked: Vec<_> = (0..600)
            .map(|_| {
                tokio::spawn(on_thread(|| {
                    BEGUN.fetch_add(1, Ordering::SeqCst);
                    GATE.wait();
                }))
            })
            .collect();
        while BEGUN.load(Ordering::SeqCst) < MAX_RUNNING {
            tokio::task::yield_now().await;
        }
        let mut registry = ToolRegistry::new();
        registry.register::<five>().unwrap();
        let call = ToolCall::new("toolu_1", "five", "{}");
        assert_eq!(registry.call(call).await.result.content.as_text(), Some("5"));
        assert_eq!(BEGUN.load(Ordering::SeqCst), MAX_RUNNING);
        GATE.set(()).unwrap();
        for work in blocked {
            work.await.unwrap().unwrap();
        }
        assert_eq!(BEGUN.load(Ordering::SeqCst), 600);
    }
}
