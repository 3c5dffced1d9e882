//! [`PendingSaves`]: writes of a turn to the store, which run concurrently with the next steps of the turn.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::save::SaveError;

type SaveFuture<'a> = Pin<Box<dyn Future<Output = Result<(), SaveError>> + Send + 'a>>;

/// Pending writes, oldest first. A write begins with its first poll, and the store applies writes in the order of their first polls.
#[derive(Default)]
pub(super) struct PendingSaves<'a>(Vec<PendingSave<'a>>);

struct PendingSave<'a> {
    future: SaveFuture<'a>,
    saved: Option<Result<(), SaveError>>,
}

impl<'a> PendingSaves<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends a write, and begins it.
    pub(super) async fn push(&mut self, write: impl Future<Output = Result<(), SaveError>> + Send + 'a) {
        let mut write = PendingSave {
            future: Box::pin(write),
            saved: None,
        };
        poll_fn(|cx| {
            write.poll(cx);
            Poll::Ready(())
        })
        .await;
        self.0.push(write);
    }

    /// Waits for the end of all writes, or for the first failure in the order of the writes. After a failure, the later writes are dropped, since each write depends
    /// on the previous one.
    pub(super) async fn all(&mut self) -> Result<(), SaveError> {
        let saved = poll_fn(|cx| self.poll_all(cx)).await;
        self.0.clear();
        saved
    }

    fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SaveError>> {
        let mut is_pending = false;
        for write in &mut self.0 {
            write.poll(cx);
            match &mut write.saved {
                None => is_pending = true,
                Some(saved) if !is_pending && saved.is_err() => {
                    return Poll::Ready(std::mem::replace(saved, Ok(())));
                }
                Some(_) => {}
            }
        }
        if is_pending {
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl PendingSave<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) {
        if self.saved.is_none()
            && let Poll::Ready(saved) = self.future.as_mut().poll(cx)
        {
            self.saved = Some(saved);
        }
    }
}

impl fmt::Debug for PendingSaves<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingSaves")
            .field("count", &self.0.len())
            .finish_non_exhaustive()
    }
}

/// Results of calls that must not be repeated, and that are lost if another gateway continues the turn.
#[derive(Debug, Default)]
pub(super) struct UnsavedEffects {
    /// Results that are not part of any write.
    pub(super) new: u64,
    /// Results that are part of a write that has not ended.
    pub(super) saving: u64,
}
