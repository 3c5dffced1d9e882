//! Latency, and a custom writer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tests::clock::Clock;
use tool_builtins::offload::{FileWriter, MemoryWriter, Writing};

use super::{file, message, offload_to, somewhere};

/// R-OFF-15
#[tokio::test]
async fn offloading_takes_less_than_100_ms_without_the_disk() {
    let original = message("toolu_xyz", "0123456789".repeat(100_000));
    let clock = Clock::start();
    offload_to(MemoryWriter::new(), &original, somewhere())
        .await
        .unwrap();
    let worked = clock.worked();
    assert!(worked < Duration::from_millis(100), "{worked:?}");
}

/// R-OFF-16
#[tokio::test]
async fn writer_can_be_replaced() {
    #[derive(Clone, Default)]
    struct Recording(Arc<Mutex<Vec<(PathBuf, String)>>>);

    impl FileWriter for Recording {
        fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a> {
            self.0.lock().unwrap().push((file.to_owned(), content.to_owned()));
            Box::pin(async { Ok(()) })
        }
    }

    let mock = Recording::default();
    offload_to(mock.clone(), &message("toolu_xyz", "x"), somewhere())
        .await
        .unwrap();
    assert_eq!(*mock.0.lock().unwrap(), [(file(), "x".to_owned())]);
}
