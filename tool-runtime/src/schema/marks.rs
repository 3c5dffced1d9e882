//! Keywords of our own in a schema: rules that JSON Schema has no word for. They are enforced and never sent.
//!
//! A field of a struct takes them by schemars: `#[schemars(extend("x-not-blank" = true))]`.

use serde_json::Value;

use super::subschemas;

/// A string that is more than white space. The description tells the model so.
pub(crate) const NOT_BLANK: &str = "x-not-blank";

/// [`Policy::Strict`](crate::Policy::Strict) for this value and everything in it.
pub(crate) const STRICT: &str = "x-strict";

/// Enum values are not matched in another case.
pub(crate) const CASE_SENSITIVE: &str = "x-case-sensitive";

/// The Rust type of an integer, `i8` … `u128`: its range is enforced where the schema does not spell it out.
pub(crate) const INTEGER: &str = "x-integer";

/// The properties are the keys of a map, which schemars describes like a struct when its keys are an enum.
pub(crate) const ENUM_MAP: &str = "x-enum-map";

/// A property has a default that the schema does not show.
pub(crate) const DEFAULT: &str = "x-default";

/// All of them.
pub(crate) const ALL: [&str; 6] = [NOT_BLANK, STRICT, CASE_SENSITIVE, INTEGER, ENUM_MAP, DEFAULT];

/// Whether a keyword is one of them.
pub(crate) fn is_mark(keyword: &str) -> bool {
    ALL.contains(&keyword)
}

/// Takes the marks out of a schema, at every depth: what remains is what a model is shown.
pub(crate) fn strip(schema: &mut Value) {
    subschemas::visit_mut(schema, |keywords| {
        keywords.retain(|keyword, _| !is_mark(keyword));
    });
}

/// Takes the `default`s out of a schema, at every depth. They are applied here; a model has no use for them
/// (seed 002: the schema does not pass defaults on).
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
    fn only_keywords_are_stripped() {
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
