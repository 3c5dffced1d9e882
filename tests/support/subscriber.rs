//! A subscriber of the whole process, beside those that tests set for their own threads.

use std::sync::Once;

/// Sets it, once. Without one, the first thread that comes to a log line may find that no subscriber is interested in it, while
/// another thread sets its own and is not asked; its test then misses the line.
pub fn keep() {
    static SET: Once = Once::new();
    SET.call_once(|| tracing::subscriber::set_global_default(tracing_subscriber::registry()).unwrap());
}
