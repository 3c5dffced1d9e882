//! [`blocking`]: runs a function that blocks its thread, on one of tokio's blocking threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tracing::Span;

use crate::tool::output::convert::OutputOf;
use crate::wire::result::ToolOutput;

/// Maximum number of concurrent blocking functions, including functions that continue after their calls. A runtime has 512
/// blocking threads by default, and the host needs some of them for stores and files.
const MAX_RUNNING: usize = 384;

/// Permits of blocking functions.
static PERMITS: Semaphore = Semaphore::const_new(MAX_RUNNING);

/// Runs the function of a `#[tool(blocking)]` and waits for its output.
///
/// A thread cannot be stopped. If the call is stopped first, a running function continues, and a queued function does not
/// start. The log reports the function that continues, and its return. A panic is resumed in the caller. Without a tokio
/// runtime, the output is an error.
pub async fn blocking<F, T>(function: F) -> OutputOf<T>
where
    T: 'static,
    F: FnOnce() -> OutputOf<T> + Send + 'static, // a blocking tool runs on another thread: all of its parameters are `Send`
{
    let Ok(runtime) = Handle::try_current() else {
        tracing::error!(
            "a blocking tool was called outside of a tokio runtime, which has the threads for it"
        );
        return not_run().into();
    };
    let permit = PERMITS.acquire().await;
    let run = Run::default();
    let span = Span::current();
    let thread = Thread(run.clone());
    let returned = runtime.spawn_blocking(move || {
        let _permit = permit;
        span.in_scope(|| thread.run(function))
    });
    let _caller = CallGuard(run);
    match returned.await {
        Ok(Some(output)) => output,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Ok(None) | Err(_) => {
            tracing::error!("a blocking tool was called while its tokio runtime shut down");
            not_run().into()
        }
    }
}

/// Returns the error output for a missing tokio runtime.
fn not_run() -> ToolOutput {
    ToolOutput::error("the tool did not run because of an internal error; other calls are not affected")
}

/// Phase of the function, shared by its caller and its thread.
#[derive(Debug, Clone, Default)]
struct Run(Arc<Mutex<Phase>>);

#[derive(Debug, Default)]
enum Phase {
    /// The thread has not started the function.
    #[default]
    Waiting,
    Running,
    /// The function continues, and no call waits for it.
    Abandoned,
    /// The function has returned, or never runs.
    Over,
}

impl Run {
    /// Changes the phase, and returns the previous phase.
    fn change(&self, next: impl FnOnce(Phase) -> Phase) {
        // No panic can leave a partial change, so the value of a poisoned lock is valid.
        let mut phase = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *phase = next(std::mem::take(&mut *phase));
    }
}

/// Number of functions that continue after the end of their calls.
static ABANDONED: AtomicUsize = AtomicUsize::new(0);

/// The caller's side, which is dropped at the end of the call.
struct CallGuard(Run);

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.change(|phase| match phase {
            Phase::Running => {
                let threads = ABANDONED.fetch_add(1, Ordering::Relaxed) + 1;
                tracing::warn!(threads, "a blocking tool continues after its call was stopped");
                Phase::Abandoned
            }
            _ => Phase::Over,
        });
    }
}

/// The thread's side, which is dropped when the function returns or panics.
struct Thread(Run);

impl Thread {
    /// Runs the function; `None` if the call has already ended.
    fn run<O>(self, function: impl FnOnce() -> O) -> Option<O> {
        let mut is_wanted = false;
        self.0.change(|phase| match phase {
            Phase::Waiting => {
                is_wanted = true;
                Phase::Running
            }
            other => other,
        });
        is_wanted.then(function)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.change(|phase| {
            if let Phase::Abandoned = phase {
                let threads = ABANDONED.fetch_sub(1, Ordering::Relaxed) - 1;
                tracing::warn!(threads, "a blocking tool returned after its call was stopped");
            }
            Phase::Over
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;

    #[tokio::test]
    #[cfg_attr(miri, ignore = "hundreds of threads")]
    async fn blocked_functions_leave_threads_to_others() {
        static GATE: OnceLock<()> = OnceLock::new();
        static BEGUN: AtomicUsize = AtomicUsize::new(0);
        let calls: Vec<_> = (0..560)
            .map(|_| {
                tokio::spawn(blocking(|| {
                    BEGUN.fetch_add(1, Ordering::SeqCst);
                    GATE.wait();
                    OutputOf::<String>::from(ToolOutput::text("done"))
                }))
            })
            .collect();
        while BEGUN.load(Ordering::SeqCst) < MAX_RUNNING {
            tokio::task::yield_now().await;
        }
        // A host's file, for example.
        assert_eq!(tokio::task::spawn_blocking(|| 5).await.unwrap(), 5);
        assert_eq!(BEGUN.load(Ordering::SeqCst), MAX_RUNNING);
        GATE.set(()).unwrap();
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(BEGUN.load(Ordering::SeqCst), 560);
    }
}
