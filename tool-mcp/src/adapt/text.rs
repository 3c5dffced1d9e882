//! Removes invisible characters from titles and descriptions. A server can hide instructions for the model in them.

use serde_json::Value;

/// Removes control, bidi, zero-width and tag characters. Returns whether the text had such a character.
pub(crate) fn clean(text: &mut String) -> bool {
    let is_changed = text.chars().any(is_invisible);
    if is_changed {
        text.retain(|character| !is_invisible(character));
    }
    is_changed
}

/// Removes invisible characters from the titles and descriptions of a schema. The values of `default`, `const`, `enum` and `examples` are
/// unchanged. Returns whether a text was changed.
pub(crate) fn clean_schema(schema: &mut Value) -> bool {
    let mut is_changed = false;
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("title" | "description", Value::String(text)) => is_changed |= clean(text),
                    ("default" | "const" | "enum" | "examples", _) => {}
                    // Names of properties are not keywords.
                    (
                        "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions",
                        Value::Object(schemas),
                    ) => {
                        for schema in schemas.values_mut() {
                            is_changed |= clean_schema(schema);
                        }
                    }
                    (_, value) => is_changed |= clean_schema(value),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                is_changed |= clean_schema(item);
            }
        }
        _ => {}
    }
    is_changed
}

fn is_invisible(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Bidi marks, embeddings, overrides and isolates.
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
        // Zero width. Joiners (200C, 200D) are part of words and emoji.
        | '\u{200B}' | '\u{2060}' | '\u{FEFF}'
        // Tags.
        | '\u{E0000}'..='\u{E007F}' => true,
        character => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn removes_invisible_characters() {
        for (text, cleaned) in [
            (
                "plain, 中文 and 👩\u{200D}💻\n\tnext",
                "plain, 中文 and 👩\u{200D}💻\n\tnext",
            ),
            ("a\u{0}b\u{1B}[31mc\u{7F}\u{85}\r\n", "ab[31mc\n"),
            ("a\u{202E}b\u{2066}c\u{200F}d\u{61C}", "abcd"),
            ("a\u{200B}b\u{2060}c\u{FEFF}", "abc"),
            ("a\u{E0041}\u{E007F}b", "ab"),
        ] {
            let mut found = text.to_owned();
            assert_eq!(clean(&mut found), text != cleaned, "{text:?}");
            assert_eq!(found, cleaned);
        }
    }

    #[test]
    fn values_of_a_schema_are_unchanged() {
        let mut schema = json!({
            "description": "a\u{200B}",
            "properties": {
                "description": { "title": "b\u{202E}", "enum": ["c\u{200B}"], "default": { "title": "d\u{200B}" } },
                "default": { "description": "f\u{200B}" },
                "title": { "$defs": { "enum": { "title": "g\u{200B}" } } }
            },
            "anyOf": [{ "title": "e\u{200B}" }]
        });
        assert!(clean_schema(&mut schema));
        let cleaned = json!({
            "description": "a",
            "properties": {
                "description": { "title": "b", "enum": ["c\u{200B}"], "default": { "title": "d\u{200B}" } },
                "default": { "description": "f" },
                "title": { "$defs": { "enum": { "title": "g" } } }
            },
            "anyOf": [{ "title": "e" }]
        });
        assert_eq!(schema, cleaned);
        assert!(!clean_schema(&mut schema));
    }
}
