//! Holds `Policy::Strict` to an independent implementation of JSON Schema: both accept the same values.

use std::fmt::Write as _;

use serde_json::Value;
use tests::instances;
use tests::random::Random;
use tests::schemas::{self, Kinds, PROPERTIES};
use tool_runtime::{Policy, ToolCall, ToolDefinition, ToolRegistry};

const SCHEMAS: usize = 3_600;
const INSTANCES: usize = 8;

/// How many differences are shown.
const SHOWN: usize = 20;

#[test]
fn strict_is_json_schema() {
    let mut random = Random::new(2);
    let (mut compared, mut accepted, mut differ, mut report) = (0, 0, 0, String::new());
    for _ in 0..SCHEMAS {
        let mut schema = schemas::tool(&mut random, Kinds { unions: true });
        if random.one_in(4) {
            schema = schemas::in_draft_07(&schema);
        }
        let registry = strict(&schema);
        let oracle = jsonschema::validator_for(&schema).expect("the schema is valid");
        for _ in 0..INSTANCES {
            let fitting = instances::fitting(&mut random, &schema, &schema, 6);
            let instance = if random.one_in(2) {
                instances::sloppy(&mut random, &fitting)
            } else {
                fitting
            };
            if !instance.is_object() || beyond_json_schema(&instance) {
                continue;
            }
            let request = registry.request(ToolCall::new("id", "tool", instance.clone()));
            let (ours, theirs) = (request.errors.is_empty(), oracle.is_valid(&instance));
            compared += 1;
            accepted += usize::from(theirs);
            // Where several alternatives of a `oneOf` fit, JSON Schema refuses, and the rules take the first that
            // conforms: either will do.
            let overlaps = || jsonschema::is_valid(&with_any_of(&schema), &instance);
            if ours != theirs && (theirs || !overlaps()) {
                differ += 1;
                if differ <= SHOWN {
                    let errors: Vec<_> = request.errors.iter().map(ToString::to_string).collect();
                    let _ = writeln!(
                        report,
                        "{}: {instance}\n   schema: {schema}\n   {errors:?}\n",
                        if ours {
                            "accepted, and is invalid"
                        } else {
                            "refused, and is valid"
                        },
                    );
                }
            }
        }
    }
    assert!(compared > SCHEMAS * INSTANCES / 2, "{compared} compared");
    assert!(
        accepted > compared / 4 && accepted < compared * 3 / 4,
        "{accepted} of {compared} are valid"
    );
    assert!(differ == 0, "{differ} of {compared} differ:\n{report}");
}

fn strict(schema: &Value) -> ToolRegistry {
    let mut registry = ToolRegistry::new().with_policy(Policy::Strict);
    let definition = ToolDefinition::new("tool", "Takes what its schema says.", schema.clone());
    registry
        .register_dynamic(definition, async |arguments: Value, _| arguments)
        .unwrap_or_else(|e| panic!("{e}: {schema}"));
    registry
}

/// With `anyOf` for `oneOf`.
fn with_any_of(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                let key = if key == "oneOf" { "anyOf" } else { key };
                (key.to_owned(), with_any_of(value))
            });
            fields.collect()
        }
        Value::Array(items) => items.iter().map(with_any_of).collect(),
        scalar => scalar.clone(),
    }
}

/// What the rules decide otherwise than JSON Schema, whatever the policy: null for an optional property is an absent
/// one.
fn beyond_json_schema(instance: &Value) -> bool {
    match instance {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            let declared = PROPERTIES.contains(&key.as_str());
            declared && value.is_null() || beyond_json_schema(value)
        }),
        Value::Array(items) => items.iter().any(beyond_json_schema),
        _ => false,
    }
}
