//! Parses and converts JSON of any length without blocking the threads of the runtime, which serve all tasks.

use std::panic::resume_unwind;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::adapt::lines::LONG_BYTES;

/// Permits for work on long texts and values, which takes several times their length of memory.
static LONG: Semaphore = Semaphore::const_new(4);

/// Parses a text.
#[cfg(feature = "http")]
pub(crate) async fn parse(text: impl AsRef<[u8]> + Send + 'static) -> serde_json::Result<Value> {
    if text.as_ref().len() <= LONG_BYTES {
        return serde_json::from_slice(text.as_ref());
    }
    run_elsewhere(move || serde_json::from_slice(text.as_ref())).await
}

/// Runs long work on a thread that serves no tasks.
pub(crate) async fn run_elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // The semaphore is never closed.
    let permit = LONG.acquire().await;
    let done = spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    match done.await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime ends, and with it this task.
        Err(Err(_)) => std::future::pending().await,
    }
}

/// Returns whether a value has more bytes of text than are parsed and converted between other tasks. The rest of a long value is not read.
#[cfg(feature = "client")]
pub(crate) fn is_long(value: &Value) -> bool {
    fn rest(value: &Value, bytes: usize) -> Option<usize> {
        match value {
            Value::String(text) => bytes.checked_sub(text.len()),
            Value::Array(items) => items
                .iter()
                .try_fold(bytes.checked_sub(1)?, |bytes, item| rest(item, bytes)),
            Value::Object(members) => members
                .iter()
                .try_fold(bytes.checked_sub(1)?, |bytes, (name, member)| {
                    rest(member, bytes.checked_sub(name.len())?)
                }),
            Value::Null | Value::Bool(_) | Value::Number(_) => bytes.checked_sub(1),
        }
    }
    rest(value, LONG_BYTES).is_none()
}

#[cfg(test)]
#[cfg(feature = "client")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn measures_texts_names_and_numbers_of_a_value() {
        let text = "x".repeat(LONG_BYTES / 2);
        assert!(!is_long(&json!([text])));
        assert!(is_long(&json!([text, text])));
        assert!(is_long(&json!({ text.clone(): { "a": text } })));
        assert!(!is_long(&json!(vec![1; LONG_BYTES - 1])));
        assert!(is_long(&json!(vec![1; LONG_BYTES])));
    }
}
