//! A subscriber of the process, beside the subscribers of single threads.

use std::sync::Once;

/// Sets the subscriber once. Without one, the first thread that reaches a log line may cache that no subscriber is interested, while
/// another thread sets its subscriber. The other thread's test then misses the line.
pub fn keep() {
    static SET: Once = Once::new();
    SET.call_once(|| tracing::subscriber::set_global_default(tracing_subscriber::registry()).unwrap());
}
