//! Valid arguments are unchanged under every policy. The crate `jsonschema` decides which arguments are valid.

use serde_json::Value;
use tests::dynamic_tool::POLICIES;
use tests::instances;
use tests::schemas::Kinds;

use super::coercion::{INSTANCES, SCHEMAS, each, is_unknown};

#[test]
fn valid_arguments_are_unchanged_without_warnings() {
    let mut seen = 0;
    each(3, Kinds { unions: true }, |random, schema, tool| {
        let oracle = jsonschema::validator_for(schema).expect("the schema is valid");
        let value = instances::fitting(random, schema, schema, 6);
        // A null for an optional property is removed.
        // An integer loses its decimal point.
        // Parameters in an unknown key are an error.
        if !oracle.is_valid(&value)
            || has_null_property(&value)
            || has_integral_float(&value)
            || instances::has_wrapped_properties(schema, &value)
            || instances::has_format_of_nothing(schema, &value)
        {
            return;
        }
        seen += 1;
        for policy in POLICIES {
            let request = tool.read(value.clone(), policy);
            assert!(
                request.errors.is_empty(),
                "{policy:?}: {value} refused: {:?}\n{schema}",
                request.errors
            );
            let warned: Vec<_> = request
                .warnings
                .iter()
                .filter(|it| !is_unknown(it.code))
                .collect();
            assert!(
                warned.is_empty(),
                "{policy:?}: {value} warned: {warned:?}\n{schema}"
            );
            assert_eq!(Value::Object(request.arguments), value, "{policy:?}\n{schema}");
        }
    });
    assert!(seen > SCHEMAS * INSTANCES / 4, "{seen} values conform");
}

fn has_null_property(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .values()
            .any(|value| value.is_null() || has_null_property(value)),
        Value::Array(items) => items.iter().any(has_null_property),
        _ => false,
    }
}

/// Returns whether the value contains a float without a fraction.
fn has_integral_float(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(has_integral_float),
        Value::Array(items) => items.iter().any(has_integral_float),
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|it| it.fract() == 0.0),
        _ => false,
    }
}
