//! Limits of a client: some calls run, some wait, and others fail at once; subscriptions are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Maximum number of calls of a client that run at once.
pub(crate) const RUNNING: usize = 8;
/// Maximum number of calls of a client that wait.
pub(crate) const WAITING: usize = 128;

/// Maximum number of subscriptions of a client.
pub(crate) const SUBSCRIPTIONS: usize = 128;

/// Calls and subscriptions of a client.
#[derive(Debug)]
pub(crate) struct Admission {
    running: Semaphore,
    waiting: AtomicUsize,
    subscriptions: AtomicUsize,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            running: Semaphore::new(RUNNING),
            waiting: AtomicUsize::new(0),
            subscriptions: AtomicUsize::new(0),
        }
    }
}

/// Place in the queue.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Admission {
    /// Waits until the call may run. Returns `None` if too many calls wait.
    pub(crate) async fn admit(&self) -> Option<SemaphorePermit<'_>> {
        if let Ok(permit) = self.running.try_acquire() {
            return Some(permit);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if before >= WAITING {
            return None;
        }
        // The semaphore is never closed.
        self.running.acquire().await.ok()
    }

    /// Returns a permit for a subscription, or `None` if the client has too many.
    pub(crate) fn subscribe(self: &Arc<Self>) -> Option<SubscriptionPermit> {
        let before = self.subscriptions.fetch_add(1, Ordering::Relaxed);
        let permit = SubscriptionPermit(Arc::clone(self));
        (before < SUBSCRIPTIONS).then_some(permit)
    }
}

/// Permit for a subscription. The limits of a client last as long as its permits.
#[derive(Debug)]
pub(crate) struct SubscriptionPermit(Arc<Admission>);

impl Drop for SubscriptionPermit {
    fn drop(&mut self) {
        self.0.subscriptions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn eight_calls_run_and_others_wait() {
        let admission = Admission::default();
        let mut running = Vec::new();
        for _ in 0..RUNNING {
            running.push(admission.admit().await.unwrap());
        }
        let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(admission.admit())).collect();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for call in &mut waiting {
            assert!(call.as_mut().poll(&mut context).is_pending());
        }
        assert!(admission.admit().await.is_none());
        waiting.pop();
        let mut last = Box::pin(admission.admit());
        assert!(last.as_mut().poll(&mut context).is_pending());
        drop(running.pop());
        assert!(waiting.remove(0).await.is_some());
        drop((running, waiting, last));
        assert_eq!(admission.waiting.load(Ordering::Relaxed), 0);
        assert_eq!(admission.running.available_permits(), RUNNING);
    }
}
