//! Private keywords (`x-…`) for rules that JSON Schema lacks. They are enforced, and removed before the model sees the
//! schema.
//!
//! A field of a struct has them through schemars: `#[schemars(extend("x-not-blank" = true))]`.

use std::borrow::Cow;

use serde_json::Value;

use super::subschemas;
use crate::wire::depth;

/// The string must not be blank. The description says so.
pub(crate) const NOT_BLANK: &str = "x-not-blank";

/// [`Policy::Strict`](crate::Policy::Strict) for this value and everything in it.
pub(crate) const STRICT: &str = "x-strict";

/// In this value and everything in it, enum values, enum keys of maps and tags in another spelling are rejected.
pub(crate) const CASE_SENSITIVE: &str = "x-case-sensitive";

/// The Rust type of an integer, `i8` … `u128`: its range is enforced even if the schema does not contain it.
pub(crate) const INTEGER: &str = "x-integer";

/// The properties are the keys of a map: schemars describes a map with an enum as keys like a struct.
pub(crate) const ENUM_MAP: &str = "x-enum-map";

/// The property has a default that the schema does not contain.
pub(crate) const DEFAULT: &str = "x-default";

/// A [`Patch`](crate::Patch): `null` means something else than a missing value.
pub(crate) const PATCH: &str = "x-patch";

/// The ids of the subschemas in the [`Validation`](crate::schema::compiled::validation::Validation) whose keywords apply beside those of the schema. Only
/// the compilation writes it.
pub(crate) const VALIDATION: &str = "x-validation";

/// All marks.
pub(crate) const ALL: [&str; 8] = [
    NOT_BLANK,
    STRICT,
    CASE_SENSITIVE,
    INTEGER,
    ENUM_MAP,
    DEFAULT,
    PATCH,
    VALIDATION,
];

/// Returns whether a keyword is a mark.
pub(crate) fn is_mark(keyword: &str) -> bool {
    ALL.contains(&keyword)
}

/// Removes the marks from a schema, at every depth: the rest is the definition's schema.
pub(crate) fn strip(schema: &mut Value) {
    subschemas::visit_mut(schema, |keywords| {
        keywords.retain(|keyword, _| !is_mark(keyword));
    });
}

/// Returns a schema without the keywords that read like marks: a user who wrote the schema means something else by them.
pub(crate) fn without(schema: &Value) -> Cow<'_, Value> {
    if depth::is_too_deep(schema) {
        return Cow::Borrowed(schema); // refused by the compilation
    }
    let mut unmarked = schema.clone();
    strip(&mut unmarked);
    Cow::Owned(unmarked)
}

/// Removes `default` from a schema, at every depth. Defaults are applied here, so a model does not need them (R-DEF-11).
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
                "x-strict": { "type": "string", "x-strict": true, "default": "a" },
                "default": { "items": { "x-integer": "i32", "enum": [{ "x-strict": 1, "default": 2 }] } },
            },
            "$defs": { "x-integer": { "x-not-blank": true, "default": 1 } },
        });
        strip(&mut schema);
        strip_defaults(&mut schema);
        let expected = json!({
            "type": "object",
            "properties": {
                "x-strict": { "type": "string" },
                "default": { "items": { "enum": [{ "x-strict": 1, "default": 2 }] } },
            },
            "$defs": { "x-integer": {} },
        });
        assert_eq!(schema.to_string(), expected.to_string());
    }
}
