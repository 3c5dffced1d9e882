//! [`DeadlineWriter`]: limits the time of a store to the time of the call, and catches panics of the store.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tool_runtime::{CancellationToken, Context};

use super::writer::{FileWriter, WriteError, Writer, Writing};

/// Writer with a time limit and panic handling. A write that is not finished shortly before the layers of the call are dropped is an error,
/// and the layer returns the result unstored.
#[derive(Debug)]
pub(super) struct DeadlineWriter {
    pub(super) writer: Writer,
    pub(super) context: Context,
}

impl FileWriter for DeadlineWriter {
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a> {
        Box::pin(self.wait(|| self.writer.write(file, content)))
    }

    fn create_new<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a, bool> {
        Box::pin(self.wait(|| self.writer.create_new(file, content)))
    }
}

impl DeadlineWriter {
    async fn wait<'a, T>(&'a self, start: impl FnOnce() -> Writing<'a, T> + Send) -> Result<T, WriteError> {
        let mut writing = caught(start)?;
        let mut ended = pin!(self.ended());
        let written = poll_fn(|waking| {
            let polled = caught(|| match writing.as_mut().poll(waking) {
                Poll::Pending => ended.as_mut().poll(waking).map(|()| Err(TOO_LATE.into())),
                written @ Poll::Ready(_) => written,
            });
            polled.unwrap_or_else(|panicked| Poll::Ready(Err(panicked)))
        })
        .await;
        // Dropping the future may panic, too. A finished write keeps its result.
        match (caught(|| drop(writing)), written) {
            (Err(panicked), Err(_)) => Err(panicked),
            (_, written) => written,
        }
    }

    /// Waits for the end of the call and of the store's grace period.
    async fn ended(&self) {
        let token = self.context.cancellation();
        match self.context.deadline() {
            Some(deadline) => {
                let _ = tokio::time::timeout_at(deadline.into(), token.cancelled()).await;
            }
            None => token.cancelled().await,
        }
        tokio::time::sleep(STORE_GRACE_PERIOD).await;
    }
}

fn caught<T>(function: impl FnOnce() -> T) -> Result<T, WriteError> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|payload| {
        let text = text_of(&*payload);
        format!("the store panicked: {text}").into()
    })
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&'static str>().copied())
        .unwrap_or("no message")
}

const TOO_LATE: &str = "the store did not answer before the end of the call";

/// Grace period of a store after the end of the call. A function may return until the end of its grace period, and the layers
/// are dropped one grace period later. The grace period of a store is shorter than that, so that a result that could not be
/// stored is still returned.
const STORE_GRACE_PERIOD: Duration =
    CancellationToken::GRACE_PERIOD.saturating_sub(Duration::from_millis(10));
