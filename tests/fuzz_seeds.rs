//! What fuzzing the arguments and the definitions starts from, and what it once found, stays mended: the properties of
//! the fuzz targets hold of every seed.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use tests as support;

#[path = "../fuzz/arguments.rs"]
mod arguments;
#[path = "../fuzz/definitions.rs"]
mod definitions;
#[path = "../fuzz/everything.rs"]
mod everything;
#[path = "definitions/subset.rs"]
mod subset;

/// Each under every policy.
#[test]
fn the_seeds_of_typed_arguments() {
    replay("arguments_typed", |input| {
        let text = input.get(1..).unwrap_or_default();
        for policy in 0..3 {
            arguments::typed(&[&[policy], text].concat());
        }
    });
}

#[test]
fn the_seeds_of_dynamic_arguments() {
    replay("arguments_dynamic", arguments::dynamic);
}

#[test]
fn the_seeds_of_schemas() {
    replay("schema_compile", arguments::schemas);
}

/// Those of schemas, too.
#[test]
fn the_seeds_of_definitions() {
    replay("definitions", definitions::definitions);
    replay("schema_compile", definitions::definitions);
}

fn replay(target: &str, holds: impl Fn(&[u8]) + std::panic::RefUnwindSafe) {
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
