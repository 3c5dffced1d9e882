//! Latency, injection, and the direction of the dependencies.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tool_builtins::offload::{FileWriter, MemoryWriter, Writing};

use super::{file, message, offload_to, somewhere};

#[tokio::test]
async fn nf_4_1_measure_latency() {
    let original = message("toolu_xyz", "0123456789".repeat(100_000));
    let start = Instant::now();
    offload_to(MemoryWriter::new(), &original, somewhere())
        .await
        .unwrap();
    assert!(
        start.elapsed() < Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn nf_4_3_usability_injection() {
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

#[test]
fn nf_5_1_constraint_core_without_infrastructure() {
    const CORE: [&str; 3] = [
        include_str!("../../../tool-builtins/src/offload/place.rs"),
        include_str!("../../../tool-builtins/src/offload/writer.rs"),
        include_str!("../../../tool-builtins/src/offload/function.rs"),
    ];
    for source in CORE {
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        let uses: Vec<_> = code
            .filter(|line| line.contains("use ") || line.contains("super::"))
            .collect();
        for line in uses {
            for infrastructure in [
                "local",
                "memory",
                "LocalWriter",
                "MemoryWriter",
                "std::fs",
                "tokio",
            ] {
                assert!(
                    !line.contains(infrastructure),
                    "the core reaches for `{infrastructure}`: {line}"
                );
            }
        }
    }
}
