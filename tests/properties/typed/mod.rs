//! Rust types of every form, each as a parameter. Values with and without the fast path are equal, and strict values equal the values of
//! serde.
//!
//! `PROPERTIES_LONG=1` tests many more texts.

mod random_types;
mod fast_path;
mod edge_cases;
#[cfg(feature = "jsonschema")]
mod serde_agreement;
#[cfg_attr(
    not(feature = "jsonschema"),
    expect(dead_code, reason = "for `serde_agreement`")
)]
mod probe;
#[cfg_attr(
    not(feature = "jsonschema"),
    expect(dead_code, reason = "for `serde_agreement`")
)]
mod rewrite;
mod texts;
mod untagged;
#[expect(dead_code, reason = "what is read is shown, by `Debug`")]
mod types;

use tests::long::properties_long;
use tests::random::Random;

use probe::Probe;
use texts::Writer;

/// Returns the number of texts for each type; `PROPERTIES_LONG=1` tests many more.
fn texts() -> usize {
    if properties_long() { 3_000 } else { 60 }
}

/// Returns the number of random types; `PROPERTIES_LONG=1` tests many more.
fn random_type_count() -> usize {
    3 * texts()
}

/// Texts for each type.
const TEXTS: usize = 20;

/// Arguments for a probe; one value in so many is not as it should be.
fn arguments(random: &mut Random, probe: &Probe, spoils: usize) -> String {
    Writer::new(random, &probe.schema, spoils).value(&probe.schema, 5)
}
