//! Parses JSON of any length without blocking the threads of the runtime, which serve all tasks.

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::adapt::lines::LONG_BYTES;

/// Permits to parse long texts, which take several times their length of memory.
static LONG: Semaphore = Semaphore::const_new(4);

/// Parses a text.
pub(crate) async fn parse(text: impl AsRef<[u8]> + Send + 'static) -> serde_json::Result<Value> {
    if text.as_ref().len() <= LONG_BYTES {
        return serde_json::from_slice(text.as_ref());
    }
    // The semaphore is never closed.
    let permit = LONG.acquire().await;
    let parsed = spawn_blocking(move || {
        let _permit = permit;
        serde_json::from_slice(text.as_ref())
    });
    match parsed.await {
        Ok(parsed) => parsed,
        // Parsing does not panic, so the runtime ends, and with it this task.
        Err(_) => std::future::pending().await,
    }
}
