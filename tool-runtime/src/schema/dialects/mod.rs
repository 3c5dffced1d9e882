//! Corrections of dynamic tools' schemas that are written in another dialect.
//!
//! Generators, other languages and other APIs write invalid JSON Schema: `"type": "float"`, `"properties": []`,
//! `"required": true` in a property. A correction applies if the intended meaning is certain, and if the schema has no
//! meaning in JSON Schema or a value of an `enum` cannot have the type. An `enum` in a condition such as `not` is not
//! corrected: the correction would allow fewer values there, and allows more values elsewhere. Each correction causes a
//! warning, and the corrected schema is shown and enforced. `docs/coercion.md` has the same table, with tested examples.

mod type_names;
mod conditions;
mod subschema;
mod keywords;
mod enums;
mod references;
mod apis;
mod property_keys;

use serde_json::Value;

use super::check::SchemaWarning;
use crate::wire::depth;
use subschema::CorrectedSchema;

pub(crate) use apis::{Refusals, unknown_dialect};
pub(crate) use property_keys::PropertyKeys;

/// Corrections of each subschema, in their order. Outer subschemas are corrected first.
const SUBSCHEMA_CORRECTIONS: [fn(&mut CorrectedSchema<'_>); 10] = [
    |schema| schema.read_empty_lists(),      // `"properties": []`
    |schema| schema.remove_empty_required(), // `"required": {}`
    |schema| schema.remove_null(),           // `"required": null`
    |schema| schema.read_string_schemas(),   // `"properties": { "a": "string" }`
    |schema| schema.read_type_names(),       // `"type": "float"`
    |schema| schema.move_required(),         // `"required": true` in a property
    |schema| schema.read_exclusive_limits(), // `"minimum": 0, "exclusiveMinimum": true`
    |schema| schema.move_to_items(),         // `"type": "array", "enum": ["a"]`
    |schema| schema.parse_texts(),           // `"type": "integer", "enum": ["1"]`
    |schema| schema.remove_duplicates(),     // `"required": ["a", "a"]`
];

/// Corrections of a whole schema.
const SCHEMA_CORRECTIONS: [Correction; 1] = [
    references::relocate, // `"$ref": "#/$defs/A"`, with the `$defs` in a property
];

/// Corrections of the schema of arguments.
const ARGUMENT_CORRECTIONS: [Correction; 1] = [
    apis::declare_object, // `{}`
];

/// Additions that an API requires. They do not change the meaning of the schema, and only the shown schema has them.
const API_ADDITIONS: [Correction; 3] = [
    apis::add_type,       // a root without `"type": "object"`
    apis::add_properties, // a root without `properties`
    apis::add_items,      // an array without `items`
];

type Correction = fn(&mut Value, &mut Vec<SchemaWarning>);

/// Corrects the schema of arguments before it is compiled.
pub(crate) fn correct_arguments(schema: &mut Value) -> Vec<SchemaWarning> {
    let mut warnings = correct(schema);
    apply(&ARGUMENT_CORRECTIONS, schema, &mut warnings);
    warnings
}

/// Corrects the root of a schema from a source, where no host adds the missing type.
pub(crate) fn correct_source(schema: &mut Value, warnings: &mut Vec<SchemaWarning>) {
    apply(&[apis::declare_type], schema, warnings);
}

/// Corrects a schema before it is compiled.
pub(crate) fn correct(schema: &mut Value) -> Vec<SchemaWarning> {
    let mut warnings = Vec::new();
    // The compiler rejects a schema that is too deep.
    if !depth::is_too_deep(schema) {
        subschema::visit_mut(schema, &mut warnings, &SUBSCHEMA_CORRECTIONS);
        apply(&SCHEMA_CORRECTIONS, schema, &mut warnings);
        warnings.sort_by(|left, right| left.path.cmp(&right.path));
    }
    warnings
}

/// Adds keywords that APIs require to the shown schema of arguments.
pub(crate) fn complete(schema: &mut Value) -> Vec<SchemaWarning> {
    let mut warnings = Vec::new();
    apply(&API_ADDITIONS, schema, &mut warnings);
    warnings
}

fn apply(corrections: &[Correction], schema: &mut Value, warnings: &mut Vec<SchemaWarning>) {
    for correction in corrections {
        correction(schema, warnings);
    }
}
