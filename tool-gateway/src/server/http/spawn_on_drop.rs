//! [`SpawnOnDrop`]: spawns a future that was not polled to its end.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};

use tokio::runtime::Handle;

/// A future that must run to its end, even if its client disconnects. Until the response begins, the request's task polls the future.
/// A separate task would cost one more wake-up, since it would have to wake the request's task to begin the response. When the response
/// begins or the client disconnects, the rest of the future is spawned.
pub(crate) struct SpawnOnDrop(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl SpawnOnDrop {
    pub(crate) fn new(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Some(Box::pin(future)))
    }

    /// Polls this future beside another one, until the other one is ready.
    pub(crate) async fn beside<T>(mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        poll_fn(|cx| {
            if let Some(future) = &mut self.0 {
                // A panic ends only this future, as in a separate task.
                let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
                if !polled.is_ok_and(|polled| polled.is_pending()) {
                    self.0 = None;
                }
            }
            other.as_mut().poll(cx)
        })
        .await
    }
}

impl Drop for SpawnOnDrop {
    fn drop(&mut self) {
        if let Some(future) = self.0.take()
            // `try_current` fails outside of a runtime. The future is then dropped.
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn is_polled_beside_another_future_in_one_task() {
        let (sender, receiver) = oneshot::channel();
        let task = tokio::task::try_id();
        let future = SpawnOnDrop::new(async move { sender.send(tokio::task::try_id()).unwrap() });
        assert_eq!(future.beside(receiver).await, Ok(task));
    }

    #[tokio::test]
    async fn continues_when_the_other_future_is_ready_or_dropped() {
        for is_ready in [true, false] {
            let (begun, wait) = oneshot::channel::<()>();
            let (sender, ended) = oneshot::channel();
            let future = SpawnOnDrop::new(async {
                wait.await.unwrap();
                sender.send(()).unwrap();
            });
            let other = async {
                if !is_ready {
                    std::future::pending::<()>().await;
                }
            };
            let _ = tokio::time::timeout(Duration::from_millis(1), future.beside(other)).await;
            begun.send(()).unwrap();
            ended.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_panic_leaves_the_other_future_alone() {
        let future = SpawnOnDrop::new(async { panic!("on purpose") });
        let other = async {
            tokio::task::yield_now().await;
            1
        };
        assert_eq!(future.beside(other).await, 1);
    }
}
