//! Seeds of the fuzz targets for arguments and definitions, and inputs that fuzzing once found. The properties of the fuzz targets hold for
//! all of them.

use tests::corpus::replay;

use crate::properties::{arguments, definitions};

/// Tests each seed under every policy.
#[test]
fn typed_arguments() {
    replay("arguments_typed", |input| {
        let text = input.get(1..).unwrap_or_default();
        for policy in 0..3 {
            arguments::typed(&[&[policy], text].concat());
        }
    });
}

#[test]
fn dynamic_arguments() {
    replay("arguments_dynamic", arguments::dynamic);
}

#[test]
fn schemas() {
    replay("schema_compile", arguments::schemas);
}

/// Seeds of schemas also satisfy the properties of definitions.
#[test]
fn definitions_of_apis() {
    replay("definitions", definitions::definitions);
    replay("schema_compile", definitions::definitions);
}
