//! Schemas of dynamic tools in other dialects, read as meant: the table of corrections.
//!
//! Generators, other languages and other APIs write schemas that JSON Schema does not know: `"type": "float"`, `"properties": []`,
//! `"required": true` in a property. A correction applies where JSON Schema gives the schema no meaning, or where a value of an
//! `enum` cannot have the type, and a reader is sure of the meaning. The second kind is left alone in conditions such as `not`: elsewhere
//! it allows more values, not fewer. Each correction is a warning, and the
//! corrected schema is both shown and enforced. `docs/coercion.md` has the same table, with examples that are tests.

mod type_words;
mod conditions;
mod subschema;
mod keywords;
mod enums;
mod references;
mod apis;

use serde_json::Value;

use super::check::SchemaWarning;
use crate::wire::depth;
use subschema::CorrectedSchema;

pub(crate) use apis::refusals;

/// The corrections of each subschema, in this order; outer subschemas first.
const OF_SUBSCHEMAS: [fn(&mut CorrectedSchema<'_>); 10] = [
    keywords::read_empty_lists,      // `"properties": []`
    keywords::remove_empty_required, // `"required": {}`
    keywords::remove_null,           // `"required": null`
    keywords::read_string_schemas,   // `"properties": { "a": "string" }`
    keywords::read_type_words,       // `"type": "float"`
    keywords::move_required,         // `"required": true` in a property
    keywords::read_exclusive_limits, // `"minimum": 0, "exclusiveMinimum": true`
    enums::move_to_items,            // `"type": "array", "enum": ["a"]`
    enums::parse_texts,              // `"type": "integer", "enum": ["1"]`
    keywords::remove_duplicates,     // `"required": ["a", "a"]`
];

/// The corrections of a whole schema.
const OF_SCHEMAS: [Correction; 1] = [
    references::relocate, // `"$ref": "#/$defs/A"`, with the `$defs` in a property
];

/// The corrections of the schema of arguments.
const OF_ARGUMENTS: [Correction; 1] = [
    apis::declare_object, // `{}`
];

/// Additions without which an API refuses the schema. They change nothing in its meaning, so they are only shown.
const FOR_APIS: [Correction; 3] = [
    apis::add_type,       // a root without `"type": "object"`
    apis::add_properties, // a root without `properties`
    apis::add_items,      // an array without `items`
];

type Correction = fn(&mut Value, &mut Vec<SchemaWarning>);

/// Corrects the schema of arguments before it is compiled.
pub(crate) fn correct_arguments(schema: &mut Value) -> Vec<SchemaWarning> {
    let mut warnings = correct(schema);
    apply(&OF_ARGUMENTS, schema, &mut warnings);
    warnings
}

/// Corrects a schema before it is compiled.
pub(crate) fn correct(schema: &mut Value) -> Vec<SchemaWarning> {
    let mut warnings = Vec::new();
    // The compilation refuses a schema that is too deep.
    if !depth::is_too_deep(schema) {
        subschema::visit_mut(schema, &mut warnings, &OF_SUBSCHEMAS);
        apply(&OF_SCHEMAS, schema, &mut warnings);
        warnings.sort_by(|left, right| left.path.cmp(&right.path));
    }
    warnings
}

/// Adds to the schema of arguments that is shown the keywords that APIs require.
pub(crate) fn complete(schema: &mut Value) -> Vec<SchemaWarning> {
    let mut warnings = Vec::new();
    apply(&FOR_APIS, schema, &mut warnings);
    warnings
}

fn apply(corrections: &[Correction], schema: &mut Value, warnings: &mut Vec<SchemaWarning>) {
    for correction in corrections {
        correction(schema, warnings);
    }
}
