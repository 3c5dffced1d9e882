//! Inputs for fuzzing, and inputs that fuzzing once found: `fuzz/seeds`, with a folder for each target.

use std::fs;
use std::panic::{RefUnwindSafe, catch_unwind};
use std::path::Path;

/// Checks a property for every seed of a target.
pub fn replay(target: &str, holds: impl Fn(&[u8]) + RefUnwindSafe) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/seeds")
        .join(target);
    let mut seeds: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    seeds.sort();
    assert!(seeds.len() >= 20, "only {} seeds of `{target}`", seeds.len());
    for path in seeds {
        let input = fs::read(&path).unwrap();
        assert!(
            catch_unwind(|| holds(&input)).is_ok(),
            "{} does not hold",
            path.display()
        );
    }
}
