//! [`CorrectedSchema`]: keywords of a subschema during its correction.

use serde_json::{Map, Value};

use super::super::check::SchemaWarning;
use super::conditions::inside_conditions;
use crate::schema::keywords::{pointer, subschemas};

/// Keywords of a subschema during its correction.
pub(super) struct CorrectedSchema<'s> {
    /// JSON Pointer to the subschema.
    pub(super) path: &'s str,
    pub(super) keywords: &'s mut Map<String, Value>,
    /// Whether the subschema is in a condition, directly or by a reference. In a condition, a schema without valid values
    /// has a meaning.
    pub(super) is_condition: bool,
    warnings: &'s mut Vec<SchemaWarning>,
}

impl CorrectedSchema<'_> {
    /// Adds a warning about a keyword.
    pub(super) fn warn(&mut self, keyword: &str, reason: impl Into<String>) {
        self.warn_at(&[keyword], reason);
    }

    /// Adds a warning about a path below the subschema.
    pub(super) fn warn_at(&mut self, steps: &[&str], reason: impl Into<String>) {
        let mut path = self.path.to_owned();
        for step in steps {
            pointer::push(&mut path, step);
        }
        self.warnings.push(SchemaWarning::new(path, reason));
    }
}

/// Applies the corrections to a schema, and then to all its subschemas. The function is not recursive, since a
/// schema may be deep.
pub(super) fn visit_mut(
    root: &mut Value,
    warnings: &mut Vec<SchemaWarning>,
    corrections: &[fn(&mut CorrectedSchema<'_>)],
) {
    let conditions = inside_conditions(root);
    let mut pending = vec![(String::new(), root)];
    while let Some((path, schema)) = pending.pop() {
        if let Value::Object(keywords) = schema {
            let mut subschema = CorrectedSchema {
                path: &path,
                keywords,
                is_condition: conditions.contains(&path),
                warnings,
            };
            for correction in corrections {
                correction(&mut subschema);
            }
        }
        let inside = subschemas::located_children_mut(schema).into_iter();
        pending.extend(inside.map(|(steps, child)| (format!("{path}{steps}"), child)));
    }
}
