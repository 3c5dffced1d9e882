//! Private keywords for rules that JSON Schema lacks, called marks. Marks are enforced, and removed before a schema is shown.
//!
//! The names of marks have a prefix, as `serde_json`'s private names have, so that an extension keyword of a user
//! (`#[schemars(extend("x-strict" = true))]`) is never read as a mark. Types write a mark only if the generator requests marks with
//! [`with_marks`]: a schema that a user generates has no marks.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::Transform;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use super::subschemas;
use crate::wire::depth;

/// The string must not be blank. The description states the rule, too.
pub(crate) const NOT_BLANK: &str = "$tool_runtime::not_blank";

/// [`Policy::Strict`](crate::Policy::Strict) applies to this value and its contents.
pub(crate) const STRICT: &str = "$tool_runtime::strict";

/// Enum values, enum keys of maps and tags in another spelling are rejected, in this value and its contents.
pub(crate) const CASE_SENSITIVE: &str = "$tool_runtime::case_sensitive";

/// Rust type of an integer, `i8` … `u128`. Its range is enforced even if the schema does not contain the range.
pub(crate) const INTEGER: &str = "$tool_runtime::integer";

/// The properties are the keys of a map. schemars describes a map with enum keys as a struct.
pub(crate) const ENUM_MAP: &str = "$tool_runtime::enum_map";

/// The property has a default that the schema does not contain.
pub(crate) const DEFAULT: &str = "$tool_runtime::default";

/// A [`Patch`](crate::Patch), for which `null` and a missing value differ.
pub(crate) const PATCH: &str = "$tool_runtime::patch";

/// The ids of the subschemas in the [`Validation`](crate::schema::compiled::validation::Validation) whose keywords apply beside those of
/// the schema. Only the compilation writes it.
pub(crate) const VALIDATION: &str = "$tool_runtime::validation";

/// Docs of enum values, `[[value, text], …]`, which become a part of the description.
pub(crate) const MEANINGS: &str = "$tool_runtime::meanings";

/// Prefix of every mark.
const PREFIX: &str = "$tool_runtime::";

/// Returns whether a keyword is a mark.
pub(crate) fn is_mark(keyword: &str) -> bool {
    keyword.starts_with(PREFIX)
}

/// Adds a request for marks to the settings of a generator: types write their marks into the schema, which is enforced.
pub(crate) fn with_marks(settings: SchemaSettings) -> SchemaSettings {
    settings.with_transform(WithMarks)
}

/// Inserts a mark into the schema of a type if the generator requests marks. Returns whether it does.
pub(crate) fn insert(schema: &mut Schema, mark: &str, generator: &mut SchemaGenerator) -> bool {
    let asks = generator
        .transforms_mut()
        .any(|transform| transform.is::<WithMarks>());
    if asks {
        schema.insert(mark.to_owned(), true.into());
    }
    asks
}

/// Transformation that requests marks from types. It changes no schema: a transformation is the only setting of a generator
/// that a library can add.
#[derive(Clone, Debug)]
struct WithMarks;

impl Transform for WithMarks {
    fn transform(&mut self, _: &mut Schema) {}
}

/// Removes the marks from a schema at every depth. The result is the schema of the definition.
pub(crate) fn strip(schema: &mut Value) {
    subschemas::visit_mut(schema, |keywords| {
        keywords.retain(|keyword, _| !is_mark(keyword));
    });
}

/// Returns the schema without marks, so that a schema from another program cannot enable a rule by the name of a mark.
pub(crate) fn without(schema: &Value) -> Cow<'_, Value> {
    if depth::is_too_deep(schema) {
        return Cow::Borrowed(schema); // the compilation rejects this schema
    }
    let mut unmarked = schema.clone();
    strip(&mut unmarked);
    Cow::Owned(unmarked)
}

/// Removes `default` from a schema at every depth. The runtime applies the defaults, so a model does not need them (R-DEF-11).
pub(crate) fn strip_defaults(schema: &mut Value) {
    subschemas::visit_mut(schema, |keywords| {
        keywords.retain(|keyword, _| keyword != "default");
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strips_keywords_but_not_names_or_values() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "$tool_runtime::strict": { "type": "string", "$tool_runtime::strict": true, "default": "a" },
                "default": { "items": { "$tool_runtime::integer": "i32", "enum": [{ "$tool_runtime::strict": 1, "default": 2 }] } },
            },
            "$defs": { "$tool_runtime::integer": { "$tool_runtime::not_blank": true, "default": 1 } },
        });
        strip(&mut schema);
        strip_defaults(&mut schema);
        let expected = json!({
            "type": "object",
            "properties": {
                "$tool_runtime::strict": { "type": "string" },
                "default": { "items": { "enum": [{ "$tool_runtime::strict": 1, "default": 2 }] } },
            },
            "$defs": { "$tool_runtime::integer": {} },
        });
        assert_eq!(schema.to_string(), expected.to_string());
    }
}
