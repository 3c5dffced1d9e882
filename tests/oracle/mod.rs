//! Comparison of `Policy::Strict` with other implementations of JSON Schema: the crate `jsonschema` on random schemas, with the feature of
//! that name, and the official suite.

mod unchanged;
#[cfg(feature = "jsonschema")]
mod differences;
#[cfg(feature = "jsonschema")]
mod random_schemas;
#[cfg(feature = "jsonschema")]
mod random_unchanged;
mod json_schema_suite;

/// Names the tests that are left out, since the crate takes a tenth of the build.
#[cfg(not(feature = "jsonschema"))]
#[test]
#[ignore = "needs the crate jsonschema: cargo test -p tests --features jsonschema"]
fn strict_agrees_with_jsonschema() {}
